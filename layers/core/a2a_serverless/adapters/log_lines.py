"""A line of a log as it is written: JSON, with whatever looks like a credential left out.

The story of a failure needs the texts of exceptions, and those hold what their authors put into them: an
agent its keys, a client library the headers it sent. What is recognised here is cut out before it is
written: values of names that mean secrets, credentials of HTTP, tokens and keys whose form is known, and what
URLs carry behind their path or before their host. A net with holes, as any is: whoever logs must still not
log secrets.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

CUT = "[redacted]"

SECRET_NAME = re.compile(
    r"authorization|cookie|credential|passw|passphrase|private.?key|secret|signature|token(?!s)|api.?key",
    re.IGNORECASE,
)
"""Names of what must not be read. `max_tokens` is a number of words."""

MOST = 32 * 1024
"""Characters of one text; of a longer one beginning and end are written."""

AMONG_NAMES = frozenset({"credentials"})
"""Members of our own lines that have such a name and hold none: the headers that credentials came in."""

_QUOTED = r"""[\[({][^\[\](){}]{0,1000}+[\])}]?|\\+"[^"]*+"|"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?"""
_SEPARATED = r"""[\w.-]{0,40}+\\*["']?\]?\s*+(?:=>|[:=]|,(?=\s*+\\*["']))\s*+(?!\[redacted\])(?-i:b)?"""


def _named(names: str, value: str) -> re.Pattern[str]:
    return re.compile(rf"((?:{names}){_SEPARATED})(?:{_QUOTED}|{value})", re.IGNORECASE)


PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*KEY-----|\Z)", re.DOTALL), CUT),
    (_named("authorization|cookie", r"""[^\r\n"'\[\](){}]++"""), rf"\1{CUT}"),
    (re.compile(r"\b(bearer|basic|digest|negotiate) +[A-Za-z0-9._~+/=:-]{6,}+", re.IGNORECASE), rf"\1 {CUT}"),
    (_named(SECRET_NAME.pattern, r"""[^\s,;&"'\[\](){}]++"""), rf"\1{CUT}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{6,}+\.[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]*+)?"), CUT),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), CUT),
    (re.compile(r"([a-z]://)[^\s/@\"'<>]{1,1000}+@", re.IGNORECASE), rf"\1{CUT}@"),
    (re.compile(r"(https?://[^\s?#\"'<>\\]{1,1000}+)[?#][^\s\"'<>\\]*+", re.IGNORECASE), rf"\1?{CUT}"),
)
"""What is cut out of texts, in this order, and what stands there instead. None looks at a character twice."""


def printed(record: Mapping[str, Any]) -> str:
    """The line of a record."""
    line = json.dumps(_clean(record), separators=(",", ":"), ensure_ascii=False, default=_text)
    return line.encode(errors="backslashreplace").decode()  # half a character would break the log's encoding


def redacted(text: str) -> str:
    """The text without what looks like a credential."""
    if len(text) > MOST:
        text = f"{text[: MOST // 2]} […] {text[-MOST // 2 :]}"
    for pattern, instead in PATTERNS:
        text = pattern.sub(instead, text)
    return text


def _clean(value: object) -> object:
    match value:
        case str():
            return redacted(value)
        case Mapping():
            return {redacted(str(name)): _member(str(name), each) for name, each in value.items()}
        case list() | tuple():
            return [_clean(each) for each in value]
    return value


def _member(name: str, value: object) -> object:
    is_secret = SECRET_NAME.search(name) is not None and name not in AMONG_NAMES
    return CUT if is_secret and value else _clean(value)


def _text(value: object) -> str:
    return redacted(str(value))
