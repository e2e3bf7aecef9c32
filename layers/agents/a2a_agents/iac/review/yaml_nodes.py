"""YAML read with positions, CloudFormation's and ROS's short tags in their long form. Bounded.

PyYAML composes; nothing is constructed, so no tag makes an object. Aliases are repeated in the tree, and what
they stand for counts: a bomb is refused before it goes off.
"""

import re
from collections.abc import Mapping as Map
from typing import Final

import yaml

from a2a_agents.iac.review.nodes import Entry, Listing, Mapping, Node, Scalar, Value
from a2a_agents.iac.review.reading import MOST_DEPTH, MOST_NODES, Unreadable
from a2a_agents.iac.review.source import Source, Span

TAG = "tag:yaml.org,2002:"
MERGE: Final = "<<"

INTEGER = re.compile(r"[+-]?[0-9][0-9_]{0,99}")
WORDS: Map[str, bool] = {
    word: value
    for value, words in ((True, ("true", "yes", "on")), (False, ("false", "no", "off")))
    for each in words
    for word in (each, each.capitalize(), each.upper())
}
BARE_TAGS = ("Ref", "Condition")
"""Short tags whose long form has no `Fn::`."""


def read_yaml(source: Source) -> Node:
    """The tree of a YAML text.

    Raises:
        Unreadable: it is none, holds several documents, or is larger or deeper than is read.
    """
    try:
        loader = _Loader(source.text)
        try:
            composed = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark and error.context_mark and mark.index >= len(source.text.rstrip()):
            mark = error.context_mark  # what has no end is pointed to where it begins
        at = mark.index if mark else 0
        raise Unreadable(_why(error), Span(source, at, at)) from None
    except yaml.YAMLError as error:
        at = getattr(error, "position", 0)
        raise Unreadable("a character stands here that YAML does not allow", Span(source, at, at)) from None
    if composed is None:
        raise Unreadable("there is nothing in it", Span(source, 0, 0))
    return _Converter(source).node(composed, 0)


def _why(error: yaml.MarkedYAMLError) -> str:
    """PyYAML's words, without the text they quote."""
    return "; ".join(
        re.sub(r"'[^']{9,}'|\"[^\"]{9,}\"", "a text", each) for each in (error.context, error.problem) if each
    )


class _Loader(yaml.SafeLoader):
    """Composes with a limit on depth: PyYAML's own recursion knows none."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            mark = self.get_mark()
            raise yaml.composer.ComposerError(None, None, "it is more deeply nested than is read", mark)
        try:
            composed: yaml.Node | None = super().compose_node(parent, index)
        finally:
            self.depth -= 1
        return composed


class _Converter:
    """Composed nodes → ours."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._nodes = 0
        self._open: set[int] = set()

    def node(self, composed: yaml.Node, depth: int) -> Node:
        self._nodes += 1
        at = self._span(composed)
        if self._nodes > MOST_NODES or depth > MOST_DEPTH:
            raise Unreadable("it is larger or more deeply nested than is read, aliases counted", at)
        if id(composed) in self._open:
            raise Unreadable("an alias stands inside of what it names", at)
        self._open.add(id(composed))
        try:
            return self._tagged(composed, self._plain(composed, depth), at)
        finally:
            self._open.discard(id(composed))

    def _span(self, composed: yaml.Node) -> Span:
        start, end = composed.start_mark.index, composed.end_mark.index
        if isinstance(composed, yaml.CollectionNode) and not composed.flow_style:
            # A block collection ends where the next token begins; its own text ends before.
            end = start + len(self._source.text[start:end].rstrip())
        return Span(self._source, start, max(start, end))

    def _plain(self, composed: yaml.Node, depth: int) -> Node:
        at = self._span(composed)
        if isinstance(composed, yaml.MappingNode):
            return Mapping(at, tuple(self._entries(composed, depth)), flow=bool(composed.flow_style))
        if isinstance(composed, yaml.SequenceNode):
            return Listing(at, tuple(self.node(item, depth + 1) for item in composed.value))
        quoted = getattr(composed, "style", None) is not None
        return Scalar(at, composed.value if quoted else _value(composed), quoted=quoted)

    def _entries(self, composed: yaml.MappingNode, depth: int) -> list[Entry]:
        own: list[Entry] = []
        merged: list[Entry] = []
        for key, value in composed.value:
            if not isinstance(key, yaml.ScalarNode):
                raise Unreadable("a key is a text, and this is none", self._span(key))
            read = self.node(value, depth + 1)
            if key.value == MERGE and key.style is None:
                given = read.items if isinstance(read, Listing) else (read,)
                for each in given:
                    merged.extend(each.entries if isinstance(each, Mapping) else ())
            else:
                own.append(Entry(Scalar(self._span(key), key.value, quoted=key.style is not None), read))
        names = {entry.name for entry in own}
        for entry in merged:
            if entry.name not in names:
                names.add(entry.name)
                own.append(entry)
        return own

    @staticmethod
    def _tagged(composed: yaml.Node, read: Node, at: Span) -> Node:
        tag = composed.tag or ""
        if not tag.startswith("!") or len(tag) == 1:
            return read
        name = tag[1:]
        key = name if name in BARE_TAGS or "::" in name else f"Fn::{name}"
        if name == "GetAtt" and isinstance(read, Scalar):
            text = str(read.value)
            resource, _, attribute = text.partition(".")
            read = Listing(read.at, (Scalar(read.at, resource), Scalar(read.at, attribute)))
        return Mapping(at, (Entry(Scalar(Span(at.source, at.start, at.start), key), read),), flow=True)


def _value(composed: yaml.Node) -> Value:
    """What a plain scalar means (YAML 1.1 as these languages read it); what is unsure stays text."""
    text = str(composed.value)
    if composed.tag == f"{TAG}null":
        return None
    if composed.tag == f"{TAG}bool":
        return WORDS.get(text, text)
    if composed.tag == f"{TAG}int" and INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    return text
