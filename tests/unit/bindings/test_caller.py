"""Credentials to principals to callers (specification 7, 13.1)."""

import hashlib

import pytest

from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.ports import owner_of
from a2a_serverless.protocol.errors import UnauthenticatedError


def token(name: str, secret: str) -> Token:
    return Token(name, hashlib.sha256(secret.encode()).digest())


TOKENS = (token("alice", "first"), token("bob", "second"), token("alice", "rotated"))


def asking(*authorization: str) -> HttpRequest:
    return HttpRequest("POST", "/", {"authorization": authorization} if authorization else {})


@pytest.mark.parametrize(
    ("credentials", "name"),
    [
        ("Bearer first", "alice"),
        ("bearer second", "bob"),
        ("BEARER  rotated ", "alice"),
    ],
)
def test_a_token_names_its_principal(credentials: str, name: str) -> None:
    principal = Admittance(TOKENS).authenticate(asking(credentials))

    assert (principal.name, principal.anonymous) == (name, False)
    assert principal.claims == {"iss": "principals", "sub": name}


def test_a_rotated_token_keeps_the_tasks_of_its_principal() -> None:
    owners = {
        Admittance(TOKENS).authenticate(asking(f"Bearer {secret}")).caller(None, "").owner
        for secret in ("first", "rotated")
    }

    assert owners == {owner_of("principals", "alice")}


@pytest.mark.parametrize(
    "credentials",
    [
        (),
        ("",),
        ("Bearer",),
        ("Bearer third",),
        ("Bearer first second",),
        ("Bearer fir\u017ft",),
        ("Bearer \ud800",),
        ("Bearer\tfirst",),
        ("Basic Zmlyc3Q=",),
        ("first",),
        ("Bearer first", "Bearer second"),
    ],
)
@pytest.mark.parametrize("anonymous", [True, False])
def test_credentials_that_are_not_exactly_right_are_never_somebody(
    credentials: tuple[str, ...], *, anonymous: bool
) -> None:
    admittance = Admittance(TOKENS, anonymous=anonymous)
    if anonymous and not credentials:
        assert admittance.authenticate(asking()).anonymous
        return

    with pytest.raises(UnauthenticatedError):
        admittance.authenticate(asking(*credentials))


def test_a_caller_without_credentials_is_the_local_principal_where_there_is_one() -> None:
    admittance = Admittance(TOKENS, anonymous=True, local_principal="me")

    principal = admittance.authenticate(asking())

    assert (principal.name, principal.anonymous) == ("me", False)
    with pytest.raises(UnauthenticatedError):
        admittance.authenticate(asking("Bearer wrong"))


def test_without_tokens_the_authorization_header_is_for_whatever_stands_in_front() -> None:
    assert Admittance(anonymous=True).authenticate(asking("AWS4-HMAC-SHA256 x")).anonymous


def test_nobody_comes_in_by_default() -> None:
    with pytest.raises(UnauthenticatedError):
        Admittance().authenticate(asking("Bearer first"))


def test_owners_of_different_issuers_never_meet() -> None:
    by_token = Admittance(TOKENS).authenticate(asking("Bearer first")).caller("t", "u")
    local = Admittance(local_principal="alice").authenticate(asking()).caller("t", "u")
    anonymous = Admittance(anonymous=True).authenticate(asking()).caller("t", "u")

    assert len({by_token.owner, local.owner, anonymous.owner}) == 3
    assert (by_token.tenant, by_token.base_url) == ("t", "u")


def test_a_configured_address_wins_over_the_one_a_request_came_in_by() -> None:
    request = HttpRequest("GET", "/", origin="https://abc.execute-api/prod")

    assert Admittance(base_url="https://agent.example").address(request) == "https://agent.example"
    assert Admittance().address(request) == "https://abc.execute-api/prod"


def test_a_token_does_not_show_in_its_representation() -> None:
    assert "sha256" not in repr(TOKENS[0])
