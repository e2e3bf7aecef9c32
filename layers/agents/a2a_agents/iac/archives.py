"""Archives that callers send, unpacked in memory: bounded, and without what leads out of them.

Bytes are counted as they come out, so that a bomb ends where the limit is; links, devices and names that lead
out are left behind, each with a word about it. Nothing is written to a disk.
"""

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

MOST_PACKED: Final = 25 * 1024 * 1024
"""Bytes of an archive, the most that a conversation's file has."""
MOST_UNPACKED: Final = 32 * 1024 * 1024
"""Bytes of all that comes out of one."""
MOST_ENTRIES: Final = 5_000
MOST_DIRECTORY: Final = 2 * 1024 * 1024
"""Bytes of a zip file's own list of what is in it."""
MOST_NAME: Final = 512


class NoArchive(Exception):
    """It is none that can be unpacked; says why."""


@dataclass
class Unpacked:
    """Files by name, and what was left behind and why."""

    files: dict[str, bytes] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)

    def put(self, name: str, content: bytes) -> None:
        """Take a file."""
        if len(self.files) >= MOST_ENTRIES:
            raise NoArchive(f"it holds more than {MOST_ENTRIES} files")
        self.files[name] = content


def is_archive(content: bytes) -> bool:
    """Whether these bytes begin like an archive."""
    begins = (b"PK\x03\x04", b"PK\x05\x06", *COMPRESSIONS)
    return content.startswith(begins) or _is_tar(content)


def unpack(content: bytes, wanted: Callable[[str], bool] = lambda _: True) -> Unpacked:
    """What is in a zip file, or in a tar file, compressed or not, under the names that are wanted.

    Raises:
        NoArchive: it is none, is broken, or holds more than is unpacked.
    """
    if len(content) > MOST_PACKED:
        raise NoArchive(f"it is larger than {MOST_PACKED:,} bytes")
    found = Unpacked()
    try:
        if content[:2] == b"PK":
            _unzip(content, wanted, found)
        else:
            _untar(_decompressed(content), wanted, found)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError):
        raise NoArchive("it is broken") from None
    except (NotImplementedError, RuntimeError, ValueError, UnicodeError):
        raise NoArchive("it is encrypted, or packed in a way that is not read") from None
    return found


def _unzip(content: bytes, wanted: Callable[[str], bool], found: Unpacked) -> None:
    ends = content.rfind(b"PK\x05\x06")
    listed = int.from_bytes(content[ends + 12 : ends + 16], "little") if ends >= 0 else 0
    if listed > MOST_DIRECTORY:
        raise NoArchive(f"it holds more than {MOST_ENTRIES} files")
    left = MOST_UNPACKED
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            kind = (entry.external_attr >> 16) & 0o170000
            if entry.is_dir():
                continue
            name = _name(entry.filename, found)
            if name is None or not wanted(name):
                continue
            if kind not in (0, 0o100000):
                found.left.append(f"{name} is a link or no file")
                continue
            with archive.open(entry) as packed:
                read = packed.read(left + 1)
            left -= len(read)
            if left < 0:
                raise NoArchive(f"it holds more than {MOST_UNPACKED:,} bytes")
            found.put(name, read)


def _untar(content: bytes, wanted: Callable[[str], bool], found: Unpacked) -> None:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for number, entry in enumerate(archive):
            if number > MOST_ENTRIES * 2:
                raise NoArchive(f"it holds more than {MOST_ENTRIES} files")
            if entry.isdir():
                continue
            name = _name(entry.name, found)
            if name is None or not wanted(name):
                continue
            packed = archive.extractfile(entry) if entry.isreg() else None
            if packed is None:
                found.left.append(f"{name} is a link or no file")
                continue
            found.put(name, packed.read())


def _name(given: str, found: Unpacked) -> str | None:
    """The name of a file inside; None, and a word about it, where it leads out."""
    name = inner_name(given)
    if name is None:
        found.left.append("a file whose name leads out of the archive, or is none")
    return name


def inner_name(given: str) -> str | None:
    """A relative name without detours; None for one that leads out or holds what no name should."""
    steps = [step for step in given.replace("\\", "/").split("/") if step not in ("", ".")]
    absolute = given.startswith(("/", "\\")) or (len(given) > 1 and given[1] == ":")
    name = "/".join(steps)
    if absolute or ".." in steps or not name or len(name) > MOST_NAME or not name.isprintable():
        return None
    return name


def _gunzip(content: bytes) -> tuple[bytes, bool]:
    gzip = zlib.decompressobj(wbits=31)
    return gzip.decompress(content, MOST_UNPACKED + 1), gzip.eof


def _bunzip(content: bytes) -> tuple[bytes, bool]:
    bzip = bz2.BZ2Decompressor()
    return bzip.decompress(content, MOST_UNPACKED + 1), bzip.eof


def _unxz(content: bytes) -> tuple[bytes, bool]:
    xz = lzma.LZMADecompressor(memlimit=MOST_UNPACKED * 4)
    return xz.decompress(content, MOST_UNPACKED + 1), xz.eof


COMPRESSIONS: Final = {b"\x1f\x8b": _gunzip, b"BZh": _bunzip, b"\xfd7zXZ\x00": _unxz}
"""By the bytes that content begins with; what comes out is limited, and it is said whether that was all."""


def _decompressed(content: bytes) -> bytes:
    for magic, decompress in COMPRESSIONS.items():
        if content.startswith(magic):
            unpacked, whole = decompress(content)
            if len(unpacked) > MOST_UNPACKED:
                raise NoArchive(f"it holds more than {MOST_UNPACKED:,} bytes")
            if not whole:
                raise NoArchive("it is broken")
            return unpacked
    if not _is_tar(content):
        raise NoArchive("it is no zip or tar file")
    return content


def _is_tar(content: bytes) -> bool:
    return content[257:262] == b"ustar"


def without_common_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files as seen from the one folder that holds all of them, if there is one."""
    tops = {name.partition("/")[0] for name in files}
    if len(tops) != 1 or not all("/" in name for name in files):
        return files
    return {name.partition("/")[2]: content for name, content in files.items()}
