"""What is shown to an agent of whoever calls; refused is what no header could hold."""

from typing import Any

import httpx

from a2a_serverless.cli.agent_choice import ChosenAgent
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import shown
from a2a_serverless.client import ApiKey, Basic, Bearer, Together
from a2a_serverless.client.authentication import Decorating

DEFAULT_KEY_HEADER = "X-API-Key"

FRAMING = frozenset({"content-length", "transfer-encoding"})
"""Headers that say where a request ends: only whoever sends it knows."""


class GivenHeaders(Decorating):
    """Headers that were given: shown to the agent only, as credentials are."""

    def __init__(self, headers: dict[str, str]) -> None:
        self._headers = headers

    def put(self, request: httpx.Request) -> None:
        request.headers.update(self._headers)


def credentials_of(chosen: ChosenAgent) -> tuple[httpx.Auth | None, list[str]]:
    """What is shown to the agent, and the secrets in it.

    Raises:
        Failure: it contradicts itself, is not whole, or cannot be shown.
    """
    given: list[httpx.Auth] = []
    secrets: list[str] = []
    # Whoever says more closely who calls, says it alone.
    source, token = chosen.among("token", "basic_username", "basic_password")
    username, password = (
        (source.get("basic_username"), source.get("basic_password")) if source else (None, None)
    )
    if token and (username or password):
        raise Failure(Exit.USAGE, f"{_place(source)} has both a token and a name with a password")
    if (username is None) != (password is None):
        raise Failure(Exit.USAGE, f"{_place(source)} needs both a name and a password")
    if username is not None and ":" in username:
        raise Failure(Exit.USAGE, "a name that goes with a password holds no colon")
    if token:
        given.append(Bearer(header_value("token", token)))
        secrets.append(token)
    elif username is not None and password is not None:
        given.append(Basic(username, password))
        secrets.append(password)
    if key := chosen.get("api_key"):
        name = _header_name(chosen.get("api_key_header") or DEFAULT_KEY_HEADER)
        given.append(ApiKey(header_value("key", key), name))
        secrets.append(key)
    if headers := chosen.get("headers"):
        kept = {_header_name(name): header_value(f"header {name}", value) for name, value in headers.items()}
        given.append(GivenHeaders(kept))
        secrets += headers.values()
    return (Together(*given) if len(given) > 1 else given[0] if given else None), secrets


def _place(source: Any) -> str:  # noqa: ANN401  either kind of source
    return str(getattr(source, "place", "the command line"))


def header_value(what: str, value: str) -> str:
    """What goes into a header as it is.

    Raises:
        Failure: none can hold it.
    """
    if not (value.isascii() and value.isprintable() and value == value.strip()):
        raise Failure(Exit.USAGE, f"the {what} has characters that no header can hold")
    return value


def _header_name(name: str) -> str:
    if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
        raise Failure(Exit.USAGE, f"{shown(name)!r} is no name of a header")
    if name.lower() in FRAMING:
        raise Failure(Exit.USAGE, f"the header {name} is not for who calls to give")
    return name
