"""The service parameters A2A-Version and A2A-Extensions (specification 3.6, 4.6)."""

import pytest

from a2a_serverless.protocol.errors import VersionNotSupportedError
from a2a_serverless.protocol.parameters import negotiate, parse_extensions


@pytest.mark.parametrize("asked", ["1.0", " 1.0 ", "1.0.0", "1.0.1"])
def test_version_1_0_is_served_whatever_its_patch(asked: str) -> None:
    assert negotiate(asked) == "1.0"


@pytest.mark.parametrize(
    "asked",
    [
        None,
        "",
        " ",
        "0.3",
        "0.3.0",
        "1",
        "1.1",
        "1.00",
        "1.0.",
        "1.0.1.1",
        "v1.0",
        "1.0,0.3",
        "99.0",
        "\u0661.\u0660",
    ],
)
def test_any_other_version_is_refused_and_told_what_is_served(asked: str | None) -> None:
    with pytest.raises(VersionNotSupportedError) as refused:
        negotiate(asked)

    assert refused.value.metadata == {"supportedVersions": "1.0"}


def test_extensions_are_read_from_any_number_of_comma_lists_in_order_and_once() -> None:
    assert parse_extensions("https://a, https://b", None, "", " https://c ,,https://a") == (
        "https://a",
        "https://b",
        "https://c",
    )
