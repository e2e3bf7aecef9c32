"""Content: bytes that come back as they went in."""

import pytest

from tests.integration.ports.world import World


@pytest.mark.parametrize("content", [b"", b"hello", bytes(range(256)) * 4096], ids=["empty", "small", "1 MB"])
def test_content_is_read_back(world: World, content: bytes) -> None:
    world.contents.put(f"content/{world.owner}/1", content, "application/octet-stream")

    assert world.contents.get(f"content/{world.owner}/1") == content


def test_content_that_is_not_there_is_a_key_error(world: World) -> None:
    with pytest.raises(KeyError):
        world.contents.get(f"content/{world.owner}/none")
