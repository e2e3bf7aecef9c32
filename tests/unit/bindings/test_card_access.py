"""What the card says of the ways in, and who may see it (specification 4.5, 7.3, 14.3)."""

import hashlib
from base64 import b64encode
from typing import Any

import pytest

from a2a_serverless.bindings.caller import Access, Admittance, Token
from a2a_serverless.bindings.caller.basic import Basic, HashedPassword, Login
from a2a_serverless.bindings.caller.schemes import ApiKeys, Bearer, Scheme
from a2a_serverless.bindings.card import CardDesk
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.ports.access import KeysOutOfReachError, TrustedIssuer, VerifiedToken
from tests.unit.bindings.test_card import asker, source
from tests.unit.protocol.official import read_officially

DIGEST = hashlib.sha256(b"secret").digest()
TOKENS = (Token("ada", DIGEST),)
DISCOVERED = TrustedIssuer("https://issuer.example/", ("agent",), ("RS256",))
OTHER = TrustedIssuer("https://other.example", ("agent",), ("RS256",))
GIVEN = TrustedIssuer("us", ("agent",), ("HS256",), secret=b"x" * 32)
BASIC = Basic([Login("ada", "ada", HashedPassword(DIGEST))])
KEYS = ApiKeys("X-My-Key", TOKENS)


class Down:
    """Tokens that nobody can verify at present."""

    def verify(self, token: str) -> VerifiedToken:
        """Nobody knows."""
        raise KeysOutOfReachError(5)


def through(access: Access, **door: Any) -> Admittance:
    return Admittance(access=lambda: access, **door)


def announced(*schemes: Scheme, **scopes: list[str]) -> dict[str, Any]:
    required = {name: frozenset(each) for name, each in scopes.items()}
    required = {("*" if name == "every" else name): each for name, each in required.items()}
    return source(admittance=through(Access(schemes, required))).card("https://a").to_dict()


def test_each_scheme_is_announced_as_clients_know_it() -> None:
    card = announced(Bearer(TOKENS, (DISCOVERED, OTHER, GIVEN), Down()), BASIC, KEYS)

    schemes = {
        name: {key: value for key, value in kind.items() if key != "description"}
        for name, scheme in card["securitySchemes"].items()
        for kind in scheme.values()
    }
    assert schemes == {
        "bearer": {"scheme": "Bearer"},
        "oidc": {"openIdConnectUrl": "https://issuer.example/.well-known/openid-configuration"},
        "oidc2": {"openIdConnectUrl": "https://other.example/.well-known/openid-configuration"},
        "jwt": {"scheme": "Bearer", "bearerFormat": "JWT"},
        "basic": {"scheme": "Basic"},
        "apiKey": {"location": "header", "name": "X-My-Key"},
    }
    assert [list(each["schemes"]) for each in card["securityRequirements"]] == [[name] for name in schemes]


@pytest.mark.parametrize(
    ("scheme", "names"),
    [
        (Bearer(TOKENS), ["bearer"]),
        (Bearer((), (DISCOVERED,), Down()), ["oidc"]),
        (Bearer((), (GIVEN,), Down()), ["jwt"]),
        (BASIC, ["basic"]),
        (KEYS, ["apiKey"]),
    ],
)
def test_nothing_is_announced_that_is_not_there(scheme: Scheme, names: list[str]) -> None:
    card = announced(scheme)

    assert list(card["securitySchemes"]) == names
    assert [list(each["schemes"]) for each in card["securityRequirements"]] == [[name] for name in names]


def test_without_a_scheme_there_is_neither_scheme_nor_requirement() -> None:
    assert {"securitySchemes", "securityRequirements"} & announced().keys() == set()


def test_a_requirement_names_the_scopes_that_every_operation_asks_for() -> None:
    card = announced(Bearer(TOKENS), KEYS, every=["tasks.write", "tasks.read"], SendMessage=["more"])

    assert card["securityRequirements"] == [
        {"schemes": {"bearer": {"list": ["tasks.read", "tasks.write"]}}},
        {"schemes": {"apiKey": {"list": ["tasks.read", "tasks.write"]}}},
    ]


def test_the_official_types_read_every_scheme() -> None:
    card: Any = read_officially(
        "AgentCard", announced(Bearer(TOKENS, (DISCOVERED, GIVEN), Down()), BASIC, KEYS)
    )

    kinds = {name: scheme.WhichOneof("scheme") for name, scheme in card.security_schemes.items()}
    assert kinds == {
        "bearer": "http_auth_security_scheme",
        "oidc": "open_id_connect_security_scheme",
        "jwt": "http_auth_security_scheme",
        "basic": "http_auth_security_scheme",
        "apiKey": "api_key_security_scheme",
    }


def test_a_card_is_printed_anew_when_the_ways_in_change() -> None:
    now = [Access((Bearer(TOKENS),))]
    desk = CardDesk(source(admittance=Admittance(access=lambda: now[0])))
    first = desk.answer(HttpRequest("GET", "/", origin="https://a"))

    now[0] = Access((Bearer(TOKENS), KEYS))
    second = desk.answer(HttpRequest("GET", "/", origin="https://a"))

    assert first.headers["ETag"] != second.headers["ETag"]
    assert b"X-My-Key" in second.body


# --- closed doors -----------------------------------------------------------------------

CLOSED = Access((Bearer(TOKENS), BASIC, KEYS), public_card=False)


def test_a_closed_card_is_shown_to_those_who_may_come_in_and_kept_by_them_alone() -> None:
    ask = asker(admittance=through(CLOSED))

    basic = f"Basic {b64encode(b'ada:secret').decode()}"
    for shown in ({"authorization": "Bearer secret"}, {"authorization": basic}, {"x_my_key": "secret"}):
        answer = ask(**shown)
        assert answer["statusCode"] == 200
        assert answer["headers"]["cache-control"] == "private, max-age=300"
        again = ask(**shown, if_none_match=answer["headers"]["etag"])
        assert again["statusCode"] == 304


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_stranger_hears_at_a_closed_card_what_they_hear_everywhere(method: str) -> None:
    ask = asker(admittance=through(CLOSED))
    etag = asker(admittance=through(Access(CLOSED.schemes)))()["headers"]["etag"]

    for shown in ({}, {"authorization": "Bearer wrong"}, {"if_none_match": etag}, {"if_none_match": "*"}):
        answer = ask(method, **shown)
        assert answer["statusCode"] == 401
        assert answer["headers"]["www-authenticate"].startswith('Bearer realm="a2a", Basic realm=')
        assert answer["headers"]["cache-control"] == "no-store"
        assert "etag" not in answer["headers"]
        assert answer["body"] == '{"error":"Unauthorized"}'


def test_a_closed_card_cannot_be_shown_while_nobody_can_tell_whose_a_token_is() -> None:
    access = Access((Bearer((), (DISCOVERED,), Down()),), public_card=False)
    answer = asker(admittance=through(access))(authorization="Bearer a.b.c")

    assert (answer["statusCode"], answer["body"]) == (503, '{"error":"Unavailable"}')
    assert answer["headers"]["retry-after"] == "5"


def test_the_health_check_stays_open_unless_it_is_closed_too() -> None:
    def health(access: Access, **shown: str) -> int:
        return int(asker(admittance=through(access))("GET", "/health", **shown)["statusCode"])

    closed = Access(CLOSED.schemes, public_health=False)
    assert health(CLOSED) == 200
    assert (health(closed), health(closed, authorization="Bearer secret")) == (401, 200)
    assert asker(admittance=through(closed))()["statusCode"] == 200


def test_a_closed_card_where_strangers_are_let_in_is_open() -> None:
    assert asker(admittance=through(CLOSED, anonymous=True))()["statusCode"] == 200
    wrong = asker(admittance=through(CLOSED, anonymous=True))(authorization="Bearer wrong")
    assert wrong["statusCode"] == 401


def test_a_browser_may_send_every_header_that_credentials_come_in() -> None:
    answer = asker(admittance=through(CLOSED))("OPTIONS")

    assert answer["statusCode"] == 204
    allowed = answer["headers"]["access-control-allow-headers"].lower().split(", ")
    assert {"authorization", "x-my-key"} <= set(allowed)
    assert "x-my-key" not in asker()("OPTIONS")["headers"]["access-control-allow-headers"].lower()


def test_a_card_tells_nothing_of_its_callers() -> None:
    body = asker(admittance=through(Access((Bearer(TOKENS), BASIC, KEYS))))()["body"]

    assert "ada" not in body
    assert DIGEST.hex() not in body
