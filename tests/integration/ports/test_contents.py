"""Content: bytes that come back as they went in, at once or in pieces, whole or in part."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import ConnectionClosedError
from botocore.httpsession import URLLib3Session

from tests.integration.ports.world import StoredWorld, World

MB = 1024 * 1024
CONTENTS = {
    "empty": b"",
    "small": b"hello",
    "1 MB": bytes(range(256)) * 4096,
    "one part": bytes(range(256)) * 32768,
    "two parts and a bit": bytes(range(256)) * 65536 + b"x",
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_content_is_read_back(world: World, content: bytes) -> None:
    world.contents.put(f"content/{world.owner}/1", content, "application/octet-stream")

    assert world.contents.get(f"content/{world.owner}/1") == content


@pytest.mark.parametrize("piece", [100_000, 9 * MB], ids=["in pieces", "in big pieces"])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_what_comes_in_pieces_is_read_back_as_a_whole(world: World, content: bytes, piece: int) -> None:
    key = f"content/{world.owner}/1"
    upload = world.contents.upload(key, "application/octet-stream")
    for start in range(0, len(content), piece):
        upload.write(memoryview(content)[start : start + piece])

    with pytest.raises(KeyError):
        world.contents.get(key)
    upload.finish()
    upload.abort()

    assert world.contents.get(key) == content
    assert b"".join(world.contents.pieces(key)) == content
    assert world.contents.describe(key).byte_size == len(content)


@pytest.mark.parametrize("size", [0, 3, 17 * MB])
def test_of_what_was_given_up_nothing_appears(world: World, size: int) -> None:
    key = f"content/{world.owner}/1"
    upload = world.contents.upload(key, "text/plain")
    upload.write(bytes(size))

    upload.abort()
    upload.abort()

    with pytest.raises(KeyError):
        world.contents.describe(key)


def test_nothing_of_it_is_kept_or_paid_for_either(stored: StoredWorld) -> None:
    upload = stored.contents.upload(f"content/{stored.owner}/1", "text/plain")
    upload.write(bytes(17 * MB))

    assert stored.unfinished_uploads() == [f"content/{stored.owner}/1"]
    upload.abort()

    assert stored.unfinished_uploads() == []


def test_an_upload_whose_last_answer_was_lost_has_arrived(stored: StoredWorld) -> None:
    key = f"content/{stored.owner}/1"
    upload = stored.contents.upload(key, "text/plain")
    upload.write(bytes(17 * MB))
    events, http = stored.backend.s3.meta.events, URLLib3Session()
    lost: list[Any] = []

    def lose(request: AWSPreparedRequest, **_: object) -> None:
        if not lost:
            lost.append(http.send(request))
            raise ConnectionClosedError(endpoint_url=request.url)

    events.register_first("before-send.s3.CompleteMultipartUpload", lose)
    try:
        upload.finish()
    finally:
        events.unregister("before-send.s3.CompleteMultipartUpload", lose)
        http.close()

    assert len(lost) == 1
    assert stored.contents.describe(key).byte_size == 17 * MB


@pytest.mark.parametrize(("first", "last"), [(0, 0), (1, 4), (4, None), (0, 700_000), (999_999, None)])
def test_a_part_of_it_is_read(world: World, first: int, last: int | None) -> None:
    key, content = f"content/{world.owner}/1", bytes(range(250)) * 4000
    world.contents.put(key, content, "application/octet-stream")

    found = b"".join(world.contents.pieces(key, first, last))

    assert found == content[first : None if last is None else last + 1]


def test_pieces_are_small_and_may_be_left_in_the_middle(world: World) -> None:
    key = f"content/{world.owner}/1"
    world.contents.put(key, bytes(3 * MB), "application/octet-stream")

    pieces = world.contents.pieces(key)
    assert 0 < len(next(pieces)) <= MB // 4
    pieces.close()


def test_content_that_is_not_there_is_a_key_error(world: World) -> None:
    key = f"content/{world.owner}/none"

    with pytest.raises(KeyError):
        world.contents.get(key)
    with pytest.raises(KeyError):
        next(world.contents.pieces(key))
    with pytest.raises(KeyError):
        next(world.contents.pieces(key, 1, 2))
    with pytest.raises(KeyError):
        world.contents.describe(key)


def test_a_link_leads_to_the_bytes_without_a_credential_and_to_any_part_of_them(stored: StoredWorld) -> None:
    key, content = f"content/{stored.owner}/a b/ü", bytes(range(256)) * 65536
    upload = stored.contents.upload(key, "application/pdf")
    upload.write(content)
    upload.finish()
    described = stored.contents.describe(key)

    link = stored.contents.link(
        key, lasts=timedelta(minutes=1), media_type="text/html", disposition='attachment; filename="a b"'
    )

    answer = httpx.get(link)
    assert answer.content == content
    assert answer.headers["Content-Type"] == "text/html"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="a b"'
    assert answer.headers["ETag"] == described.etag
    assert answer.headers["Cache-Control"] == "private, no-cache"
    part = httpx.get(link, headers={"Range": "bytes=256-511"})
    assert (part.status_code, part.content) == (206, bytes(range(256)))
    assert "X-Amz-Algorithm=AWS4-HMAC-SHA256" in link
    assert "X-Amz-Expires=60" in link


def test_a_link_is_signed_for_one_thing_only(stored: StoredWorld) -> None:
    for name in ("1", "2"):
        stored.contents.put(f"content/{stored.owner}/{name}", b"x", "text/plain")
    link = stored.contents.link(
        f"content/{stored.owner}/1",
        lasts=timedelta(minutes=1),
        media_type="text/plain",
        disposition="attachment",
    )

    for tampered in (
        link.replace(f"{stored.owner}/1", f"{stored.owner}/2"),
        link.replace("attachment", "inline"),
        link.replace("X-Amz-Expires=60", "X-Amz-Expires=600"),
    ):
        assert tampered != link
        assert httpx.get(tampered).status_code == 403
