"""The access document: what it makes, and everything it is refused for, by name and without its values."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.bindings.caller import Access, Admittance, Token
from a2a_serverless.bindings.caller.basic import hashed
from a2a_serverless.bindings.caller.document import MOST_BYTES, AccessDocument, AccessDocumentError
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.ports.access import IssuedTokens, TrustedIssuer, VerifiedToken
from tests.fakes.issuers import FakeIssuer

HASH = hashlib.sha256(b"secret").hexdigest()
ENTRY = {"name": "ada", "sha256": HASH}
ISSUER = {"issuer": "https://issuer.example/", "audience": "agent", "algorithms": ["RS256"]}
SECRET = "0123456789abcdef0123456789abcdef"
JWK = FakeIssuer().jwk()


class NoTokens:
    """Believes in nothing."""

    def verify(self, token: str) -> VerifiedToken:
        """Nothing."""
        raise NotImplementedError


def access(
    document: dict[str, Any], tokens: Sequence[Token] = (), trusted: list[TrustedIssuer] | None = None
) -> Access:
    def verifier(issuers: Sequence[TrustedIssuer]) -> IssuedTokens:
        if trusted is not None:
            trusted.extend(issuers)
        return NoTokens()

    return AccessDocument.read(json.dumps(document)).access(tokens, verifier)


def trusted(entry: dict[str, Any]) -> TrustedIssuer:
    found: list[TrustedIssuer] = []
    access({"jwt": [entry]}, trusted=found)
    return found[0]


def name(found: Access, **headers: str) -> str:
    request = HttpRequest("GET", "/", {key.replace("_", "-"): (value,) for key, value in headers.items()})
    return Admittance(access=lambda: found).authenticate(request).name


def test_a_document_names_callers_by_every_scheme_at_once() -> None:
    found = access(
        {
            "bearer": [{**ENTRY, "scopes": ["read"]}, {"name": "ada", "sha256": "0a" * 32}],
            "basic": [
                {"name": "bob", "username": "bob@example.com", "scrypt": hashed("horse")},
                {"name": "cy", "username": "cy", "sha256": HASH},
            ],
            "apiKey": {"header": "X-Key", "keys": [{"name": "dee", "sha256": HASH}]},
            "jwt": [ISSUER],
            "requiredScopes": {"*": ["read"], "SendMessage": ["write"]},
            "publicCard": False,
            "publicHealth": False,
        },
        tokens=[Token("eve", hashlib.sha256(b"from the environment").digest())],
    )

    assert name(found, authorization="Bearer secret") == "ada"
    assert name(found, authorization=f"Basic {b64encode(b'bob@example.com:horse').decode()}") == "bob"
    assert name(found, authorization=f"Basic {b64encode(b'cy:secret').decode()}") == "cy"
    assert name(found, x_key="secret") == "dee"
    assert name(found, authorization="Bearer secret", x_other="x") == "ada"
    assert list(found.announced) == ["bearer", "oidc", "basic", "apiKey"]
    assert found.scopes_for("SendMessage") == {"read", "write"}
    assert (found.public_card, found.public_health) == (False, False)


def test_tokens_of_the_environment_count_beside_the_documents() -> None:
    environment = [Token("eve", hashlib.sha256(b"theirs").digest())]

    assert name(access({"bearer": [ENTRY]}, environment), authorization="Bearer theirs") == "eve"
    assert name(access({"basic": []}, environment), authorization="Bearer theirs") == "eve"


def test_what_is_not_said_has_plain_defaults() -> None:
    found = access({"apiKey": {"keys": [ENTRY]}})

    assert found.headers == ("x-api-key",)
    assert (found.public_card, found.public_health, found.scopes_for("GetTask")) == (True, True, frozenset())
    assert access({}).schemes == ()


def test_an_issuer_is_trusted_as_it_is_described() -> None:
    assert trusted(ISSUER) == TrustedIssuer("https://issuer.example/", ("agent",), ("RS256",))
    assert trusted(ISSUER).discovered
    assert trusted(ISSUER).configuration_url == "https://issuer.example/.well-known/openid-configuration"
    whole = {
        **ISSUER,
        "audience": ["agent", "api://agent"],
        "algorithms": ["RS256", "ES256"],
        "jwksUri": "https://issuer.example/keys",
        "leewaySeconds": 0,
        "audienceClaim": "client",
        "subjectClaim": "client_id",
        "tenantClaim": "https://example.com/org",
        "scopeClaim": "scp",
        "claims": ["email"],
    }
    assert trusted(whole) == TrustedIssuer(
        issuer="https://issuer.example/",
        audiences=("agent", "api://agent"),
        algorithms=("RS256", "ES256"),
        jwks_uri="https://issuer.example/keys",
        leeway=timedelta(0),
        audience_claim="client",
        subject_claim="client_id",
        tenant_claim="https://example.com/org",
        scope_claim="scp",
        claims=("email",),
    )
    assert trusted({**ISSUER, "issuer": "us", "jwks": {"keys": [JWK]}}).jwks == (JWK,)
    hs = {**ISSUER, "issuer": "us", "algorithms": ["HS256"], "secret": SECRET}
    assert trusted(hs).secret == SECRET.encode()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"barer": [ENTRY]}, "barer is not known"),
    ({"bearer": [{**ENTRY, "token": "secret"}]}, r"bearer\[0\].token is not known"),
    ({"bearer": [{"sha256": HASH}]}, r"bearer\[0\].name is missing"),
    ({"bearer": [{"name": "ada"}]}, r"bearer\[0\].sha256 is missing"),
    ({"bearer": [{**ENTRY, "name": "a b"}]}, r"bearer\[0\].name must be"),
    ({"bearer": [{**ENTRY, "name": ""}]}, r"bearer\[0\].name must be"),
    ({"bearer": [ENTRY, {**ENTRY, "sha256": "secret"}]}, r"bearer\[1\].sha256 must be"),
    ({"bearer": [{**ENTRY, "sha256": HASH.upper()}]}, r"bearer\[0\].sha256 must be"),
    ({"bearer": [{**ENTRY, "sha256": 7}]}, r"bearer\[0\].sha256 must be text"),
    (
        {"bearer": [{**ENTRY, "sha256": hashlib.sha256().hexdigest()}]},
        r"bearer\[0\].sha256 is the hash of nothing",
    ),
    ({"bearer": [{**ENTRY, "scopes": ["a b"]}]}, r"bearer\[0\].scopes\[0\] must be a scope"),
    ({"bearer": [{**ENTRY, "scopes": "read"}]}, r"bearer\[0\].scopes"),
    ({"bearer": [ENTRY, {**ENTRY, "name": "bob"}]}, "bearer must not give one sha256 to two names"),
    ({"bearer": ENTRY}, "bearer"),
    ({"basic": [{"name": "a", "username": "a"}]}, r"basic\[0\] must have either scrypt or sha256"),
    (
        {"basic": [{"name": "a", "username": "a", "sha256": HASH, "scrypt": hashed("x")}]},
        r"basic\[0\] must have either",
    ),
    ({"basic": [{"name": "a", "username": "a:b", "sha256": HASH}]}, r"basic\[0\].username must be"),
    ({"basic": [{"name": "a", "username": "", "sha256": HASH}]}, r"basic\[0\].username must be"),
    ({"basic": [{"name": "a", "username": "a", "scrypt": "secret"}]}, r"basic\[0\].scrypt must be \$scrypt"),
    (
        {"basic": [{"name": "a", "username": "a", "scrypt": hashed("x", ln=10)}]},
        r"basic\[0\].scrypt takes too little work",
    ),
    ({"basic": [{"name": "a", "username": "a", "password": "secret"}]}, r"basic\[0\].password is not known"),
    ({"apiKey": {"keys": []}}, r"apiKey.keys"),
    ({"apiKey": {"header": "X-Key"}}, "apiKey.keys is missing"),
    ({"apiKey": {"header": "X Key", "keys": [ENTRY]}}, "apiKey.header must be the name of a header"),
    ({"apiKey": {"keys": [ENTRY, {**ENTRY, "name": "bob"}]}}, "apiKey.keys must not give"),
    *(
        (
            {"apiKey": {"header": header, "keys": [ENTRY]}},
            "apiKey.header is a header that has another meaning",
        )
        for header in (
            "Authorization",
            "cookie",
            "A2A-Version",
            "X-A2A-Extensions",
            "Host",
            "X-Forwarded-For",
        )
    ),
    ({"jwt": [{**ISSUER, "issuer": ""}]}, r"jwt\[0\].issuer"),
    *(
        ({"jwt": [{**ISSUER, "issuer": issuer, "jwks": {"keys": [JWK]}}]}, r"jwt\[0\].issuer must be")
        for issuer in ("principals", "local", "anonymous", "a\nb")
    ),
    *(
        ({"jwt": [{**ISSUER, "issuer": issuer}]}, r"jwt\[0\] must have jwksUri, jwks or secret")
        for issuer in (
            "issuer.example",
            "http://issuer.example",
            "http://127.0.0.1:8000",
            "https://user:secret@issuer.example",
            "https://issuer.example?secret",
            "https://issuer.example#secret",
            "https://[secret",
            "ftp://issuer.example",
            "https:///secret",
        )
    ),
    ({"jwt": [ISSUER, ISSUER]}, "jwt must not name an issuer twice"),
    ({"jwt": [{**ISSUER, "audience": ""}]}, r"jwt\[0\].audience\[0\]"),
    ({"jwt": [{**ISSUER, "audience": []}]}, r"jwt\[0\].audience"),
    ({"jwt": [{**ISSUER, "audience": [""]}]}, r"jwt\[0\].audience\[0\]"),
    ({"jwt": [{**ISSUER, "audience": None}]}, r"jwt\[0\].audience"),
    ({"jwt": [{"issuer": "https://i.example", "algorithms": ["RS256"]}]}, r"jwt\[0\].audience is missing"),
    ({"jwt": [{"issuer": "https://i.example", "audience": "a"}]}, r"jwt\[0\].algorithms is missing"),
    ({"jwt": [{**ISSUER, "algorithms": []}]}, r"jwt\[0\].algorithms"),
    *(
        ({"jwt": [{**ISSUER, "algorithms": ["RS256", each]}]}, r"jwt\[0\].algorithms\[1\] must be one of")
        for each in ("none", "None", "rs256", "RS1", "ES256K", "")
    ),
    ({"jwt": [{**ISSUER, "algorithms": ["HS256"]}]}, r"jwt\[0\] algorithms must not be HS\*"),
    ({"jwt": [{**ISSUER, "algorithms": ["RS256", "HS256"]}]}, r"jwt\[0\] algorithms must not be HS\*"),
    (
        {"jwt": [{**ISSUER, "algorithms": ["HS256"], "jwks": {"keys": [JWK]}}]},
        r"jwt\[0\] algorithms must not be HS\*",
    ),
    (
        {"jwt": [{**ISSUER, "algorithms": ["HS256"], "jwksUri": "https://i.example/"}]},
        r"jwt\[0\] algorithms must not be HS\*",
    ),
    ({"jwt": [{**ISSUER, "secret": SECRET}]}, r"jwt\[0\] algorithms must be HS\*"),
    (
        {"jwt": [{**ISSUER, "algorithms": ["HS256", "RS256"], "secret": SECRET}]},
        r"jwt\[0\] algorithms must be HS\*",
    ),
    (
        {"jwt": [{**ISSUER, "algorithms": ["HS256"], "secret": "secret"}]},
        r"secret must have at least 32 bytes",
    ),
    ({"jwt": [{**ISSUER, "algorithms": ["HS512"], "secret": SECRET}]}, r"secret must have at least 64 bytes"),
    (
        {"jwt": [{**ISSUER, "jwksUri": "https://i.example/", "jwks": {"keys": [JWK]}}]},
        r"jwt\[0\] must have one of jwksUri, jwks and secret",
    ),
    ({"jwt": [{**ISSUER, "jwksUri": "http://i.example/keys"}]}, r"jwt\[0\].jwksUri must be an https URL"),
    (
        {"jwt": [{**ISSUER, "jwksUri": "https://u:secret@i.example/"}]},
        r"jwt\[0\].jwksUri must be an https URL",
    ),
    ({"jwt": [{**ISSUER, "jwksUri": ""}]}, r"jwt\[0\].jwksUri"),
    ({"jwt": [{**ISSUER, "jwks": {"keys": []}}]}, r"jwt\[0\].jwks.keys"),
    ({"jwt": [{**ISSUER, "jwks": [JWK]}]}, r"jwt\[0\].jwks"),
    (
        {"jwt": [{**ISSUER, "jwks": {"keys": [JWK, {"kty": "oct", "k": "secret"}]}}]},
        r"jwks.keys\[1\] must be a public",
    ),
    (
        {"jwt": [{**ISSUER, "jwks": {"keys": [{**JWK, "d": "secret"}]}}]},
        r"keys\[0\] must be a public key, without",
    ),
    ({"jwt": [{**ISSUER, "leewaySeconds": 301}]}, r"jwt\[0\].leewaySeconds"),
    ({"jwt": [{**ISSUER, "leewaySeconds": "60"}]}, r"jwt\[0\].leewaySeconds"),
    ({"jwt": [{**ISSUER, "tenantClaim": ""}]}, r"jwt\[0\].tenantClaim"),
    ({"jwt": [{**ISSUER, "jwks_uri": "https://i.example/"}]}, r"jwt\[0\].jwks_uri is not known"),
    ({"requiredScopes": {"SendMesage": ["a"]}}, r"requiredScopes.SendMesage\S* must be an operation"),
    ({"requiredScopes": {"SendMessage": ["a b"]}}, r"requiredScopes.SendMessage\[0\] must be a scope"),
    ({"requiredScopes": {"*": "read"}}, r"requiredScopes.\*"),
    ({"publicCard": "no"}, "publicCard"),
    ({"publicCard": 0}, "publicCard"),
]


@pytest.mark.parametrize(("document", "why"), REFUSED)
def test_what_cannot_be_is_refused_by_name_and_no_value_is_repeated(
    document: dict[str, Any], why: str
) -> None:
    with pytest.raises(AccessDocumentError, match=why) as refused:
        access(document)

    said = (
        str(refused.value)
        .replace("secret must have", "")
        .replace("jwks or secret", "")
        .replace("and secret", "")
    )
    said = said.replace("where there is a secret", "")
    assert "secret" not in said
    assert HASH not in said
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        "{'bearer': []}",
        '{"bearer": [], "bearer": []}',
        '{"bearer": [{"name": "a", "name": "b"}]}',
        '{"publicCard": NaN}',
        '{"bearer": [{"name": "a\\ud800"}]}',
        "[" * 100_000,
        '{"jwt": ' + "[" * 100_000,
    ],
)
def test_what_is_not_unambiguous_json_is_refused(text: str) -> None:
    with pytest.raises(AccessDocumentError, match="must be JSON, in which no member stands twice"):
        AccessDocument.read(text)


@pytest.mark.parametrize("text", ["[]", "7", '"secret"', "null"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(AccessDocumentError) as refused:
        AccessDocument.read(text)

    assert "secret" not in str(refused.value)


def test_a_document_ends_somewhere() -> None:
    with pytest.raises(AccessDocumentError, match="must not exceed"):
        AccessDocument.read(" " * (MOST_BYTES + 1))


def test_the_name_of_a_member_that_might_be_a_secret_is_not_repeated() -> None:
    with pytest.raises(AccessDocumentError) as refused:
        AccessDocument.read('{"Bearer hunter2!": 1}')

    assert "hunter2" not in str(refused.value)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(
        AccessDocumentError, match=r"bearer\[0\].sha256 .*; jwt\[0\].audience .*; extra is not known"
    ):
        access({"bearer": [{"name": "a", "sha256": ""}], "jwt": [{**ISSUER, "audience": []}], "extra": 1})


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://[::1]:8000", "http://localhost:8000"])
def test_issuers_may_be_on_this_machine_only_where_that_is_said(url: str) -> None:
    text = json.dumps({"jwt": [{**ISSUER, "issuer": url}, {**ISSUER, "jwksUri": f"{url}/keys"}]})

    assert len(AccessDocument.read(text, loopback=True).jwt) == 2
    with pytest.raises(AccessDocumentError):
        AccessDocument.read(text)
    with pytest.raises(AccessDocumentError):
        AccessDocument.read(
            text.replace("127.0.0.1", "10.0.0.1").replace("localhost", "a").replace("::1", "::2"),
            loopback=True,
        )


def test_secrets_do_not_show_in_the_representation_of_a_document() -> None:
    text = json.dumps(
        {
            "bearer": [ENTRY],
            "basic": [{"name": "a", "username": "a", "scrypt": hashed("x")}],
            "jwt": [{**ISSUER, "algorithms": ["HS256"], "secret": SECRET}],
        }
    )
    document = AccessDocument.read(text)

    shown = (
        f"{document!r} {document} {[each.trusted() for each in document.jwt]!r} {document.basic[0].login()!r}"
    )
    assert SECRET not in shown
    assert repr(bytes.fromhex(HASH)) not in shown
    assert "salt" not in shown
