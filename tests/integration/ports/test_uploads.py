"""What callers upload: found when it is there, told from what was there before, copied as it was found."""

import hashlib
import time
from datetime import timedelta

import httpx
import pytest

from a2a_serverless.ports.uploads import FileToCome, GoneError, Offer, Uploaded
from tests.fakes.ports import FakeUploads
from tests.integration.ports.world import StoredWorld, World

CUP = b"\x89PNG of a cup"
LASTS = timedelta(minutes=15)


def offered(world: World, content: bytes = CUP, *, digest: bool = True, name: str = "a b:c") -> Offer:
    """An address for a picture of these bytes."""
    sha256 = hashlib.sha256(content).hexdigest() if digest else None
    file = FileToCome("image/png", len(content), sha256)
    return world.uploads.offer(key(world, name), file, LASTS)


def key(world: World, name: str = "a b:c") -> str:
    return f"uploads/acme/{world.owner}/{name}"


def uploaded(world: World, content: bytes = CUP, *, digest: bool = True) -> Uploaded:
    """What lies there when a client has uploaded it."""
    if isinstance(world, StoredWorld):
        answer = sent(offered(world, content, digest=digest), content)
        assert answer.status_code == 200, answer.text
    else:
        assert isinstance(world.uploads, FakeUploads)
        world.uploads.put(key(world), content, "image/png")
    found = world.uploads.find(key(world))
    assert found is not None
    return found


def sent(offer: Offer, content: bytes = CUP, **headers: str) -> httpx.Response:
    return httpx.request(offer.method, offer.url, headers={**offer.headers, **headers}, content=content)


def test_what_is_not_there_is_not_found(world: World) -> None:
    assert world.uploads.find(key(world)) is None


@pytest.mark.parametrize("digest", [True, False])
@pytest.mark.parametrize("content", [CUP, b"", bytes(range(256)) * 4096 * 9])
def test_what_was_uploaded_is_found_and_copied(world: World, content: bytes, *, digest: bool) -> None:
    found = uploaded(world, content, digest=digest)
    copied = world.uploads.copy(key(world), key(world, "copy"), version=found.version)

    assert (found.media_type, found.byte_size) == ("image/png", len(content))
    assert copied == hashlib.sha256(content).hexdigest()
    assert world.contents.get(key(world, "copy")) == content
    assert world.uploads.copy(key(world, "copy"), key(world, "again")) == copied


def test_a_copy_stays_what_it_was(world: World) -> None:
    first = uploaded(world)
    world.uploads.copy(key(world), key(world, "copy"), version=first.version)

    second = uploaded(world, b"another cup")

    assert second.version != first.version
    assert world.contents.get(key(world, "copy")) == CUP
    with pytest.raises(GoneError):
        world.uploads.copy(key(world), key(world, "late"), version=first.version)
    assert world.uploads.find(key(world, "late")) is None


@pytest.mark.parametrize("version", [None, '"0"@0'])
def test_what_is_not_there_is_not_copied(world: World, version: str | None) -> None:
    with pytest.raises(GoneError):
        world.uploads.copy(key(world), key(world, "copy"), version=version)


def test_the_same_bytes_uploaded_again_are_another_upload(world: World) -> None:
    first = uploaded(world)
    if isinstance(world, StoredWorld):
        while int(time.time()) == int(first.version.rpartition("@")[2]):
            time.sleep(0.05)  # S3 tells seconds
    assert uploaded(world).version != first.version


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (CUP + b"!", {"Content-Length": str(len(CUP) + 1)}, 403),
        (CUP[:-1], {"Content-Length": str(len(CUP) - 1)}, 403),
        (CUP, {"Content-Type": "text/html"}, 403),
        (CUP[::-1], {}, 400),
    ],
    ids=["more", "less", "of another type", "other bytes"],
)
def test_nothing_but_what_was_offered_is_taken(
    stored: StoredWorld, content: bytes, headers: dict[str, str], status: int
) -> None:
    assert sent(offered(stored), content, **headers).status_code == status
    assert stored.uploads.find(key(stored)) is None


def test_nothing_is_taken_any_more_when_the_offer_has_ended(stored: StoredWorld) -> None:
    offer = stored.uploads.offer(key(stored), FileToCome("image/png", len(CUP)), timedelta(seconds=0))

    assert sent(offer).status_code == 403
