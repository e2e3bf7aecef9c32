"""How large functions/jsonrpc is as it is deployed, from what `sam build` made of it and its layers."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from infra.local.aws import ROOT
from infra.local.deployment import STACK
from infra.local.intrinsics import Scope, read_template
from infra.local.template import pseudo
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
    """The function's layers, as the parameters' defaults choose them."""
    template = read_template((ROOT / "template.yaml").read_text(encoding="utf-8"))
    defaults = {name: each.get("Default", "") for name, each in template["Parameters"].items()}
    scope = Scope(template, {**defaults, **pseudo(STACK)}, lambda name: name, lambda name, _: name)
    return tuple(scope.resolve(template["Resources"][FUNCTION]["Properties"]["Layers"]))


def _files(folder: Path) -> Iterator[Path]:
    return (file for file in sorted(folder.rglob("*")) if file.is_file())


def _zipped_bytes(folder: Path) -> int:
    """As SAM zips: deflated, each file under its path."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _files(folder):
            archive.write(file, file.relative_to(folder))
    return len(made.getvalue())
