"""What the package of the client offers, and what it loads for whom."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from a2a_serverless import client

TYPES_OF_THE_PROTOCOL = "pydantic"


def test_every_public_name_is_found_where_the_package_says() -> None:
    for name, module in client.MODULES.items():
        found = getattr(client, name)
        assert found is getattr(sys.modules[f"a2a_serverless.client.{module}"], name)


def test_what_is_found_is_what_a_type_checker_is_told() -> None:
    tree = ast.parse(Path(client.__file__).read_text())
    told = {
        name.name: node.module.removeprefix("a2a_serverless.client.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("a2a_serverless.")
        for name in node.names
    }
    assert told == dict(client.MODULES)
    assert client.__all__ == sorted(told)
    assert set(told) <= set(dir(client))


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'conect'"):
        client.conect  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("program", "loads"),
    [
        ("import a2a_serverless.client", False),
        ("from a2a_serverless.client import Bearer, ClientError, Options, Timeouts, connect", False),
        ("from a2a_serverless.client import Client", True),
    ],
)
def test_the_types_of_the_protocol_are_loaded_for_who_calls_and_not_for_who_might(
    program: str,
    loads: bool,  # noqa: FBT001  a case of the table
) -> None:
    shown = f"{program}; import sys; print({TYPES_OF_THE_PROTOCOL!r} in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == str(loads)
