"""Looks at what `sam build` made: pruned, for arm64, byte-code that counts, small. Exits 1 at a fault.

Runs on the Python that Lambda runs, whose byte-code it expects. Knows the build's folders, not the code.
"""

import io
import runpy
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
BUILD: Final = ROOT / ".aws-sam" / "build"
LAYERS: Final = ("DependenciesLayer", "CoreLayer", "AgentsLayer", "StreamingLayer")
SIGNING: Final = "SigningLayer"
"""What only those functions have that sign webhooks, or verify tokens of callers where there are any."""
OF_TURNS: Final = "AgentDependenciesLayer"
"""What only the function has that runs agents."""

SOURCELESS: Final = ("CoreLayer", "DependenciesLayer", SIGNING)
"""Whose byte-code lies where the sources lay."""

FUNCTIONS: Final = (
    "CardFunction",
    "JsonRpcFunction",
    "HttpJsonFunction",
    "TurnFunction",
    "SweepFunction",
    "FanoutFunction",
    "PushFunction",
)
MOST_BYTES: Final = 8_000_000
"""How much a function may weigh, zipped, with every layer but these two."""

UNCHECKED_HASH: Final = (0b01).to_bytes(4, "little")
"""Flags of byte-code that is used whatever the source's time or content (PEP 552)."""

AARCH64: Final = 0xB7
"""The machine, at byte 18 of an ELF file."""


def faults() -> Iterator[str]:
    """What is wrong with the build, one sentence each."""
    services = runpy.run_path(str(ROOT / "layers" / "dependencies" / "prune.py"))["SERVICES"]
    data = BUILD / "DependenciesLayer" / "python" / "botocore" / "data"
    described = {path.name for path in data.iterdir() if path.is_dir()}
    if described != services:
        yield f"botocore describes {sorted(described ^ services)} too many or too few"
    for layer in (*LAYERS, OF_TURNS, SIGNING):
        yield from byte_code_faults(BUILD / layer, sources=layer not in SOURCELESS)
        for library in (BUILD / layer).rglob("*.so"):
            if library.read_bytes()[18] != AARCH64:
                yield f"{library} is not for arm64"
    for wrapper in (BUILD / "StreamingLayer" / name for name in ("bootstrap", "web-server")):
        if not wrapper.stat().st_mode & 0o111:
            yield f"{wrapper} cannot be executed"
    shared = sum(zipped(BUILD / layer) for layer in LAYERS)
    for function in FUNCTIONS:
        if not (BUILD / function / "app.py").is_file():
            yield f"{function} has no app.py"
        if shared + zipped(BUILD / function) >= MOST_BYTES:
            yield f"{function} weighs {shared + zipped(BUILD / function):,} bytes with its layers"


def byte_code_faults(layer: Path, *, sources: bool) -> Iterator[str]:
    """Byte-code that would be compiled again at a cold start, or is missing."""
    found = list(layer.rglob("*.pyc"))
    if not found:
        yield f"{layer.name} has no byte-code"
    for path in found:
        with path.open("rb") as file:
            if file.read(8) != MAGIC_NUMBER + UNCHECKED_HASH:
                yield f"{path} is stale or of another Python"
    for source in layer.rglob("*.py"):
        if not sources:
            yield f"{source} is a source nobody reads"
        elif not Path(cache_from_source(str(source))).is_file():
            yield f"{source} has no byte-code"


def zipped(folder: Path) -> int:
    """Bytes of the folder as SAM would upload it."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for path in folder.rglob("*"):
            zip_file.write(path, path.relative_to(folder))
    return archive.tell()


def main() -> int:
    """Print the sizes and the faults."""
    sizes = {name: zipped(BUILD / name) for name in (*LAYERS, OF_TURNS, SIGNING, *FUNCTIONS)}
    for name, size in sizes.items():
        print(f"{size:>10,}  {name}")
    total = sum(sizes[layer] for layer in LAYERS) + sizes["JsonRpcFunction"]
    print(f"{total:>10,}  JsonRpcFunction with its layers, of {MOST_BYTES:,} at most")
    found = list(faults())
    for fault in found:
        print(f"fault: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
