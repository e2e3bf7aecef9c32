"""`a2a-serverless card lint`: what is wrong with a card."""

from collections import Counter
from collections.abc import Mapping, Sequence

import httpx

from a2a_serverless.cli.card_places import card_address, is_address
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.given import read_given
from a2a_serverless.cli.output import number, print_json, shown
from a2a_serverless.client.breaking import what_broke
from a2a_serverless.client.card_rules import Finding, Level, findings, of_headers
from a2a_serverless.client.connection import made_by_environment
from a2a_serverless.client.failures import UnreachableError
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.errors import InvalidParamsError, JSONParseError
from a2a_serverless.protocol.protojson import parse_json

MOST_BYTES = 1024 * 1024
SECONDS = 10.0


def lint_card(source: str, *, strict: bool, as_json: bool) -> Exit:
    """Print what is wrong with a card; returns the status that tells whether a rule is broken.

    Raises:
        Failure: there is no card.
    """
    text, headers = _fetched(source) if is_address(source) else (read_given(source), None)
    try:
        card = parse_json(text)
    except JSONParseError as error:
        raise Failure(Exit.MALFORMED, f"{source} is not JSON") from error
    if not isinstance(card, Mapping):
        raise Failure(Exit.MALFORMED, f"{source} is no agent card: it is no object")
    found = [*findings(card), *(of_headers(headers) if headers is not None else ())]
    found += _of_types(card, found)
    if as_json:
        _print_json(card, found)
    else:
        _print(source, found)
    broken = {Level.ERROR, Level.WARNING} if strict else {Level.ERROR}
    return Exit.FAULTY if any(each.level in broken for each in found) else Exit.DONE


def _of_types(card: Mapping[str, object], found: Sequence[Finding]) -> list[Finding]:
    """What the types of a card refuse and no rule has said."""
    said = {each.where for each in found}
    try:
        AgentCard.from_dict(card)
    except InvalidParamsError as error:
        return [
            Finding(Level.ERROR, each.field, each.description, "4.4")
            for each in error.violations
            if each.field not in said
        ]
    return []


def _print(source: str, found: Sequence[Finding]) -> None:
    for each in found:
        print(shown(f"{each.level}: {each.where} {each.text} ({each.section})"))
    counted = Counter(each.level for each in found)
    errors = number(counted[Level.ERROR], "error", "errors")
    warnings = number(counted[Level.WARNING], "warning", "warnings")
    print(shown(f"{source}: {errors}, {warnings}." if found else f"{source}: nothing is wrong."))


def _print_json(card: Mapping[str, object], found: Sequence[Finding]) -> None:
    counted = Counter(each.level for each in found)
    print_json(
        {
            "card": {"name": card.get("name"), "version": card.get("version")},
            "errors": counted[Level.ERROR],
            "warnings": counted[Level.WARNING],
            "findings": [
                {"level": each.level, "where": each.where, "text": each.text, "section": each.section}
                for each in found
            ],
        }
    )


def _fetched(url: str) -> tuple[bytes, dict[str, str]]:
    """The card at an address, or of the agent whose address it is, with its headers."""
    card = card_address(url)
    try:
        with made_by_environment():
            http = httpx.Client(timeout=SECONDS, follow_redirects=False)
        with http, http.stream("GET", card) as answer:
            if answer.status_code != httpx.codes.OK:
                raise Failure(Exit.UNREACHABLE, f"{url}: there is no card (status {answer.status_code})")
            text = b""
            for piece in answer.iter_bytes():
                text += piece
                if len(text) > MOST_BYTES:
                    raise Failure(Exit.MALFORMED, f"{url}: it is longer than a card may be")
            return text, {name.lower(): value for name, value in answer.headers.items()}
    except UnreachableError as error:
        raise Failure(Exit.UNREACHABLE, f"{url}: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Failure(Exit.UNREACHABLE, f"{url}: the connection failed: {what_broke(error)}") from error
