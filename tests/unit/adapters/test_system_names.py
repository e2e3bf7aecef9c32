"""Names as the operating system resolves them."""

import socket
from ipaddress import ip_address
from threading import Event
from typing import Any

import pytest

from a2a_serverless.adapters.system_names import SystemNames
from a2a_serverless.ports.webhooks import UnresolvableNameError


def found(*addresses: str) -> list[tuple[Any, ...]]:
    """What the system answers with, one socket address after the other."""
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:DB8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("::ffff:127.0.0.1", "::ffff:127.0.0.1"),
    ],
)
def test_an_address_is_what_it_spells_and_nobody_is_asked(host: str, address: str) -> None:
    def asked(*_: Any, **__: Any) -> list[tuple[Any, ...]]:
        raise AssertionError(host)

    (answer,) = SystemNames(asked).addresses(host)

    assert ip_address(answer) == ip_address(address)


def test_every_address_of_a_name_is_found_once_in_the_systems_order() -> None:
    names = SystemNames(lambda *_, **__: found("203.0.113.7", "2001:db8::1", "203.0.113.7", "203.0.113.8"))

    assert names.addresses("hooks.example") == ("203.0.113.7", "2001:db8::1", "203.0.113.8")


def test_a_name_without_an_address_is_said_to_have_none() -> None:
    def asked(*_: Any, **__: Any) -> list[tuple[Any, ...]]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(UnresolvableNameError):
        SystemNames(asked).addresses("hooks.example")


@pytest.mark.parametrize("host", [f"{'a' * 64}.example", "a..example"])
def test_what_cannot_be_a_name_has_no_address(host: str) -> None:
    with pytest.raises(UnresolvableNameError):
        SystemNames().addresses(host)


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f.1"])
def test_this_machine_is_recognized_by_every_spelling_that_the_system_reads(host: str) -> None:
    assert set(SystemNames().addresses(host)) <= {"127.0.0.1", "::1"}


def test_a_name_server_that_does_not_answer_is_not_waited_for() -> None:
    never = Event()
    names = SystemNames(lambda *_, **__: found("203.0.113.7") if never.wait(60) else [], patience=0.01)

    with pytest.raises(UnresolvableNameError):
        names.addresses("hooks.example")
    never.set()
