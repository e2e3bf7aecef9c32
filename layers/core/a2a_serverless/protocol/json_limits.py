"""How much JSON a request may be: looked at before it is parsed, so that nothing hostile costs much.

Parsing, and reading what was parsed, takes as long as there are values, whatever their size: four megabytes
may be one file or two million lists. Counting them takes one look for most requests, since what does not even
hold so many brackets and commas, those within strings included, cannot break a limit. Knows no operation.
"""

import re
from typing import Any

from a2a_serverless.protocol.errors import JSONParseError
from a2a_serverless.protocol.protojson import parse_json

MAX_NESTING = 128
"""Levels of a request's JSON: room for a value of a hundred (`scalars.MAX_DEPTH`) wherever it may stand."""

MAX_VALUES = 50_000
"""Elements and members in all. Tables larger than that travel as a file."""

TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+|[\[\]{},]', re.DOTALL)
"""A string, or what surrounds and parts values. Never goes back, so it is linear whatever it is shown."""


def parse_request(body: bytes) -> Any:  # noqa: ANN401  JSON is any of six types
    """Parse the JSON of a request.

    Raises:
        JSONParseError: it is none, or more than is taken; which limit it exceeds is said.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise JSONParseError("The JSON is not UTF-8") from None
    opened = text.count("[") + text.count("{")
    if opened > MAX_NESTING or opened + text.count(",") > MAX_VALUES:
        _count(text)
    return parse_json(text)


def _count(text: str) -> None:
    """Raise JSONParseError where there is too much. What is no JSON at all may pass: parsing will tell."""
    depth = values = strings = 0
    for token in TOKEN.finditer(text):
        match text[token.start()]:
            case "[" | "{":
                depth += 1
                values += 1
            case "]" | "}":
                depth -= 1
            case ",":
                values += 1
            case _:
                strings += 1
        if depth < 0:
            return
        if depth > MAX_NESTING:
            raise JSONParseError(f"The JSON is nested more than {MAX_NESTING} levels deep")
        # A member has a name and a value, so there are no more than two strings to each.
        if values > MAX_VALUES or strings > 2 * MAX_VALUES:
            raise JSONParseError(f"The JSON has more than {MAX_VALUES} values")
