"""Tokens of trusted issuers, good ones and every bad one we could think of (RFC 7519, 8725)."""

import hmac
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from a2a_serverless.adapters.issuer_keys import IssuerKeys
from a2a_serverless.adapters.pyjwt_tokens import MOST, PyjwtTokens
from a2a_serverless.adapters.verification_keys import fetched_from
from a2a_serverless.bindings.caller.issuers import PUBLIC_KEY
from a2a_serverless.ports.access import (
    TrustedIssuer,
    UnbelievedTokenError,
    UnusableKeysError,
    VerifiedToken,
)
from tests.fakes.issuers import (
    ALGORITHMS,
    AUDIENCE,
    ISSUER,
    FakeIssuer,
    base64url,
    compact,
    private_key,
    public_jwk,
)

TRUSTED = TrustedIssuer(ISSUER, (AUDIENCE,), ("RS256",))
SECRET = b"0123456789abcdef0123456789abcdef"


def verifier(issuer: FakeIssuer, trusted: TrustedIssuer = TRUSTED, *more: TrustedIssuer) -> PyjwtTokens:
    keys = IssuerKeys(fetched_from(issuer.fetch), issuer.clock)
    return PyjwtTokens((trusted, *more), keys, issuer.clock)


def verified(token: str, issuer: FakeIssuer, trusted: TrustedIssuer = TRUSTED) -> VerifiedToken:
    return verifier(issuer, trusted).verify(token)


def disbelieved(token: str, issuer: FakeIssuer, trusted: TrustedIssuer = TRUSTED) -> str:
    with pytest.raises(UnbelievedTokenError) as why:
        verified(token, issuer, trusted)
    return str(why.value)


def test_a_good_token_says_who_calls_until_when() -> None:
    issuer = FakeIssuer()

    assert verified(issuer.token(), issuer) == VerifiedToken(
        issuer=ISSUER,
        subject="alice",
        expires=datetime(2026, 11, 30, 13, 1, tzinfo=UTC),
        claims={"iss": ISSUER, "sub": "alice"},
    )


@pytest.mark.parametrize("algorithm", sorted(PUBLIC_KEY))
def test_every_algorithm_of_public_keys_is_verified(algorithm: str) -> None:
    issuer = FakeIssuer(algorithm=algorithm)

    assert verified(issuer.token(), issuer, replace(TRUSTED, algorithms=(algorithm,))).subject == "alice"


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_a_shared_secret_verifies_without_anything_being_fetched(algorithm: str) -> None:
    issuer = FakeIssuer()
    trusted = replace(TRUSTED, algorithms=(algorithm,), secret=SECRET * 2)
    token = compact(
        json.dumps({"alg": algorithm}).encode(), json.dumps(issuer.claims()).encode(), algorithm, SECRET * 2
    )

    assert verified(token, issuer, trusted).subject == "alice"
    assert issuer.fetches == 0


def test_keys_of_the_deployments_own_verify_without_anything_being_fetched() -> None:
    issuer = FakeIssuer()

    assert verified(issuer.token(), issuer, replace(TRUSTED, jwks=[issuer.jwk()])).subject == "alice"
    assert issuer.fetches == 0


# --- attacks ----------------------------------------------------------------------------


def swapped_claims(issuer: FakeIssuer) -> str:
    header, _, signature = issuer.token().split(".")
    return f"{header}.{base64url(json.dumps(issuer.claims(sub='bob')).encode())}.{signature}"


def flipped(token: str) -> str:
    head, _, signature = token.rpartition(".")
    return f"{head}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"


def unsigned(issuer: FakeIssuer, algorithm: str = "none") -> str:
    header = json.dumps(issuer.header(alg=algorithm)).encode()
    return f"{base64url(header)}.{base64url(json.dumps(issuer.claims()).encode())}."


def with_public_key_as_secret(issuer: FakeIssuer, form: Callable[[FakeIssuer], bytes]) -> str:
    """Signed by HMAC with what everybody knows: the classic confusion of algorithms."""
    signed = f"{base64url(json.dumps(issuer.header(alg='HS256')).encode())}."
    signed += base64url(json.dumps(issuer.claims()).encode())
    return f"{signed}.{base64url(hmac.digest(form(issuer), signed.encode(), 'sha256'))}"


def pem(issuer: FakeIssuer) -> bytes:
    text: bytes = issuer.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return text


def by_the_attacker(issuer: FakeIssuer, **header: Any) -> str:
    """Signed by a key of the attacker's own."""
    return compact(
        json.dumps(issuer.header(**header)).encode(),
        json.dumps(issuer.claims()).encode(),
        "RS256",
        private_key("RS256", "attacker"),
    )


ATTACKERS_JWK = public_jwk(private_key("RS256", "attacker"), "RS256", kid="one")

ATTACKS: dict[str, Callable[[FakeIssuer], str]] = {
    "no signature, alg none": unsigned,
    "no signature, alg None": lambda issuer: unsigned(issuer, "None"),
    "no signature, alg RS256": lambda issuer: unsigned(issuer, "RS256"),
    "alg none with a signature": lambda issuer: f"{unsigned(issuer)}{issuer.token().rpartition('.')[2]}",
    "HS256 with the public key as PEM": lambda issuer: with_public_key_as_secret(issuer, pem),
    "HS256 with the public key as PEM, stripped": lambda issuer: with_public_key_as_secret(
        issuer, lambda each: pem(each).strip()
    ),
    "HS256 with the modulus": lambda issuer: with_public_key_as_secret(
        issuer, lambda each: str(each.jwk()["n"]).encode()
    ),
    "HS256 with an empty secret": lambda issuer: with_public_key_as_secret(issuer, lambda _: b"\0"),
    "another algorithm of the same key": lambda issuer: compact(
        json.dumps(issuer.header(alg="PS256")).encode(),
        json.dumps(issuer.claims()).encode(),
        "PS256",
        issuer.key,
    ),
    "a key of the attacker's": by_the_attacker,
    "a key of the attacker's, embedded": lambda issuer: by_the_attacker(issuer, jwk=ATTACKERS_JWK),
    "a key of the attacker's by jku": lambda issuer: by_the_attacker(issuer, jku="https://evil.example/jwks"),
    "a key of the attacker's by x5u": lambda issuer: by_the_attacker(issuer, x5u="https://evil.example/x5u"),
    "a key of the attacker's by x5c": lambda issuer: by_the_attacker(issuer, x5c=["MIIB"]),
    "a kid that is a path": lambda issuer: by_the_attacker(issuer, kid="../../../dev/null"),
    "a kid that is a query": lambda issuer: by_the_attacker(issuer, kid="x' UNION SELECT 'k"),
    "a kid that is an address": lambda issuer: by_the_attacker(issuer, kid="https://evil.example/jwks"),
    "a kid that is no text": lambda issuer: issuer.token({"kid": 7}),
    "a kid that is an object": lambda issuer: issuer.token({"kid": {"one": 1}}),
    "an alg that is no text": lambda issuer: issuer.token({"alg": ["RS256"]}),
    "no alg": lambda issuer: issuer.token({"alg": None}),
    "an alg in another case": lambda issuer: issuer.token({"alg": "rs256"}),
    "something critical": lambda issuer: issuer.token({"crit": ["exp"]}),
    "something critical and unknown": lambda issuer: issuer.token({"crit": ["x"], "x": 1}),
    "an empty crit": lambda issuer: issuer.token({"crit": []}),
    "a payload that is not encoded": lambda issuer: issuer.token({"b64": False, "crit": ["b64"]}),
    "b64 alone": lambda issuer: issuer.token({"b64": False}),
    "a compressed payload": lambda issuer: issuer.token({"zip": "DEF"}),
    "an encrypted token's header": lambda issuer: issuer.token({"enc": "A256GCM"}),
    "a token in a token": lambda issuer: issuer.token({"cty": "JWT"}),
    "a token for logging out": lambda issuer: issuer.token({"typ": "logout+jwt"}),
    "a proof of possession": lambda issuer: issuer.token({"typ": "dpop+jwt"}),
    "a typ that is no text": lambda issuer: issuer.token({"typ": 1}),
    "an encrypted token": lambda issuer: f"{issuer.token()}.{base64url(b'iv')}.{base64url(b'tag')}",
    "a signature that was changed": lambda issuer: flipped(issuer.token()),
    "claims that were changed": swapped_claims,
    "two signatures": lambda issuer: f"{issuer.token()}.{issuer.token().rpartition('.')[2]}",
    "a detached payload": lambda issuer: "..".join(issuer.token().split(".")[::2]),
    "JSON serialisation": lambda issuer: json.dumps({"payload": issuer.token().split(".")[1]}),
    "white space before it": lambda issuer: f" {issuer.token()}",
    "white space behind it": lambda issuer: f"{issuer.token()}\n",
    "white space within": lambda issuer: issuer.token().replace(".", ". ", 1),
    "padding": lambda issuer: issuer.token() + "==",
    "the other base64": lambda issuer: issuer.token().replace(".", "+.", 1),
    "not ASCII": lambda issuer: issuer.token().replace(".", "é.", 1),
    "digits of another script": lambda issuer: issuer.token()[:-1] + "\u0661",
    "nothing": lambda _: "",
    "dots": lambda _: "..",
    "three letters": lambda _: "a.b.c",
    "a megabyte": lambda issuer: issuer.token(padding="x" * 1024 * 1024),
    "a little too much": lambda issuer: issuer.token(padding="x" * MOST),
    "deep nesting": lambda issuer: compact(
        json.dumps(issuer.header()).encode(), b"[" * 8000, "RS256", issuer.key
    ),
    "claims that are a list": lambda issuer: compact(
        json.dumps(issuer.header()).encode(), b"[]", "RS256", issuer.key
    ),
    "claims that are no JSON": lambda issuer: compact(
        json.dumps(issuer.header()).encode(), b"{", "RS256", issuer.key
    ),
    "claims that are not UTF-8": lambda issuer: compact(
        json.dumps(issuer.header()).encode(), b'{"sub":"\xff"}', "RS256", issuer.key
    ),
    "a header that is a list": lambda issuer: compact(b'["alg"]', b"{}", "RS256", issuer.key),
    "a member twice in the header": lambda issuer: compact(
        b'{"alg":"RS256","alg":"RS256","kid":"one"}',
        json.dumps(issuer.claims()).encode(),
        "RS256",
        issuer.key,
    ),
    "a claim twice": lambda issuer: compact(
        json.dumps(issuer.header()).encode(),
        json.dumps(issuer.claims()).encode()[:-1] + b',"sub":"bob"}',
        "RS256",
        issuer.key,
    ),
}
"""What an attack is → the token it sends. Each is wrong in one thing and right in all others."""


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_proves_nothing_and_makes_nobody_fetch_what_it_names(attack: str) -> None:
    issuer = FakeIssuer()

    assert disbelieved(ATTACKS[attack](issuer), issuer)
    assert issuer.fetches <= 2


def test_what_the_attacks_change_is_all_that_is_wrong_with_them() -> None:
    issuer = FakeIssuer()

    assert verified(issuer.token(padding="x" * 1024, jwk=ATTACKERS_JWK), issuer)
    assert verified(issuer.token({"jwk": ATTACKERS_JWK, "jku": "https://evil.example/", "x5t": "x"}), issuer)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": None},
        {"exp": "4102444800"},
        {"exp": True},
        {"exp": 0},
        {"exp": -1},
        {"exp": 10**400},
        {"exp": 4102444800000},
        {"exp": [4102444800]},
        {"nbf": "now"},
        {"nbf": True},
        {"iat": False},
        {"nbf": 10**400},
        {"iat": {}},
        {"aud": None},
        {"aud": ""},
        {"aud": []},
        {"aud": "https://agent.example/"},
        {"aud": "HTTPS://AGENT.EXAMPLE"},
        {"aud": ["https://other.example"]},
        {"aud": [AUDIENCE, 7]},
        {"aud": {AUDIENCE: True}},
        {"iss": None},
        {"iss": f"{ISSUER}/"},
        {"iss": "https://evil.example"},
        {"iss": [ISSUER]},
        {"iss": {"a": 1}},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": ["alice"]},
        {"sub": "x" * 513},
        {"sub": "\ud800"},
        {"scope": 7},
        {"scope": ["a", 7]},
        {"scope": "\ud800"},
    ],
)
def test_claims_that_are_not_as_they_must_be_prove_nothing(claims: dict[str, Any]) -> None:
    issuer = FakeIssuer()

    assert disbelieved(issuer.token(**claims), issuer)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_time_that_is_no_number_never_comes(number: str) -> None:
    issuer = FakeIssuer()
    claims = json.dumps(issuer.claims(exp="X")).replace('"X"', number).encode()

    assert disbelieved(compact(json.dumps(issuer.header()).encode(), claims, "RS256", issuer.key), issuer)


# --- time -------------------------------------------------------------------------------


@pytest.mark.parametrize(("later", "believed"), [(3600, True), (3659, True), (3660, False), (7200, False)])
def test_a_token_ends_when_it_says_plus_what_clocks_may_be_apart(later: int, believed: bool) -> None:  # noqa: FBT001
    issuer = FakeIssuer()
    token = issuer.token()
    issuer.clock.moment += timedelta(seconds=later)

    assert (verified(token, issuer).subject == "alice") if believed else disbelieved(token, issuer)


@pytest.mark.parametrize("claim", ["nbf", "iat"])
@pytest.mark.parametrize(("earlier", "believed"), [(0, True), (60, True), (61, False)])
def test_a_token_begins_when_it_says_less_what_clocks_may_be_apart(
    claim: str,
    earlier: int,
    believed: bool,  # noqa: FBT001
) -> None:
    issuer = FakeIssuer()
    token = issuer.token(**{claim: issuer.clock.now().timestamp() + earlier})

    assert (verified(token, issuer).subject == "alice") if believed else disbelieved(token, issuer)


def test_no_leeway_is_none() -> None:
    issuer = FakeIssuer()
    strict = replace(TRUSTED, leeway=timedelta(0))
    now = issuer.clock.now().timestamp()

    assert verified(issuer.token(exp=now + 1), issuer, strict)
    assert disbelieved(issuer.token(exp=now), issuer, strict) == "expired"
    assert disbelieved(issuer.token(nbf=now + 1), issuer, strict) == "not valid yet"


# --- what is taken from a token ---------------------------------------------------------


def test_an_audience_is_one_of_several_on_either_side() -> None:
    issuer = FakeIssuer()
    two = replace(TRUSTED, audiences=("api://agent", AUDIENCE))

    assert verified(issuer.token(aud=["https://other.example", "api://agent"]), issuer, two)
    assert verified(issuer.token(aud=AUDIENCE), issuer, two)


def test_an_audience_is_the_claim_that_was_named() -> None:
    issuer = FakeIssuer()
    cognito = replace(TRUSTED, audiences=("client-1",), audience_claim="client_id")

    assert verified(issuer.token(aud=None, client_id="client-1"), issuer, cognito).subject == "alice"
    assert disbelieved(issuer.token(aud="client-1"), issuer, cognito)
    assert disbelieved(issuer.token(client_id="client-2"), issuer, cognito)


@pytest.mark.parametrize(
    ("claim", "scopes"),
    [
        (None, set()),
        ("", set()),
        ("tasks.read tasks.write", {"tasks.read", "tasks.write"}),
        (["tasks.read"], {"tasks.read"}),
        ([], set()),
    ],
)
def test_scopes_are_words_or_a_list(claim: object, scopes: set[str]) -> None:
    issuer = FakeIssuer()

    assert verified(issuer.token(scp=claim), issuer, replace(TRUSTED, scope_claim="scp")).scopes == scopes


def test_the_subject_is_the_claim_that_was_named() -> None:
    issuer = FakeIssuer()
    named = replace(TRUSTED, subject_claim="client_id")

    found = verified(issuer.token(client_id="robot"), issuer, named)

    assert (found.subject, found.claims["sub"]) == ("robot", "robot")
    assert disbelieved(issuer.token(), issuer, named)


def test_a_tenant_is_the_claim_that_was_named_and_must_be_there() -> None:
    issuer = FakeIssuer()
    tenants = replace(TRUSTED, tenant_claim="org")

    assert verified(issuer.token(org="acme"), issuer, tenants).tenant == "acme"
    assert verified(issuer.token(org="acme"), issuer).tenant is None
    for wrong in (None, "", "a b", "x" * 65, "tasks", "..", 7, ["acme"], "a#b", "acme\n"):
        assert disbelieved(issuer.token(org=wrong), issuer, tenants)


def test_an_agent_is_told_the_claims_that_were_named_and_no_others() -> None:
    issuer = FakeIssuer()
    telling = replace(TRUSTED, claims=("email", "groups", "missing", "age", "sub"))

    found = verified(
        issuer.token(email="a@example.com", groups=["a", "é"], age=7, phone="123"), issuer, telling
    )

    assert found.claims == {
        "iss": ISSUER,
        "sub": "alice",
        "email": "a@example.com",
        "groups": '["a","\\u00e9"]',
        "age": "7",
    }
    assert disbelieved(issuer.token(email="\ud800"), issuer, telling)


def test_each_issuer_answers_for_its_own_tokens_only() -> None:
    here, there = FakeIssuer(), FakeIssuer(name="https://other.example", kid="two")
    trusted = replace(TRUSTED, issuer="https://other.example", jwks=[there.jwk()])
    both = verifier(here, TRUSTED, trusted)

    assert both.verify(here.token()).issuer == ISSUER
    assert both.verify(there.token()).issuer == "https://other.example"
    for forged in (here.token(iss="https://other.example"), there.token(iss=ISSUER)):
        with pytest.raises(UnbelievedTokenError):
            both.verify(forged)


# --- keys -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "members",
    [
        {"use": "enc"},
        {"use": None, "key_ops": ["encrypt"]},
        {"use": None, "key_ops": "verify"},
        {"alg": "RS512"},
        {"alg": "HS256"},
        {"n": "AQAB"},
        {"n": 7},
        {"e": None},
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": "EC"},
        {"kty": ["RSA"]},
        {"kty": None},
    ],
)
def test_a_key_that_is_weak_or_for_something_else_verifies_nothing(members: dict[str, Any]) -> None:
    issuer = FakeIssuer()
    good = public_jwk(private_key("RS256", "other"), "RS256", kid="other")
    issuer.published = [issuer.jwk(**members), good]

    assert disbelieved(issuer.token(), issuer)


@pytest.mark.parametrize(
    "members", [{"alg": None}, {"use": None}, {"use": None, "key_ops": ["verify"]}, {"kid": None}]
)
def test_a_key_need_not_say_what_it_is_for(members: dict[str, Any]) -> None:
    issuer = FakeIssuer()
    issuer.published = [{**issuer.jwk(), **members}]
    issuer.published = [{name: value for name, value in issuer.published[0].items() if value is not None}]

    assert verified(issuer.token(), issuer).subject == "alice"


def test_a_short_key_of_an_issuers_is_not_used() -> None:
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505  that is the point
    issuer = FakeIssuer()
    issuer.published = [public_jwk(weak, "RS256", kid="one"), issuer.jwk(kid="two")]
    token = compact(json.dumps(issuer.header()).encode(), json.dumps(issuer.claims()).encode(), "RS256", weak)

    assert disbelieved(token, issuer)


def test_a_private_key_that_an_issuer_published_by_mistake_still_only_verifies() -> None:
    issuer = FakeIssuer()
    private = ALGORITHMS["RS256"].to_jwk(issuer.key, as_dict=True)
    issuer.published = [{**private, "kid": "one", "key_ops": ["sign", "verify"]}]

    assert verified(issuer.token(), issuer).subject == "alice"


def test_a_token_without_a_kid_may_be_signed_by_any_key() -> None:
    issuer = FakeIssuer()
    other = public_jwk(private_key("RS256", "other"), "RS256", kid="other")
    issuer.published = [other, issuer.jwk()]

    assert verified(issuer.token({"kid": None}), issuer).subject == "alice"


def test_a_curve_is_for_its_own_algorithm() -> None:
    issuer = FakeIssuer(algorithm="ES256")
    both = replace(TRUSTED, algorithms=("ES256", "ES384"))
    issuer.published = [issuer.jwk(alg=None)]
    token = issuer.token({"alg": "ES384"})

    assert disbelieved(token, issuer, both)
    assert verified(issuer.token(), issuer, both)


@pytest.mark.parametrize(
    "trusted",
    [
        replace(TRUSTED, jwks=[{"kty": "RSA", "kid": "one", "n": "AQAB", "e": "AQAB"}]),
        replace(TRUSTED, jwks=[public_jwk(private_key("ES256"), "ES256")]),
        replace(TRUSTED, algorithms=("HS256",), secret=pem(FakeIssuer())),
        replace(TRUSTED, algorithms=("HS256",), secret=b"ssh-rsa AAAAB3NzaC1yc2E= alice@example.com"),
    ],
)
def test_given_keys_that_verify_nothing_are_refused_before_there_is_a_token(trusted: TrustedIssuer) -> None:
    with pytest.raises(UnusableKeysError):
        verifier(FakeIssuer(), trusted)


# --- anything at all --------------------------------------------------------------------

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(
    st.sampled_from(["iss", "sub", "aud", "exp", "nbf", "iat", "scope", "org", "email", "kid", "alg", "typ"]),
    JSON_VALUES,
    max_size=6,
)


@settings(max_examples=300, deadline=None)
@given(header=OBJECTS, claims=OBJECTS)
def test_whatever_a_signed_token_says_it_is_believed_or_not_and_nothing_breaks(
    header: dict[str, Any], claims: dict[str, Any]
) -> None:
    issuer = FakeIssuer()
    trusted = replace(TRUSTED, tenant_claim="org", claims=("email",))
    token = compact(
        json.dumps({**issuer.header(), **header}).encode(),
        json.dumps({**issuer.claims(org="acme"), **claims}).encode(),
        "RS256",
        issuer.key,
    )

    try:
        found = verified(token, issuer, trusted)
    except UnbelievedTokenError:
        return
    assert found.subject.encode()
    assert found.tenant
    assert all(isinstance(value, str) and value.encode() for value in found.claims.values())


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=200)
    | st.from_regex(r"[A-Za-z0-9_=-]{0,40}(\.[A-Za-z0-9_=-]{0,40}){0,4}", fullmatch=True)
)
def test_whatever_is_no_token_is_not_believed(text: str) -> None:
    assert disbelieved(text, FakeIssuer())
