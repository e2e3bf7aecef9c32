"""Cards by the command: what an agent says of itself, to whom, and what is wrong with it."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from a2a_serverless.client.card_rules import Level, findings, of_headers
from tests.unit.cli.caller import URL, Caller, answered, card
from tests.unit.client.signing import CARD, P256, jwk, signature, signed

SKILL = {"id": "a", "name": "A", "description": "Does A", "tags": ["x", "y"], "examples": ["Do A"]}
FULL: dict[str, Any] = {
    **card(
        capabilities={
            "streaming": True,
            "pushNotifications": True,
            "extendedAgentCard": True,
            "extensions": [{"uri": "urn:a2a-serverless:tools:v1", "description": "Tools."}],
        }
    ),
    "skills": [SKILL],
    "provider": {"organization": "Acme", "url": "https://acme.example"},
    "securitySchemes": {
        "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
        "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"}},
        "id": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://idp.example"}},
    },
    "securityRequirements": [{"schemes": {"bearer": {"list": []}}}, {"schemes": {"key": {}, "id": {}}}],
}


def test_a_card_is_told_in_lines(caller: Caller) -> None:
    caller.paper.card = FULL

    ended = caller.run("discover", URL)

    assert (ended.exit_code, ended.stderr) == (0, "")
    assert (
        ended.stdout
        == f"""\
Paper 1.0.0
Answers what it is told to.

by            Acme (https://acme.example)
takes         text/plain
gives         text/plain
can           stream, call webhooks, show callers a card of their own
asks for      bearer (Bearer) or key (a key in the header X-API-Key) and id (OpenID Connect)

Is called at
  JSONRPC 1.0  {URL}/
  HTTP+JSON 1.0  {URL}

Extensions
  urn:a2a-serverless:tools:v1  Tools.

Skill a: A
  Does A
  tags: x, y
  such as: Do A

It is not signed.
"""
    )


def test_programs_get_the_card_as_it_was_received(caller: Caller) -> None:
    caller.paper.card = {**FULL, "more": {"b": 1}}

    assert caller.read("discover", URL) == caller.paper.card


def test_a_card_that_nobody_trusted_has_signed_is_not_printed(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [jwk("ES256")]}))
    text = json.loads(signed(signature(CARD, P256)))
    caller.paper.card = text

    valid = caller.run("discover", URL, "--jwks", "keys.json")
    caller.paper.card = {**text, "name": "Somebody else"}
    changed = caller.run("discover", URL, "--jwks", "keys.json")
    caller.paper.card = {**text, "signatures": []}
    unsigned = caller.run("discover", URL, "--jwks", "keys.json")

    assert (valid.exit_code, changed.exit_code, unsigned.exit_code) == (0, 12, 10)
    assert valid.stdout.splitlines()[-1].startswith("Signed: ")
    assert (changed.stdout, unsigned.stdout) == ("", "")
    assert changed.stderr.startswith("error: the card cannot be trusted: mismatch")


def test_where_there_is_no_card_that_is_said(caller: Caller) -> None:
    async def nothing(_: httpx.Request) -> httpx.Response:
        return httpx.Response(404)

    caller.paper.handle_async_request = nothing  # type: ignore[method-assign]

    ended = caller.run("discover", URL)

    assert (ended.exit_code, ended.stdout) == (4, "")
    assert ended.stderr == (
        f"error: {URL} has no card: there is no card (status 404)\nhint: is an A2A agent there?\n"
    )


def test_a_card_of_ones_own_is_asked_for(caller: Caller) -> None:
    caller.paper.card = FULL
    own = {**FULL, "name": "For you"}
    caller.answers(answered(own))

    assert caller.run("extended-card", URL).stdout.startswith("For you 1.0.0\n")
    assert caller.read("extended-card", URL)["name"] == "For you"


GOOD: dict[str, Any] = {**FULL, "capabilities": {**FULL["capabilities"], "extensions": []}}


def test_a_good_card_has_no_findings() -> None:
    assert findings(GOOD) == []


@pytest.mark.parametrize(
    ("changed", "level", "where", "words"),
    [
        ({"name": ""}, "error", "name", "is required and empty"),
        ({"skills": []}, "error", "skills", "is required and empty"),
        ({"version": None}, "error", "version", "is required and empty"),
        ({"skills": [{**SKILL, "tags": []}]}, "error", "skills[0].tags", "is required and empty"),
        ({"provider": {"url": "https://a.example"}}, "error", "provider.organization", "is required"),
        ({"url": URL}, "warning", "url", "is of version 0.3; in 1.0 it is supportedInterfaces"),
        ({"icon_url": URL}, "error", "icon_url", "is spelled iconUrl in JSON"),
        ({"skils": []}, "warning", "skils", "is skills meant?"),
        (
            {"skills": [{**SKILL, "inputMode": []}]},
            "warning",
            "skills[0].inputMode",
            "is inputModes meant?",
        ),
        ({"skills": [SKILL, SKILL]}, "error", "skills[1].id", "is there twice"),
        ({"skills": [{**SKILL, "examples": []}]}, "warning", "skills[0].examples", "would tell callers"),
        ({"defaultInputModes": ["text"]}, "error", "defaultInputModes[0]", "is no media type"),
        ({"documentationUrl": "docs"}, "warning", "documentationUrl", "is no absolute address"),
        ({"iconUrl": "https://a.example/?token=x"}, "warning", "iconUrl", "has token in its query"),
        (
            {"securityRequirements": [{"schemes": {"other": {}}}]},
            "error",
            "securityRequirements[0].schemes.other",
            "is no scheme",
        ),
        (
            {"securityRequirements": [{"bearer": []}]},
            "error",
            "securityRequirements[0]",
            "is written",
        ),
        ({"securityRequirements": []}, "warning", "securitySchemes.bearer", "is required by nothing"),
        (
            {"securitySchemes": {**FULL["securitySchemes"], "bearer": {"type": "http"}}},
            "error",
            "securitySchemes.bearer",
            "is none of apiKeySecurityScheme",
        ),
        (
            {"securitySchemes": {**FULL["securitySchemes"], "key": {"apiKeySecurityScheme": {"name": "x"}}}},
            "error",
            "securitySchemes.key",
            "location",
        ),
        (
            {"securitySchemes": {}, "securityRequirements": []},
            "error",
            "capabilities.extendedAgentCard",
            "is announced without a scheme",
        ),
        (
            {"capabilities": {"extensions": [{"uri": "tools"}]}},
            "error",
            "capabilities.extensions[0].uri",
            "is no URI",
        ),
        (
            {"capabilities": {"extensions": [{"uri": "urn:a:v1"}, {"uri": "urn:a:v1"}]}},
            "error",
            "capabilities.extensions[1].uri",
            "is there twice",
        ),
        (
            {"capabilities": {"extensions": [{"uri": "urn:a:b"}]}},
            "warning",
            "capabilities.extensions[0].uri",
            "names no version",
        ),
        (
            {"signatures": [{"protected": "%", "signature": "x"}]},
            "error",
            "signatures[0].protected",
            "is no header",
        ),
        (
            {"signatures": [{"protected": "eyJhbGciOiJub25lIn0", "signature": "x"}]},
            "error",
            "signatures[0].protected",
            "is by no algorithm",
        ),
    ],
)
def test_what_breaks_a_rule_is_found_where_it_is(
    changed: dict[str, Any], level: str, where: str, words: str
) -> None:
    found = findings({**GOOD, **changed})

    assert [each.level for each in found if each.where == where and words in each.text] == [Level(level)]


@pytest.mark.parametrize(
    ("changed", "level", "where", "words"),
    [
        ({"url": "http://agent.example"}, "error", "url", "is not https"),
        ({"url": "http://127.0.0.1:8080"}, "warning", "url", "is not https"),
        ({"url": "https://0.0.0.0/"}, "error", "url", "is where a server listens"),
        ({"url": "/a2a"}, "error", "url", "is no absolute address"),
        ({"url": "https://[::1"}, "error", "url", "is no address"),
        ({"url": "https://me:x@agent.example"}, "error", "url", "holds credentials"),
        ({"protocolBinding": "json-rpc"}, "error", "protocolBinding", "is JSONRPC meant?"),
        ({"protocolBinding": "soap"}, "error", "protocolBinding", "is none of"),
        ({"protocolVersion": "1.0.1"}, "error", "protocolVersion", "is not Major.Minor"),
    ],
)
def test_an_interface_that_cannot_be_used_is_found(
    changed: dict[str, str], level: str, where: str, words: str
) -> None:
    interface = {"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0", **changed}

    found = findings({**GOOD, "supportedInterfaces": [interface]})

    at = f"supportedInterfaces[0].{where}"
    assert [each.level for each in found if each.where == at and words in each.text] == [Level(level)]


def test_an_interface_that_is_there_twice_is_found() -> None:
    interface = {"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}

    found = findings({**GOOD, "supportedInterfaces": [interface, interface]})

    assert [each.where for each in found] == ["supportedInterfaces[1]"]


def test_how_a_card_is_served_counts_too() -> None:
    good = {"content-type": "application/json", "cache-control": "public, max-age=60", "etag": '"x"'}

    assert of_headers(good) == []
    assert [each.where for each in of_headers({})] == ["Content-Type", "Cache-Control", "ETag"]


def test_a_card_is_linted_from_a_file(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps(GOOD))
    (tmp_path / "warned.json").write_text(json.dumps({**GOOD, "skils": []}))
    (tmp_path / "bad.json").write_text(json.dumps({**GOOD, "name": "", "skils": [], "iconUrl": 7}))

    good = caller.run("card", "lint", "good.json")
    bad = caller.run("card", "lint", "bad.json")

    assert (good.exit_code, good.stdout) == (0, "good.json: nothing is wrong.\n")
    assert bad.exit_code == 16
    assert bad.stdout.splitlines() == [
        "error: name is required and empty (5.7)",
        "warning: skils is not known; is skills meant? (4.4)",
        "error: iconUrl must be a string (4.4)",
        "bad.json: 2 errors, 1 warning.",
    ]
    assert caller.run("card", "lint", "warned.json").exit_code == 0
    assert caller.run("card", "lint", "warned.json", "--strict").exit_code == 16
    told = json.loads(caller.run("card", "lint", "bad.json", "--json").stdout)
    assert (told["errors"], told["warnings"], told["findings"][0]["section"]) == (2, 1, "5.7")


@pytest.mark.parametrize(("text", "words"), [("{", "is not JSON"), ("[]", "it is no object")])
def test_what_is_no_card_is_not_linted(caller: Caller, text: str, words: str) -> None:
    ended = caller.run("card", "lint", "-", given=text.encode())

    assert (ended.exit_code, ended.stdout) == (13, "")
    assert words in ended.stderr
