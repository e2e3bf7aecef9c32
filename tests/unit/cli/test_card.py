"""`a2a-serverless card sign|verify` as they are typed: keys that are pinned, verdicts that are told apart."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from a2a.types import AgentCard as OfficialCard
from a2a.utils.signing import create_signature_verifier
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.json_format import ParseDict

from a2a_serverless.adapters.pem_card_key import CURVES
from a2a_serverless.client.trusted_keys import ALGORITHMS
from a2a_serverless.ports.public_keys import thumbprint
from a2a_serverless.protocol.card_signatures import base64url, read_protected_header
from tests.unit.cli.desk import Desk
from tests.unit.client.signing import (
    CARD,
    ED25519,
    KEYS,
    P256,
    P384,
    RSA,
    SECRET,
    jwk,
    pem,
    private_pem,
    signature,
    signed,
)
from tests.unit.client.test_fetching import Place, place

__all__ = ["place"]

FULL = {name: value for name, value in CARD.items() if name != "securityRequirements"}
"""A card of which there is one form."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files lie that commands are given."""
    for name, content in {
        "card.json": json.dumps(FULL).encode(),
        "p256.pem": private_pem(P256),
        "p256.pub": pem(P256),
        "p384.pem": private_pem(P384),
        "rsa.pem": private_pem(RSA),
        "ed.pem": private_pem(ED25519),
        "stranger.pub": pem(ec.generate_private_key(ec.SECP256R1())),
        "secret": SECRET + b"\n",
        "jwks.json": json.dumps({"keys": [jwk("ES256")]}).encode(),
        "signed.json": signed(signature(CARD, P256)),
    }.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sign(desk: Desk, *arguments: str, file: str = "card.json") -> dict[str, Any]:
    result = desk.run("card", "sign", file, *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return dict(json.loads(result.stdout))


def kept(card: Mapping[str, Any], name: str = "made.json") -> str:
    Path(name).write_text(json.dumps(card))
    return name


def headers(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [read_protected_header(each["protected"]) for each in card["signatures"]]


def failed(desk: Desk, *arguments: str) -> tuple[int, str]:
    result = desk.run("card", *arguments)
    assert result.stdout == ""
    return result.exit_code, result.stderr.strip()


def test_a_card_is_printed_as_it_was_with_a_signature(desk: Desk) -> None:
    card = sign(desk, "--key", "p256.pem", "--kid", "key-1", "--jku", "https://a.example/jwks.json")

    assert headers(card) == [
        {"alg": "ES256", "typ": "JOSE", "kid": "key-1", "jku": "https://a.example/jwks.json"}
    ]
    assert {name: card[name] for name in FULL} == FULL


@pytest.mark.parametrize(
    ("file", "algorithm"), [("p256", "ES256"), ("p384", "ES384"), ("ed", "EdDSA"), ("rsa", "RS256")]
)
def test_what_is_signed_verifies_here_and_with_the_official_sdk(
    desk: Desk, file: str, algorithm: str
) -> None:
    card = sign(desk, "--key", f"{file}.pem", "--kid", "key-1")

    assert desk.read("card", "verify", kept(card), "--key", f"key-1={file}.pem")["verdict"] == "valid"
    key = pem(KEYS[algorithm]).decode()
    create_signature_verifier(lambda kid, jku: key, [algorithm])(ParseDict(card, OfficialCard()))


def test_a_pair_on_p256_is_named_by_its_thumbprint_unless_it_is_named(desk: Desk) -> None:
    shown = jwk("ES256")

    assert headers(sign(desk, "--key", "p256.pem"))[0]["kid"] == thumbprint(shown["x"], shown["y"])


@pytest.mark.parametrize("given", ["@secret", "env:CARD_SECRET", SECRET.decode()])
def test_a_secret_is_given_by_a_file_a_variable_or_itself(
    desk: Desk, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARD_SECRET", SECRET.decode())

    card = sign(desk, "--secret", given, "--kid", "default", "--jku", "https://a.example/")

    assert headers(card) == [{"alg": "HS256", "typ": "JOSE", "kid": "default"}]
    assert desk.read("card", "verify", kept(card), "--secret", f"default={given}")["verdict"] == "valid"


def test_a_card_is_signed_by_several_keys_one_after_the_other(desk: Desk) -> None:
    both = sign(
        desk, "--key", "p384.pem", "--kid", "old", file=kept(sign(desk, "--key", "p256.pem", "--kid", "new"))
    )
    again = sign(desk, "--key", "p384.pem", "--kid", "old", file=kept(both))

    assert [header["kid"] for header in headers(again)] == ["new", "old"]
    assert again["signatures"][0] == both["signatures"][0]
    assert again["signatures"][1] != both["signatures"][1]
    for kid, file in (("new", "p256.pem"), ("old", "p384.pem")):
        assert desk.read("card", "verify", kept(again), "--key", f"{kid}={file}")["verdict"] == "valid"


def test_a_card_with_empty_values_is_signed_for_both_readings(desk: Desk) -> None:
    card = sign(desk, "--key", "p256.pem", "--kid", "key-1", file=kept(CARD))

    assert [header["kid"] for header in headers(card)] == ["key-1", "key-1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("card.json",), "give one of --key, --kms-key and --secret"),
        (("card.json", "--key", "a", "--secret", "b"), "give one of --key, --kms-key and --secret"),
        (("card.json", "--secret", "@secret"), "a secret needs --kid, the name by which verifiers know it"),
        (
            ("card.json", "--secret", "hunter2", "--kid", "k"),
            "the secret that signs cards must have 32 bytes or more",
        ),
        (("card.json", "--key", "p384.pem"), "p384.pem: a key that is not on the curve P-256 needs a name"),
        (("card.json", "--key", "secret"), "secret: it is no PEM file of a private key without a password"),
        (
            ("card.json", "--key", "p256.pub"),
            "p256.pub: it is no PEM file of a private key without a password",
        ),
        (("secret", "--key", "p256.pem"), "secret is no agent card: it is not JSON"),
        (("jwks.json", "--key", "p256.pem"), "jwks.json is no agent card: name is required"),
    ],
)
def test_what_cannot_be_signed_is_refused_in_one_line(
    desk: Desk, arguments: tuple[str, ...], words: str
) -> None:
    status, line = failed(desk, "sign", *arguments)

    assert (status, line.startswith(f"error: {words}")) == (2, True), line
    assert "hunter2" not in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("sign", "nothing.json", "--key", "p256.pem"),
            "nothing.json cannot be read: No such file or directory",
        ),
        (
            ("sign", "card.json", "--key", "nothing.pem"),
            "nothing.pem cannot be read: No such file or directory",
        ),
        (("sign", "card.json", "--secret", "env:NOTHING", "--kid", "k"), "there is no variable NOTHING"),
        (("verify", "nothing.json"), "nothing.json cannot be read: No such file or directory"),
    ],
)
def test_what_is_not_there_is_named(desk: Desk, arguments: tuple[str, ...], words: str) -> None:
    assert failed(desk, *arguments) == (3, f"error: {words}")


def test_a_card_without_a_canonical_form_is_refused(desk: Desk) -> None:
    deep: Any = []
    for _ in range(95):
        deep = [deep]
    capabilities = {"extensions": [{"uri": "https://x.example", "params": {"deep": [10**400, deep]}}]}
    Path("deep.json").write_text(json.dumps({**FULL, "capabilities": capabilities}))

    status, line = failed(desk, "sign", "deep.json", "--key", "p256.pem")

    assert status == 2
    assert line.startswith("error: ")


def test_a_signature_that_is_none_stays_where_it_is(desk: Desk) -> None:
    broken = {"protected": "e30", "signature": "AAAA"}

    card = sign(desk, "--key", "p256.pem", file=kept({**FULL, "signatures": [broken]}))

    assert card["signatures"][0] == broken
    assert len(card["signatures"]) == 2


def test_the_group_alone_shows_its_help(desk: Desk) -> None:
    assert desk.run("card").stdout == desk.run("card", "--help").stdout


VERDICTS: dict[str, tuple[bytes, tuple[str, ...], int]] = {
    "valid": (signed(signature(CARD, P256)), ("--key", "key-1=p256.pub"), 0),
    "unsigned": (signed(), ("--key", "key-1=p256.pub"), 10),
    "unknown-key": (signed(signature(CARD, P256)), ("--key", "key-2=p256.pub"), 11),
    "mismatch": (signed(signature(CARD, P256), name="Other"), ("--key", "key-1=p256.pub"), 12),
    "malformed": (b"{}", ("--key", "key-1=p256.pub"), 13),
    "unsupported-algorithm": (
        signed({"protected": base64url(b'{"alg":"none","kid":"key-1"}'), "signature": "AAAA"}),
        ("--key", "key-1=p256.pub"),
        14,
    ),
    "ambiguous": (
        signed(signature(CARD, P256)),
        ("--key", "key-1=p256.pub", "--key", "key-1=stranger.pub"),
        15,
    ),
}


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_a_word_and_a_status_of_its_own(desk: Desk, verdict: str) -> None:
    text, trust, status = VERDICTS[verdict]
    Path("given.json").write_bytes(text)

    assert desk.read("card", "verify", "given.json", *trust, status=status)["verdict"] == verdict
    result = desk.run("card", "verify", "given.json", *trust)
    assert (result.exit_code, result.stderr) == (status, "")
    assert result.stdout.startswith(f"{verdict}: ")


def test_people_are_told_who_signed_what(desk: Desk) -> None:
    Path("two.json").write_bytes(signed(signature(CARD, P384, alg="ES384", kid="old"), signature(CARD, P256)))

    assert desk.run("card", "verify", "two.json", "--key", "key-1=p256.pub").stdout == (
        "valid: Agent 1, signed by key-1\n"
        "  unknown-key: no trusted key is named old (ES384)\n"
        "  valid: signed by key-1 (ES256)\n"
    )


def test_programs_are_told_the_same(desk: Desk) -> None:
    assert desk.read("card", "verify", "signed.json", "--jwks", "jwks.json") == {
        "verdict": "valid",
        "detail": "signed by key-1",
        "card": {"name": "Agent", "version": "1"},
        "signatures": [
            {"verdict": "valid", "detail": "signed by key-1", "kid": "key-1", "alg": "ES256", "jku": None}
        ],
    }


def test_a_card_may_come_by_standard_input(desk: Desk) -> None:
    result = desk.run("card", "verify", "-", "--key", "key-1=p256.pub", given=signed(signature(CARD, P256)))

    assert result.exit_code == 0


def test_what_a_stranger_wrote_does_nothing_to_a_terminal(desk: Desk) -> None:
    Path("evil.json").write_bytes(signed(signature(CARD, P256, kid="\x1b[2J")))

    assert "\x1b" not in desk.run("card", "verify", "evil.json").stdout


def test_a_set_of_ones_own_may_hold_secrets_and_one_that_is_fetched_may_not(desk: Desk, place: Place) -> None:
    keys = json.dumps({"keys": [{"kty": "oct", "kid": "default", "k": base64url(SECRET)}]})
    Path("own.json").write_text(keys)
    place.answer = (200, {}, keys.encode())
    Path("hs.json").write_bytes(signed(signature(CARD, SECRET, alg="HS256", kid="default")))

    assert desk.read("card", "verify", "hs.json", "--jwks", "own.json")["verdict"] == "valid"
    assert desk.read("card", "verify", "hs.json", "--jwks", place.url, status=11)["verdict"] == "unknown-key"


def test_a_card_is_fetched_from_the_agent_whose_address_is_given(desk: Desk, place: Place) -> None:
    place.answer = (200, {}, signed(signature(CARD, P256)))
    at = f"http://{place.host}"

    for given in (at, f"{at}/", f"{at}/prod", f"{at}/elsewhere/card.json"):
        assert desk.read("card", "verify", given, "--key", "key-1=p256.pub")["verdict"] == "valid"

    assert place.asked == [
        "/.well-known/agent-card.json",
        "/.well-known/agent-card.json",
        "/prod/.well-known/agent-card.json",
        "/elsewhere/card.json",
    ]


def test_the_keys_that_a_signature_names_are_fetched_from_hosts_that_are_trusted_and_no_others(
    desk: Desk, place: Place
) -> None:
    Path("jku.json").write_bytes(signed(signature(CARD, P256, jku=place.url)))

    assert desk.read("card", "verify", "jku.json", status=11)["verdict"] == "unknown-key"
    assert (
        desk.read("card", "verify", "jku.json", "--trust-jku", "a.example", status=11)["verdict"]
        == "unknown-key"
    )
    assert place.asked == []
    assert desk.read("card", "verify", "jku.json", "--trust-jku", place.host)["verdict"] == "valid"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--key", "p256.pub"), "it is --key NAME=PEM"),
        (("--secret", "default="), "it is --secret NAME=SECRET"),
        (("--key", "k=secret"), "--key secret: it is no PEM file of a key without a password"),
        (("--secret", "k=hunter2"), "--secret k: a secret has 32 bytes or more"),
        (("--jwks", "secret"), "--jwks secret: it is not JSON"),
        (("--jwks", "card.json"), "--jwks card.json: it is no JWK set"),
    ],
)
def test_trust_that_cannot_be_is_refused_in_one_line(
    desk: Desk, arguments: tuple[str, ...], words: str
) -> None:
    assert failed(desk, "verify", "signed.json", *arguments) == (2, f"error: {words}")


def test_what_is_out_of_reach_is_no_verdict(desk: Desk, place: Place) -> None:
    place.answer = (503, {}, b"")
    Path("jku.json").write_bytes(signed(signature(CARD, P256, jku=place.url)))

    assert failed(desk, "verify", place.url) == (4, f"error: {place.url}: the answer is 503")
    assert failed(desk, "verify", "signed.json", "--jwks", place.url)[0] == 4
    assert failed(desk, "verify", "signed.json", "--jwks", "http://a.example/k") == (
        4,
        "error: --jwks http://a.example/k: keys are fetched by https",
    )
    assert failed(desk, "verify", "jku.json", "--trust-jku", place.host) == (
        4,
        "error: keys that a signature names are out of reach: the answer is 503",
    )


@pytest.fixture
def _without_ciphers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which only `[cli]` is installed."""
    for name in ("cli.card_verifying", "client.trusted_keys", "adapters.pem_card_key"):
        monkeypatch.delitem(sys.modules, f"a2a_serverless.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "jwt.algorithms", None)


@pytest.mark.usefixtures("_without_ciphers")
@pytest.mark.parametrize("arguments", [("sign", "card.json", "--key", "p256.pem"), ("verify", "signed.json")])
def test_where_nothing_reads_keys_it_is_said_what_to_install(desk: Desk, arguments: tuple[str, ...]) -> None:
    status, line = failed(desk, *arguments)

    assert status == 1
    assert line.endswith("is not installed: pip install 'a2a-serverless[cli,signing]'")


def test_every_algorithm_that_signs_also_verifies() -> None:
    assert {*CURVES.values(), "EdDSA", "RS256", "HS256"} <= ALGORITHMS
