"""Which agent is called and as whom: flags, environment, files, routes, and what is never shown to whom."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.unit.cli.caller import URL, Caller, card

OTHER = "https://other.example"
ROOT = Path(__file__).parents[3]


def shown(caller: Caller, *names: str) -> dict[str, str | None]:
    """The headers of the last request to the agent."""
    headers = caller.paper.asked[-1].headers
    return {name: headers.get(name) for name in names}


def write(text: str, place: str = "a2a-serverless.toml") -> None:
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    Path(place).write_text(text, encoding="utf-8")


def test_a_flag_counts_more_than_the_environment_and_that_more_than_files(caller: Caller) -> None:
    write(f'url = "{URL}"\ntoken = "here"')
    write(f'url = "{URL}"\ntoken = "own"\ntimeout = 60', "own/a2a-serverless/config.toml")

    for arguments, environment, token in (
        (("--token", "typed"), {"A2A_TOKEN": "set"}, "typed"),
        ((), {"A2A_TOKEN": "set"}, "set"),
        ((), {}, "here"),
    ):
        assert caller.run("call", "Hello", *arguments, environment=environment).exit_code == 0
        assert shown(caller, "Authorization") == {"Authorization": f"Bearer {token}"}
    Path("a2a-serverless.toml").unlink()
    caller.run("call", "Hello")
    assert shown(caller, "Authorization") == {"Authorization": "Bearer own"}


def test_an_address_that_is_typed_counts_more_than_the_environment_and_files(caller: Caller) -> None:
    write('url = "https://configured.example"')

    caller.run("call", "https://typed.example", "x", environment={"A2A_URL": "https://set.example"})
    caller.run("call", "x", environment={"A2A_URL": "https://set.example"})
    caller.run("call", "x")

    assert [request.url.host for request in caller.paper.cards_asked] == [
        "typed.example",
        "set.example",
        "configured.example",
    ]


def test_credentials_of_a_file_are_shown_to_its_own_address_only(caller: Caller) -> None:
    write(f'url = "{URL}"\ntoken = "hunter2"\nheaders = {{ X-Team = "hunter3" }}')
    caller.paper.card = card(url=OTHER)

    ended = caller.run("call", OTHER, "Hello")

    assert ended.exit_code == 0
    assert shown(caller, "Authorization", "X-Team") == {"Authorization": None, "X-Team": None}


def test_credentials_are_not_shown_where_a_card_leads_to(caller: Caller) -> None:
    caller.paper.card = card(url=OTHER)

    ended = caller.run("call", URL, "Hello", "--token", "hunter2")
    allowed = caller.run("call", URL, "Hello", "--token", "hunter2", "--credential-origin", OTHER)

    assert (ended.exit_code, allowed.exit_code) == (1, 0)
    assert "--credential-origin" in ended.stderr
    assert [request.url.host for request in caller.paper.asked] == ["other.example"]


def test_a_credential_without_an_address_beside_it_is_refused(caller: Caller) -> None:
    write('token = "hunter2"')

    ended = caller.run("call", URL, "Hello")

    assert (ended.exit_code, ended.stdout) == (2, "")
    assert (
        ended.stderr
        == "error: a2a-serverless.toml: token needs a url beside it, the only one it is shown to\n"
    )


def test_several_credentials_go_together(caller: Caller) -> None:
    caller.run(
        *("call", URL, "Hello", "--basic-username", "me", "--basic-password", "hunter2"),
        *("--api-key", "k-1234", "--api-key-header", "X-Key", "--header", "X-Team: a:b"),
    )

    assert shown(caller, "Authorization", "X-Key", "X-Team") == {
        "Authorization": "Basic bWU6aHVudGVyMg==",
        "X-Key": "k-1234",
        "X-Team": "a:b",
    }
    caller.run("call", URL, "Hello", "--api-key", "k-1234")
    assert shown(caller, "X-API-Key") == {"X-API-Key": "k-1234"}


def test_a_secret_is_read_from_a_file_or_a_variable(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-a-file\n")

    caller.run("call", URL, "Hello", "--token", "@token")
    assert shown(caller, "Authorization") == {"Authorization": "Bearer from-a-file"}
    caller.run("call", URL, "Hello", "--token", "env:MINE", environment={"MINE": "from-a-variable"})
    assert shown(caller, "Authorization") == {"Authorization": "Bearer from-a-variable"}
    caller.run("call", URL, "Hello", environment={"A2A_TOKEN": "@as-it-is"})
    assert shown(caller, "Authorization") == {"Authorization": "Bearer @as-it-is"}


@pytest.mark.parametrize("option", ["--token", "--basic-password", "--api-key"])
@pytest.mark.parametrize("given", ["@hunter2", "env:HUNTER2"])
def test_a_secret_that_is_not_there_is_not_repeated(caller: Caller, option: str, given: str) -> None:
    ended = caller.run("call", URL, "Hello", option, given)

    assert (ended.exit_code, ended.stderr) == (3, f"error: {option}: what it names cannot be read\n")


def test_who_calls_is_said_by_one_source_alone(caller: Caller) -> None:
    named = ("--basic-username", "me", "--basic-password", "hunter2")

    assert caller.run("call", URL, "Hello", *named, environment={"A2A_TOKEN": "t"}).exit_code == 0
    assert str(shown(caller, "Authorization")["Authorization"]).startswith("Basic ")
    both = caller.run("call", URL, "Hello", *named, "--token", "t")
    assert (both.exit_code, both.stderr) == (
        2,
        "error: the command line has both a token and a name with a password\n",
    )


def test_no_secret_shows_whatever_an_agent_makes_of_it(caller: Caller) -> None:
    secrets = ("hunter2-token", "hunter2-key", "hunter2-header")

    def repeating(request: httpx.Request) -> httpx.Response:
        name = json.loads(request.content)["id"]
        text = " ".join(request.headers.get(each, "") for each in ("Authorization", "X-API-Key", "X-Team"))
        error = {"code": -32603, "message": f"I was told {text}"}
        return httpx.Response(200, json={"jsonrpc": "2.0", "id": name, "error": error})

    caller.answers(repeating)
    ended = caller.run(
        *("call", URL, "Hello", "-v", "--token", secrets[0], "--api-key", secrets[1]),
        *("--header", f"X-Team: {secrets[2]}"),
    )

    assert ended.exit_code == 1
    assert "I was told Bearer [secret] [secret] [secret]" in ended.stderr
    assert not any(secret in ended.output for secret in secrets)


def test_it_says_which_agent_is_called_and_why_where_that_is_wanted(caller: Caller) -> None:
    write(f'url = "{URL}"\ntoken = "hunter2"')

    ended = caller.run("call", "Hello", "--verbose")

    assert ended.stderr.splitlines()[:3] == [
        f"agent {URL} (a2a-serverless.toml)",
        f"card of Paper from {URL}/.well-known/agent-card.json",
        f"JSONRPC 1.0 at {URL}/",
    ]


def test_a_variable_is_put_in_and_one_that_is_missing_is_named(caller: Caller) -> None:
    write(f'url = "{URL}"\ntoken = "${{MINE}}-$${{MINE}}"')

    caller.run("call", "Hello", environment={"MINE": "mine"})
    assert shown(caller, "Authorization") == {"Authorization": "Bearer mine-${MINE}"}
    ended = caller.run("call", "Hello", environment={"MINE": None})  # type: ignore[dict-item]
    assert (ended.exit_code, ended.stderr) == (
        2,
        "error: a2a-serverless.toml: token needs the variable MINE, which is not set\n",
    )


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ('tokn = "hunter2"', "unknown key tokn", "did you mean token?"),
        ('colour = "hunter2"', "unknown key colour", "known are url, "),
        ("token = 2", "token must be a text", ""),
        ('timeout = "hunter2"', "timeout must be a number", ""),
        ("timeout = true", "timeout must be a number", ""),
        ("timeout = 0", "timeout must be a number above zero", ""),
        ("timeout = nan", "timeout must be a number above zero", ""),
        ('require-signature = "false"', "require-signature must be true or false", ""),
        ('jwks = "hunter2"', "jwks must be a list of texts", ""),
        ("headers = { a = 1 }", "headers must be a table of texts", ""),
        ('api_key = "a"\napi-key = "b"', "api_key is there twice", ""),
        ("token = hunter2", "is no TOML: line 1, column 9", ""),
        ('routes = ["hunter2"]', "routes are written as [[routes]], each a table", ""),
        ('[[routes]]\nurl = "https://a.example"', "route 1: name is missing", ""),
        ('[[routes]]\nname = "a"\nskill = "b"', "route 1: unknown key skill", "did you mean skills?"),
    ],
)
def test_a_file_that_makes_no_sense_is_named_with_what_is_wrong_and_no_value(
    caller: Caller, text: str, words: str, hint: str
) -> None:
    write(text)

    ended = caller.run("call", URL, "Hello")

    assert ended.exit_code == 2
    first, *second = ended.stderr.splitlines()
    assert first.startswith("error: a2a-serverless.toml")
    assert words in first
    assert [line.startswith(f"hint: {hint}") for line in second] == ([True] if hint else [])
    assert "hunter2" not in ended.stderr


def test_a_file_may_be_chosen_and_must_then_be_there(caller: Caller) -> None:
    write('url = "https://here.example"')
    write(f'url = "{URL}"', "elsewhere.toml")

    caller.run("call", "Hello", "--config", "elsewhere.toml")
    assert [request.url.host for request in caller.paper.cards_asked] == ["agent.example"]
    ended = caller.run("call", "Hello", environment={"A2A_CONFIG": "nowhere.toml"})
    assert (ended.exit_code, ended.stderr) == (
        3,
        "error: nowhere.toml cannot be read: No such file or directory\n",
    )


def test_a_route_is_taken_by_its_name_its_skill_or_the_words(caller: Caller) -> None:
    write(
        '[[routes]]\nname = "orders"\nurl = "https://orders.example"\nskills = ["order_investigation"]\n'
        'token = "for-orders"\n[[routes]]\nname = "stacks"\nurl = "https://stacks.example"\ntags = ["ros"]'
    )
    caller.paper.card = card(url="https://orders.example")

    for arguments in (
        ("Hello", "--route-name", "orders"),
        ("Hello", "--skill", "order_investigation"),
        ("Where are my orders?",),
    ):
        assert caller.run("call", *arguments).exit_code == 0
        assert shown(caller, "Authorization") == {"Authorization": "Bearer for-orders"}
    hosts = {request.url.host for request in caller.paper.cards_asked}
    assert hosts == {"orders.example"}


@pytest.mark.parametrize(
    ("arguments", "exit_status", "error", "hint"),
    [
        (
            ("Hello", "--route-name", "order"),
            3,
            "no route has the name order",
            "known routes: orders, stacks",
        ),
        (("Hello",), 3, "no route is known by the words of the message", "known routes: orders, stacks"),
        (("orders and stacks",), 2, "several routes are meant by the words orders, stacks", "candidates: "),
        (("Hello", "--route", "orders"), 2, "--route: a route is written as", ""),
    ],
)
def test_where_no_route_is_meant_for_sure_the_candidates_are_named(
    caller: Caller, arguments: tuple[str, ...], exit_status: int, error: str, hint: str
) -> None:
    routes = ("--route", "orders=https://orders.example", "--route", "stacks=https://stacks.example")

    ended = caller.run("call", *routes, *arguments)

    assert ended.exit_code == exit_status
    lines = ended.stderr.splitlines()
    assert lines[0].startswith(f"error: {error}")
    assert [line.startswith(f"hint: {hint}") for line in lines[1:]] == ([True] if hint else [])
    assert caller.paper.cards_asked == []


def test_a_tenant_is_the_cards_unless_another_is_said(caller: Caller) -> None:
    interface = {"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "acme"}
    caller.paper.card = card(interface)

    caller.run("call", URL, "Hello")
    assert caller.paper.params()["tenant"] == "acme"
    caller.run("call", URL, "Hello", environment={"A2A_TENANT": "other"})
    assert caller.paper.params()["tenant"] == "other"


def test_extensions_of_ours_are_opted_into_where_a_card_announces_them(caller: Caller) -> None:
    tools, foreign = "urn:a2a-serverless:tools:v1", "https://example.com/ext/v1"
    announced = [{"uri": tools}, {"uri": foreign}]
    caller.paper.card = card(capabilities={"streaming": True, "extensions": announced})

    caller.run("call", URL, "Hello")

    assert shown(caller, "A2A-Extensions") == {"A2A-Extensions": tools}
    caller.run("call", URL, "Hello", "--extension", foreign, "--extension", tools)
    assert shown(caller, "A2A-Extensions") == {"A2A-Extensions": f"{tools}, {foreign}"}


WITHOUT = """
import json, sys
import httpx
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jwt", "cryptography"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Without())
from a2a_serverless.cli.main import app
from tests.unit.cli.caller import Paper, COMPLETED
app(sys.argv[1:], obj=Paper([COMPLETED]), prog_name="a2a-serverless")
"""


def test_agents_are_called_without_what_verifies_signatures(tmp_path: Path) -> None:
    def ended(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", WITHOUT, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'layers' / 'core'}:{ROOT}"},
            capture_output=True,
            text=True,
            check=False,
        )

    called, verified = ended("call", URL, "Hello"), ended("discover", URL, "--trust-jku", "a.example")

    assert (called.returncode, called.stdout) == (0, "Approved. Reserve SKU-RED-42.\n"), called.stderr
    assert (verified.returncode, verified.stdout) == (1, "")
    assert verified.stderr.endswith("is not installed: pip install 'a2a-serverless[cli,signing]'\n")
