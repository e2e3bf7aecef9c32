"""JSON read with positions. Strict (RFC 8259), bounded in depth and in size."""

import re
from dataclasses import dataclass, field

from a2a_agents.iac.review.nodes import Entry, Listing, Mapping, Node, Scalar, Value
from a2a_agents.iac.review.reading import MOST_DEPTH, MOST_NODES, Unreadable
from a2a_agents.iac.review.source import Source, Span

SPACE = re.compile(r"[ \t\r\n]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,99})(\.[0-9]{1,99})?([eE][+-]?[0-9]{1,9})?")
STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"')
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
WORDS: dict[str, Value] = {"true": True, "false": False, "null": None}


def read_json(source: Source) -> Node:
    """The tree of a JSON text.

    Raises:
        Unreadable: it is none, or larger or deeper than is read.
    """
    reader = _Reader(source)
    node = reader.value(0)
    reader.space()
    if reader.at < len(source.text):
        raise reader.unreadable("there is something after the end of the JSON")
    return node


@dataclass
class _Reader:
    source: Source
    at: int = 0
    nodes: int = field(default=0)

    def unreadable(self, why: str) -> Unreadable:
        return Unreadable(why, Span(self.source, min(self.at, len(self.source.text)), self.at))

    def space(self) -> None:
        found = SPACE.match(self.source.text, self.at)
        self.at = found.end() if found else self.at

    def value(self, depth: int) -> Node:
        self.space()
        self.nodes += 1
        if self.nodes > MOST_NODES or depth > MOST_DEPTH:
            raise self.unreadable("it is larger or more deeply nested than is read")
        first = self.source.text[self.at : self.at + 1]
        if first == "{":
            return self.mapping(depth)
        if first == "[":
            return self.listing(depth)
        if first == '"':
            return self.string()
        return self.plain()

    def plain(self) -> Scalar:
        start = self.at
        for word, value in WORDS.items():
            if self.source.text.startswith(word, start):
                self.at += len(word)
                return Scalar(Span(self.source, start, self.at), value)
        number = NUMBER.match(self.source.text, start)
        if number is None:
            raise self.unreadable("a value was expected here")
        self.at = number.end()
        text = number.group()
        value = float(text) if number.group(1) or number.group(2) else int(text)
        return Scalar(Span(self.source, start, self.at), value)

    def string(self) -> Scalar:
        found = STRING.match(self.source.text, self.at)
        if found is None:
            raise self.unreadable("a text in quotes does not end, or holds what JSON does not allow")
        start, self.at = self.at, found.end()
        value = ESCAPE.sub(_unescaped, found.group(1))
        # Halves of a surrogate pair become the character they are, and what is half of none becomes a mark.
        whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return Scalar(Span(self.source, start, self.at), whole, quoted=True)

    def listing(self, depth: int) -> Listing:
        start = self.at
        self.at += 1
        items: list[Node] = []
        while not self._closed("]", first=not items):
            items.append(self.value(depth + 1))
        return Listing(Span(self.source, start, self.at), tuple(items))

    def mapping(self, depth: int) -> Mapping:
        start = self.at
        self.at += 1
        entries: list[Entry] = []
        while not self._closed("}", first=not entries):
            if self.source.text[self.at : self.at + 1] != '"':
                raise self.unreadable("a key in quotes was expected here")
            key = self.string()
            self.space()
            if self.source.text[self.at : self.at + 1] != ":":
                raise self.unreadable("a colon was expected here")
            self.at += 1
            entries.append(Entry(key, self.value(depth + 1)))
        return Mapping(Span(self.source, start, self.at), tuple(entries), flow=True)

    def _closed(self, bracket: str, *, first: bool) -> bool:
        """Go past the closing bracket, or to the next member."""
        self.space()
        here = self.source.text[self.at : self.at + 1]
        if here == bracket:
            self.at += 1
            return True
        if first:
            return False
        if here != ",":
            raise self.unreadable(f"a comma or {bracket} was expected here")
        self.at += 1
        self.space()
        if self.source.text[self.at : self.at + 1] == bracket:
            raise self.unreadable("nothing follows the comma")
        return False


def _unescaped(found: re.Match[str]) -> str:
    if found.group(1):
        return chr(int(found.group(1), 16))
    return ESCAPED.get(found.group(2), found.group(2))
