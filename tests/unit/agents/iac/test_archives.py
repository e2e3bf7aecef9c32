"""Archives: what comes out, what is left behind, and that a hostile one costs nothing."""

import io
import stat
import tarfile
import zipfile
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_agents.iac.archives import MOST_PACKED, MOST_UNPACKED, NoArchive, inner_name, is_archive, unpack


def zipped(*entries: tuple[zipfile.ZipInfo | str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for entry, content in entries:
            opened.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def tarred(*entries: tarfile.TarInfo) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as opened:
        for entry in entries:
            opened.addfile(entry, io.BytesIO(b"x" * entry.size))
    return archive.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    made.size = 1 if kind == tarfile.REGTYPE else 0
    return made


def test_names_that_lead_out_are_left_behind() -> None:
    unpacked = unpack(zipped(("../../etc/passwd", b"x"), ("/etc/shadow", b"x"), ("a/./b.tf", b"y")))

    assert unpacked.files == {"a/b.tf": b"y"}
    assert len(unpacked.left) == 2


def test_links_and_devices_are_left_behind() -> None:
    link = zipfile.ZipInfo("passwords.tf")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    in_zip = unpack(zipped((link, b"/etc/passwd"), ("main.tf", b"x")))
    in_tar = unpack(
        tarred(
            entry("soft.tf", tarfile.SYMTYPE, "/etc/passwd"),
            entry("hard.tf", tarfile.LNKTYPE, "main.tf"),
            entry("null.tf", tarfile.CHRTYPE),
            entry("main.tf"),
        )
    )

    assert in_zip.files.keys() == in_tar.files.keys() == {"main.tf"}
    assert in_tar.left == [f"{name} is a link or no file" for name in ("soft.tf", "hard.tf", "null.tf")]


@pytest.mark.parametrize("pack", ["zip", "gz"])
def test_a_bomb_ends_where_the_limit_is(pack: str) -> None:
    nothing = b"\0" * (MOST_UNPACKED + 1024)
    bomb = zipped(("main.tf", nothing)) if pack == "zip" else zlib.compress(nothing, wbits=31)

    with pytest.raises(NoArchive, match="it holds more than"):
        unpack(bomb)


def test_a_bomb_of_many_small_files_is_refused_by_its_own_list() -> None:
    with pytest.raises(NoArchive, match="it holds more than 5000 files"):
        unpack(zipped(*((f"{number:06}.tf", b"") for number in range(6_000))))


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04 and then nothing",
        b"\x1f\x8b broken",
        zlib.compress(b"no tar", wbits=31),
        zipped(("a", b"b"))[:-30],
        tarred(entry("a"))[:-20],
    ],
    ids=["zip of words", "gz of words", "gz of no tar", "zip cut off", "tar.gz cut off"],
)
def test_a_broken_one_is_said_to_be_broken(content: bytes) -> None:
    assert is_archive(content)

    with pytest.raises(NoArchive, match="broken"):
        unpack(content)


def test_what_is_encrypted_is_not_read() -> None:
    content = bytearray(zipped(("main.tf", b"secret")))
    for signature in (b"PK\x03\x04", b"PK\x01\x02"):
        flags = content.find(signature) + (6 if signature == b"PK\x03\x04" else 8)
        content[flags] |= 1

    with pytest.raises(NoArchive, match="encrypted"):
        unpack(bytes(content))


def test_what_is_too_large_is_not_begun() -> None:
    with pytest.raises(NoArchive, match="larger than"):
        unpack(b"PK\x03\x04" + bytes(MOST_PACKED))


@pytest.mark.parametrize("name", ["", ".", "..", "a/../b", "C:/x", "\\\\host\\x", "/a", "a\0b", "a" * 600])
def test_a_name_stays_inside_or_is_none(name: str) -> None:
    assert inner_name(name) is None


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08\0", b"BZh9", b"\xfd7zXZ\0"]),
)
def test_no_bytes_break_it(content: bytes, begins: bytes) -> None:
    with suppress(NoArchive):
        unpack(begins + content)
