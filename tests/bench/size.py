"""How large functions/jsonrpc is as it is deployed, from what `sam build` made of it and its layers."""

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infra.local.aws import ROOT
from infra.local.intrinsics import read_template
from tests.bench.result import Result

BUILT = ROOT / ".aws-sam" / "build"
FUNCTION = "JsonRpcFunction"
MB = 1e6


def size() -> Iterator[Result]:
    """Print the size of each zip and of all together; nothing is known before `sam build`."""
    folders = {name: BUILT / name for name in (FUNCTION, *_layers())}
    missing = [name for name, folder in folders.items() if not folder.is_dir()]
    if missing:
        note = f"run `sam build` first: {', '.join(missing)} not built"
        yield Result("zipped, with layers", None, "MB", "< 8", {"note": note})
        return
    zipped = {name: _zipped_bytes(folder) / MB for name, folder in folders.items()}
    yield Result(
        "zipped, with layers",
        sum(zipped.values()),
        "MB",
        "< 8",
        {"parts": {name: round(megabytes, 3) for name, megabytes in zipped.items()}},
    )
    unzipped = sum(file.stat().st_size for folder in folders.values() for file in _files(folder))
    yield Result("unzipped, with layers", unzipped / MB, "MB", "< 250 (Lambda's limit)")


def _layers() -> tuple[str, ...]:
    """The function's layers, those included that only one setting of a parameter adds."""
    template = read_template((ROOT / "template.yaml").read_text(encoding="utf-8"))
    layers = template["Resources"][FUNCTION]["Properties"]["Layers"]
    return tuple(_reference(layer) for layer in layers)


def _reference(layer: Mapping[str, Any]) -> str:
    """The logical id, the one of `!If` that is a layer."""
    if "Ref" in layer:
        return str(layer["Ref"])
    _, *choices = layer["Fn::If"]
    return next(str(each["Ref"]) for each in choices if each["Ref"] != "AWS::NoValue")


def _files(folder: Path) -> Iterator[Path]:
    return (file for file in sorted(folder.rglob("*")) if file.is_file())


def _zipped_bytes(folder: Path) -> int:
    """As SAM zips: deflated, each file under its path."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _files(folder):
            archive.write(file, file.relative_to(folder))
    return len(made.getvalue())
