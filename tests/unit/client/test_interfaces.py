"""Which interface of a card is used, and why the others are not."""

from typing import Any

import pytest

from a2a_serverless.client import Bearer, Client, NoUsableInterfaceError, Options, choose
from a2a_serverless.client.options import origin_of
from a2a_serverless.protocol.card import AgentCard
from tests.unit.client.agents_on_paper import URL, card


def interface(binding: str = "JSONRPC", version: str = "1.0", url: str = URL) -> dict[str, str]:
    return {"url": url, "protocolBinding": binding, "protocolVersion": version}


def described(*interfaces: dict[str, str]) -> AgentCard:
    return AgentCard.from_dict(card(*interfaces))


def test_the_first_that_is_spoken_here_is_used_in_the_cards_own_order() -> None:
    offered = described(
        interface("GRPC"), interface("JSONRPC", "0.3"), interface("HTTP+JSON"), interface("JSONRPC")
    )

    chosen = choose(offered, Options())

    assert chosen.interface.protocol_binding == "HTTP+JSON"
    assert [each.reason for each in chosen.passed_over] == [
        "its binding is not spoken here",
        "its version is not spoken here",
    ]


def test_a_patch_of_the_version_makes_no_difference() -> None:
    assert choose(described(interface(version="1.0.1")), Options()).interface.protocol_version == "1.0.1"


def test_who_wants_one_binding_gets_it() -> None:
    chosen = choose(described(interface(), interface("HTTP+JSON")), Options(bindings=("HTTP+JSON",)))

    assert chosen.interface.protocol_binding == "HTTP+JSON"


def test_where_none_is_spoken_all_that_was_offered_is_listed_with_its_reason() -> None:
    offered = described(interface("GRPC", url="grpc.example:443"), interface("JSONRPC", "2.0"))

    with pytest.raises(NoUsableInterfaceError) as caught:
        choose(offered, Options())

    assert len(caught.value.offered) == 2
    assert "GRPC 1.0 at grpc.example:443 (its binding is not spoken here)" in str(caught.value)
    assert "JSONRPC 2.0" in str(caught.value)


@pytest.mark.parametrize("url", ["https://elsewhere.example", "https://agent.example:8443"])
def test_credentials_are_for_the_origin_that_the_card_came_from_and_those_allowed(url: str) -> None:
    offered = described(interface(url=url))
    with_credentials = {"auth": Bearer("secret")}

    with pytest.raises(NoUsableInterfaceError, match="credential_origins"):
        choose(offered, Options(**with_credentials), asked_from=URL)
    allowed: Any = Options(**with_credentials, credential_origins=(url,))

    assert choose(offered, allowed, asked_from=URL).interface.url == url
    assert choose(offered, Options(), asked_from=URL).interface.url == url


def test_what_came_by_tls_is_not_left_for_what_does_without() -> None:
    offered = described(interface(url="http://agent.example"))

    with pytest.raises(NoUsableInterfaceError, match="no TLS"):
        choose(offered, Options(), asked_from=URL)


def test_this_machine_is_the_same_under_each_of_its_names() -> None:
    offered = described(interface(url="http://127.0.0.1:8080"))
    credentials: Any = Options(auth=Bearer("secret"))

    chosen = choose(offered, credentials, asked_from="http://localhost:8080")

    assert chosen.interface.url == "http://127.0.0.1:8080"
    with pytest.raises(NoUsableInterfaceError):
        choose(offered, credentials, asked_from="http://localhost:8081")


def test_a_card_from_nowhere_lends_no_origin() -> None:
    with pytest.raises(NoUsableInterfaceError):
        Client(described(interface()), Options(auth=Bearer("secret")))


def test_another_interface_of_the_same_origin_is_used_instead() -> None:
    offered = described(interface(url="https://elsewhere.example"), interface("HTTP+JSON"))

    assert choose(offered, Options(auth=Bearer("secret")), asked_from=URL).interface.url == URL


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Agent.example/a?b", "https://agent.example:443"),
        ("http://[::1]:80/", "http://[::1]:80"),
        ("https://user@agent.example", "https://agent.example:443"),
        ("ftp://agent.example", None),
        ("https://", None),
        ("https://agent.example:0", None),
        ("https://agent.example:99999", None),
        ("agent.example", None),
        ("https://xn--.example", None),
        ("https://agent.example/\x01", None),
        ("https://agent.example/" + "a" * 100_000, None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: str | None) -> None:
    assert origin_of(url) == origin
