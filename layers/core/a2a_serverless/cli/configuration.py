"""What is configured: files of settings and routes, as values that say where they came from.

A file is read from the directory one is in, and from one's own configuration; what is nearer counts more.
Keys that are unknown are refused, as what stands there could be a credential that is then not shown. No
message holds a value: it could be one.
"""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import typer

from a2a_serverless.cli.exits import Exit, Failure

HERE: Final = "a2a-serverless.toml"
"""The file in the directory one is in."""

OWN: Final = "config.toml"
"""The file in the directory of one's own configuration."""

VARIABLE: Final = re.compile(r"\$(\$|\{([A-Za-z_][A-Za-z0-9_]*)\})")

TEXT, NUMBER, YES_OR_NO, TEXTS, TABLE = (
    "a text",
    "a number above zero",
    "true or false",
    "a list of texts",
    "a table of texts",
)

AGENT_KEYS: Final[Mapping[str, str]] = {
    "url": TEXT,
    "tenant": TEXT,
    "token": TEXT,
    "basic_username": TEXT,
    "basic_password": TEXT,
    "api_key": TEXT,
    "api_key_header": TEXT,
    "headers": TABLE,
    "jwks": TEXTS,
    "trust_jku": TEXTS,
    "require_signature": YES_OR_NO,
    "extensions": TEXTS,
    "timeout": NUMBER,
}
"""What can be said of an agent, and of which kind it is."""

CREDENTIALS: Final = ("token", "basic_username", "basic_password", "api_key", "headers")
"""Keys that only count for the address that stands beside them."""

ROUTE_KEYS: Final[Mapping[str, str]] = {"name": TEXT, "skills": TEXTS, "tags": TEXTS, **AGENT_KEYS}
"""What can be said of a route: when it is taken, and all that can be said of its agent."""


@dataclass(frozen=True)
class Block:
    """What a file says of one agent. `place` is the file, and where in it."""

    place: str
    values: Mapping[str, Any]
    environ: Mapping[str, str]

    def get(self, key: str) -> Any:  # noqa: ANN401  of the kind that the key has
        """What is said under a key, with variables put in; None when nothing is.

        Raises:
            Failure: a variable is not set.
        """
        return self._expanded(key, self.values.get(key))

    def _expanded(self, key: str, value: Any) -> Any:  # noqa: ANN401  as above
        if isinstance(value, str):
            return VARIABLE.sub(lambda found: self._variable(key, found[2]), value)
        if isinstance(value, list):
            return [self._expanded(key, each) for each in value]
        if isinstance(value, dict):
            return {name: self._expanded(f"{key}.{name}", each) for name, each in value.items()}
        return value

    def _variable(self, key: str, name: str | None) -> str:
        if name is None:
            return "$"
        if name not in self.environ:
            raise Failure(Exit.USAGE, f"{self.place}: {key} needs the variable {name}, which is not set")
        return self.environ[name]


@dataclass(frozen=True)
class Configured:
    """Everything that is configured, what counts more coming first."""

    agents: Sequence[Block] = ()
    routes: Sequence[Block] = ()


def configured(chosen: str | None = None, environ: Mapping[str, str] = os.environ) -> Configured:
    """Read the files there are, or the one that was chosen.

    Raises:
        Failure: a file cannot be read, or says what nobody understands.
    """
    places = [Path(chosen)] if chosen else [Path(HERE), own_directory() / OWN]
    blocks = [read_file(place, environ) for place in places if chosen or place.is_file()]
    agents = [agent for agent, _ in blocks]
    return Configured(agents, [route for _, routes in blocks for route in routes])


def own_directory() -> Path:
    """Where one's own configuration lies."""
    return Path(typer.get_app_dir("a2a-serverless"))


def read_file(place: Path, environ: Mapping[str, str]) -> tuple[Block, list[Block]]:
    """What a file says of an agent, and its routes.

    Raises:
        Failure: it cannot be read, is no TOML, or holds keys or kinds of values that are not known.
    """
    try:
        document = tomllib.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(Exit.NOTHING, f"{place} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Failure(Exit.USAGE, f"{place} is not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        # Its words could quote a value; where it is, is enough.
        at = re.search(r"\(at (line \d+, column \d+|end of document)\)", str(error))
        raise Failure(Exit.USAGE, f"{place} is no TOML: {at[1] if at else 'a value is wrong'}") from error
    routes = document.pop("routes", [])
    if not isinstance(routes, list) or not all(isinstance(route, dict) for route in routes):
        raise Failure(Exit.USAGE, f"{place}: routes are written as [[routes]], each a table")
    agent = Block(str(place), _checked(str(place), document, AGENT_KEYS), environ)
    for key in CREDENTIALS:
        if key in agent.values and "url" not in agent.values:
            raise Failure(Exit.USAGE, f"{place}: {key} needs a url beside it, the only one it is shown to")
    return agent, [_route(f"{place}, route {number}", each, environ) for number, each in enumerate(routes, 1)]


def _route(place: str, given: Mapping[str, Any], environ: Mapping[str, str]) -> Block:
    values = _checked(place, given, ROUTE_KEYS)
    for key in ("name", "url"):
        if key not in values:
            raise Failure(Exit.USAGE, f"{place}: {key} is missing")
    return Block(f"{place} ({values['name']})", values, environ)


def _checked(place: str, given: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    """The values by their keys, spelled with underscores."""
    values: dict[str, Any] = {}
    for written, value in given.items():
        key = written.replace("-", "_")
        if key not in keys:
            raise Failure(Exit.USAGE, f"{place}: unknown key {written}", _known(key, keys))
        if key in values:
            raise Failure(Exit.USAGE, f"{place}: {key} is there twice")
        if not _is(keys[key], value):
            raise Failure(Exit.USAGE, f"{place}: {written} must be {keys[key]}")
        values[key] = value
    return values


def _known(key: str, keys: Mapping[str, str]) -> str:
    similar = get_close_matches(key, keys, 1)
    return f"did you mean {similar[0]}?" if similar else f"known are {', '.join(keys)}"


def _is(kind: str, value: Any) -> bool:  # noqa: ANN401  whatever TOML can hold
    match kind:
        case "a text":
            return isinstance(value, str)
        case "a number above zero":
            return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        case "true or false":
            return isinstance(value, bool)
        case "a list of texts":
            return isinstance(value, list) and all(isinstance(each, str) for each in value)
        case _:
            return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
