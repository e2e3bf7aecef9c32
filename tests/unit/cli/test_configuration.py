"""What a file of configuration may say, key by key."""

import tomllib
from pathlib import Path

from a2a_serverless.cli.configuration import AGENT_KEYS, ROUTE_KEYS, configured, own_directory
from tests.unit.cli.caller import Caller
from tests.unit.cli.pages import DOCUMENT


def test_what_the_documentation_configures_is_understood(caller: Caller, tmp_path: Path) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    example = text.partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "a2a-serverless.toml").write_text(example)

    found = configured(environ={"AGENT_TOKEN": "t", "ORDERS_KEY": "k"})

    written = tomllib.loads(example)
    assert found.agents[0].get("token") == "t"
    assert found.agents[0].get("jwks") == written["jwks"]
    assert [(route.get("name"), route.get("api_key")) for route in found.routes] == [("orders", "k")]


def test_every_key_is_documented() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")

    assert [key for key in ROUTE_KEYS if f"`{key}`" not in text] == []
    assert set(AGENT_KEYS) < set(ROUTE_KEYS)


def test_ones_own_file_lies_where_the_system_keeps_such(caller: Caller, tmp_path: Path) -> None:
    assert own_directory() == tmp_path / "own" / "a2a-serverless"
