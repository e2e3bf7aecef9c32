"""What an agent's tools and models do on the way, told beside its task to callers who activated an extension.

For watching, not for relying on: what is long is cut, what is deep is left out, bodies of artifacts and what
looks like a secret are not repeated, and what happens at once is told together. Nothing here can fail a turn,
and what is not enabled costs nothing. The shapes are told in `operations/README.md`.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeGuard
from uuid import UUID

from pydantic import BaseModel

from a2a_serverless.agent import Thinking, ToolCall, ToolResult, Usage
from a2a_serverless.protocol.extensions import MOST_DEPTH, MOST_SAID, MOST_TEXT, Extension
from a2a_serverless.protocol.scalars import EXACT_INTEGER

MOST_NAME = 256
"""Characters of a name."""

MOST_WRITTEN = 4 * MOST_SAID
"""Bytes of JSON that one update says at most, whatever its characters are written like."""

PACE = 0.25
"""Seconds between two updates that tell something beside the task."""

TOO_DEEP = "[truncated-depth]"
TOO_LONG = "[truncated-size]"
STRIPPED = "[stripped]"
REDACTED = "[redacted]"
UNREADABLE = "[unreadable]"
"""What stands for a value that raises when it is looked at, or that its agent changes meanwhile."""

BODIES = frozenset({"bytes", "base64", "raw"})
ARTIFACTS = frozenset({"artifact", "artifacts"})
BODIES_OF_ARTIFACTS = BODIES | {"content", "data", "text", "path", "parts"}

SECRETS = (
    "password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "accesskeyid",
    "secretkey", "privatekey", "authorization", "credential", "credentials",
)  # fmt: skip
"""How the names of what is not repeated end, in small letters and without hyphens or underscores."""

Aside = ToolCall | ToolResult | Thinking | Usage

EXTENSIONS: Mapping[type[Aside], Extension] = {
    ToolCall: Extension.TOOLS,
    ToolResult: Extension.TOOLS,
    Thinking: Extension.THINKING,
    Usage: Extension.USAGE,
}


class Asides:
    """What was said beside the task and is not told yet; the first is told at once, later ones together."""

    def __init__(
        self, enabled: frozenset[Extension], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._enabled = enabled
        self._monotonic = monotonic
        self._told_at = -math.inf
        self._calls: list[dict[str, Any]] = []
        self._usage: Usage | None = None
        self._thought = ""
        self._size = 0

    def wants(self, update: Aside) -> bool:
        """Whether anybody may be told of it."""
        return any(isinstance(update, kind) and each in self._enabled for kind, each in EXTENSIONS.items())

    def add(self, update: Aside) -> bool:
        """Take it in; False, and nothing taken, when what was said before must be told first."""
        match update:
            case ToolCall() | ToolResult():
                return self._add_call(_call(update))
            case Usage():
                return self._add_usage(update)
            case Thinking(text=text):
                return self._add_thought(text)

    def due_in(self) -> float:
        """Seconds until what was said must be told: 0 or less is now, infinity never."""
        if not self:
            return math.inf
        return self._told_at + PACE - self._monotonic()

    def __bool__(self) -> bool:
        return bool(self._calls or self._usage or self._thought)

    def tell(self) -> dict[str, Any]:
        """What was said since this was asked last, by the URIs of the extensions."""
        told: dict[str, Any] = {}
        if self._calls:
            told[Extension.TOOLS.uri] = {"calls": self._calls}
        if self._usage:
            told[Extension.USAGE.uri] = _counts(self._usage)
        if self._thought:
            told[Extension.THINKING.uri] = _thought(self._thought)
        self._calls, self._usage, self._thought, self._size = [], None, "", 0
        self._told_at = self._monotonic()
        return told

    def _add_call(self, call: dict[str, Any]) -> bool:
        size = len(json.dumps(call))
        if self._calls and self._size + size > MOST_WRITTEN:
            return False
        self._calls.append(call)
        self._size += size
        return True

    def _add_usage(self, usage: Usage) -> bool:
        model = None if usage.model is None else _name(usage.model)
        before = self._usage or Usage(0, 0, model)
        if before.model != model:
            return False
        self._usage = Usage(
            before.input_tokens + _count(usage.input_tokens),
            before.output_tokens + _count(usage.output_tokens),
            model,
        )
        return True

    def _add_thought(self, text: object) -> bool:
        more = _said(text)
        if self._thought and len(self._thought) + len(more) > MOST_TEXT:
            return False
        self._thought += more
        return True


def _count(given: object) -> int:
    return given if isinstance(given, int) and 0 <= given <= EXACT_INTEGER else 0


def _counts(usage: Usage) -> dict[str, Any]:
    counts: dict[str, Any] = {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.input_tokens + usage.output_tokens,
    }
    return {**counts, "model": usage.model} if usage.model else counts


def _thought(text: str) -> dict[str, Any]:
    clip = Clip()
    said: dict[str, Any] = {"text": clip.text(text)}
    return {**said, "truncated": True} if clip.cut else said


def _name(given: object) -> str:
    return _unicode(_said(given)[:MOST_NAME])


def _said(given: object) -> str:
    """What a value says of itself."""
    try:
        return str(given)
    except Exception:  # noqa: BLE001  a deployer's class may raise anything, and that fails no turn
        return UNREADABLE


def _call(update: ToolCall | ToolResult) -> dict[str, Any]:
    """One phase of one call: started, its input complete, completed or failed."""
    clip = Clip()
    said: dict[str, Any] = {"callId": _name(update.call_id), "name": _name(update.name)}
    match update:
        case ToolCall(input=None):
            said["phase"] = "started"
        case ToolCall(input=given):
            said |= {"phase": "input", "input": clip.whole(given)}
        case ToolResult(error=None, output=output):
            said |= {"phase": "completed", "output": clip.whole(output)}
        case ToolResult(error=error):
            said |= {"phase": "failed", "error": clip.text(_said(error))}
    if len(json.dumps(said)) > MOST_WRITTEN:
        clip.cut = True
        said |= {name: TOO_LONG for name in ("input", "output", "error") if name in said}
    return {**said, "truncated": True} if clip.cut else said


class Clip:
    """Cuts values to what an update may say; `cut` tells whether it had to."""

    def __init__(self) -> None:
        self._left = MOST_SAID
        self.cut = False

    def text(self, text: str) -> str:
        """The text, as much of it as fits."""
        most = max(0, min(MOST_TEXT, self._left))
        self.cut = self.cut or len(text) > most
        self._left -= min(len(text), most)
        return _unicode(text[:most])

    def whole(self, value: object) -> object:
        """The value as JSON, or what stands for it."""
        try:
            return self.value(value)
        except Exception:  # noqa: BLE001  as in `_said`
            return UNREADABLE

    def value(self, value: object, depth: int = 0, *, of_artifact: bool = False) -> object:
        """The value as JSON, without what is not to be repeated."""
        self._left -= 4
        if isinstance(value, str | Enum | date | Decimal | UUID | PurePath):
            return self.text(_said(value))
        if isinstance(value, int | float | bytes | bytearray | memoryview | None):
            return _plain(value)
        if _is_dataclass(value):
            value = {each.name: getattr(value, each.name) for each in fields(value)}
        return self._container(value, depth, of_artifact=of_artifact)

    def _container(self, value: object, depth: int, *, of_artifact: bool) -> object:
        if not isinstance(value, Mapping | Sequence | AbstractSet | BaseModel):
            return f"[{_name(type(value).__name__)}]"
        if depth == MOST_DEPTH:
            self.cut = True
            return TOO_DEEP
        if isinstance(value, Mapping | BaseModel):
            named = dict(value).items()
            return dict(self._members(((_said(k), v) for k, v in named), depth, of_artifact=of_artifact))
        return list(self._elements(value, depth, of_artifact=of_artifact))

    def _elements(
        self, values: Sequence[object] | AbstractSet[object], depth: int, *, of_artifact: bool
    ) -> Iterator[object]:
        for value in values:
            if self._left <= 0:
                self.cut = True
                yield TOO_LONG
                return
            yield self.value(value, depth + 1, of_artifact=of_artifact)

    def _members(
        self, members: Iterator[tuple[str, object]], depth: int, *, of_artifact: bool
    ) -> Iterator[tuple[str, object]]:
        bodies = BODIES_OF_ARTIFACTS if of_artifact else BODIES
        for name, value in members:
            if self._left <= 0:
                self.cut = True
                return
            shown = _name(name)
            self._left -= len(shown)
            if isinstance(value, bool | int | float | None):
                yield shown, self.value(value)
            elif name in bodies:
                yield shown, STRIPPED
            elif name.lower().replace("-", "").replace("_", "").endswith(SECRETS):
                yield shown, REDACTED
            else:
                yield shown, self.value(value, depth + 1, of_artifact=of_artifact or name in ARTIFACTS)


def _plain(value: object) -> object:
    if isinstance(value, bytes | bytearray | memoryview):
        return f"[{len(value)} bytes]"
    if isinstance(value, int) and abs(value) > EXACT_INTEGER:
        return f"[{value.bit_length()} bits]"
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _is_dataclass(value: object) -> TypeGuard[Any]:
    return is_dataclass(value) and not isinstance(value, type)


def _unicode(text: str) -> str:
    """The text without lone surrogates, which no JSON of ours may hold."""
    return text if text.isascii() else text.encode(errors="replace").decode()
