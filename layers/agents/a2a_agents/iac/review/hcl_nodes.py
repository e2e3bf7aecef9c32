"""HCL read with positions: python-hcl2 parses, its tree becomes ours.

The only module that knows python-hcl2. Chains and sums may be longer than Python recurses, so they are gone
through in loops; what is nested is limited.
"""

import re
from collections.abc import Callable, Iterator
from typing import cast

import hcl2
from lark import Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from a2a_agents.iac.review.blocks import Block, HclFile
from a2a_agents.iac.review.hcl_texts import interpolations, literal, on_one_line, unescaped
from a2a_agents.iac.review.nodes import Entry, Expression, Listing, Mapping, Node, Scalar
from a2a_agents.iac.review.reading import MOST_DEPTH, MOST_NODES, Unreadable
from a2a_agents.iac.review.source import Source, Span

Branch = Tree[Token]

CHAIN = ("get_attr_expr_term", "index_expr_term", "attr_splat_expr_term", "full_splat_expr_term")
HEREDOC = re.compile(r"<<(-?)([A-Za-z][\w.-]*)\r?\n((?:.|\n)*?)[ \t]*\2\r?\n?\Z")


def read_hcl(source: Source) -> HclFile:
    """A file's blocks.

    Raises:
        Unreadable: it is not HCL, or larger or deeper than is read.
    """
    try:
        tree = _parsed(source.text, source, 0)
    except Unreadable:
        # python-hcl2 wants an interpolation in a quoted text on one line; Terraform does not.
        flat = on_one_line(source.text)
        if flat == source.text:
            raise
        tree = _parsed(flat, source, 0)
    return _Converter(source).file(tree)


def _parsed(text: str, source: Source, offset: int) -> Branch:
    try:
        tree: Branch = hcl2.parses_to_tree(text)
    except UnexpectedInput as error:
        ends = isinstance(error, UnexpectedToken) and error.token.type == "$END"
        place = len(text.rstrip()) if ends else cast("int | None", error.pos_in_stream) or 0
        at = min(offset + max(place, 0), len(source.text))
        why = "a bracket or a quote is not closed" if ends else "this cannot stand here"
        raise Unreadable(why, Span(source, at, at)) from None
    return tree


class _Converter:
    def __init__(self, source: Source, offset: int = 0) -> None:
        self._source = source
        self._offset = offset
        self._nodes = 0
        self.found = HclFile(source)

    def file(self, tree: Branch) -> HclFile:
        for body in _branches(tree):
            for statement in _branches(body):
                if statement.data == "block":
                    self.found.blocks.append(self._block(statement, 0))
                elif statement.data == "attribute":
                    self.found.attributes.append(self._attribute(statement, 0))
        return self.found

    def _span(self, tree: Branch | Token) -> Span:
        if isinstance(tree, Token):
            start = 0 if tree.start_pos is None else tree.start_pos
            return self._at(start, start + len(tree))
        if tree.meta.empty:
            return self._at(0, 0)
        return self._at(tree.meta.start_pos, tree.meta.end_pos)

    def _at(self, start: int, end: int) -> Span:
        return Span(self._source, start + self._offset, end + self._offset)

    def _block(self, tree: Branch, depth: int) -> Block:
        names = [each for each in _branches(tree) if each.data not in ("body", "new_line_or_comment")]
        labels = tuple(_label(each) for each in names)
        body = next(each for each in _branches(tree) if each.data == "body")
        head = Span(self._source, self._span(names[0]).start, self._span(names[-1]).end)
        whole = self._span(tree)
        inner = Mapping(whole, tuple(self._body(body, depth + 1)))
        return Block(whole, labels[0], labels[1:], head, inner)

    def _body(self, body: Branch, depth: int) -> Iterator[Entry]:
        self._count(body, depth)
        names: set[str] = set()
        for statement in _branches(body):
            if statement.data == "attribute":
                entry = self._attribute(statement, depth)
                if entry.name in names:
                    self.found.twice.append(entry.key)
                names.add(entry.name)
                yield entry
            elif statement.data == "block":
                yield from self._inner(self._block(statement, depth))

    def _inner(self, block: Block) -> Iterator[Entry]:
        """A block inside of one; what a dynamic block makes stands beside it under its own name."""
        key = Scalar(block.head, block.type)
        if block.type != "dynamic" or not block.labels:
            yield Entry(key, block.body)
            return
        iterator = block.body.get("iterator")
        named = iterator.names if isinstance(iterator, Expression) else ()
        self.found.bound.add(named[0] if named else block.labels[0])
        rest = tuple(entry for entry in block.body.entries if entry.name not in ("content", "iterator"))
        yield Entry(key, Mapping(block.at, rest))
        content = block.body.get("content")
        if content is not None:
            yield Entry(Scalar(block.head, block.labels[0]), content)

    def _attribute(self, tree: Branch, depth: int) -> Entry:
        name, value = _branches(tree)
        return Entry(Scalar(self._span(name), _label(name)), self.node(value, depth + 1))

    def _count(self, tree: Branch, depth: int) -> None:
        self._nodes += 1
        if self._nodes > MOST_NODES or depth > MOST_DEPTH:
            raise Unreadable("it is larger or more deeply nested than is read", self._span(tree))

    def node(self, tree: Branch, depth: int) -> Node:
        """An expression's tree → ours."""
        self._count(tree, depth)
        while tree.data == "expr_term":
            tree = next(each for each in _branches(tree) if each.data != "new_line_or_comment")
        read = READERS.get(str(tree.data), _Converter._made_of)
        return read(self, tree, depth)

    def plain(self, tree: Branch, _: int) -> Node:
        if tree.data == "identifier":
            return Expression(self._span(tree), names=(str(tree.children[0]),))
        return Scalar(self._span(tree), literal(str(tree.children[0])))

    def tuple(self, tree: Branch, depth: int) -> Node:
        return Listing(self._span(tree), tuple(self.node(each, depth + 1) for each in _values(tree)))

    def object(self, tree: Branch, depth: int) -> Node:
        return Mapping(self._span(tree), tuple(self._elements(tree, depth)), flow=True)

    def _made_of(self, tree: Branch, depth: int) -> Node:
        """Operators, conditions and loops: what is in them, however long they are."""
        parts: list[Node] = []
        waiting: list[Branch] = [tree]
        while waiting:
            current = waiting.pop()
            if current.data == "for_intro":
                self.found.bound.update(
                    str(e.children[0]) for e in _branches(current) if e.data == "identifier"
                )
                waiting.extend(e for e in _branches(current) if e.data != "identifier")
            elif current is tree or current.data in LOOSE:
                waiting.extend(reversed(list(_branches(current))))
            elif current.data not in ("new_line_or_comment", "binary_operator"):
                parts.append(self.node(current, depth + 1))
        at = self._span(tree)
        if tree.data == "unary_op" and len(parts) == 1 and isinstance(parts[0], Scalar):
            value = parts[0].value
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return Scalar(at, -value)
        return Expression(at, tuple(parts))

    def chain(self, tree: Branch, depth: int) -> Node:
        """`a.b[0].c`: the names before anything computed, and what is computed as parts."""
        whole = self._span(tree)
        steps: list[Branch] = []
        while tree.data in (*CHAIN, "expr_term"):
            first, *rest = [each for each in _branches(tree) if each.data != "new_line_or_comment"]
            steps.extend(reversed(rest))
            tree = first
        base = self.node(tree, depth + 1)
        names = list(base.names) if isinstance(base, Expression) else []
        parts = list(base.parts) if isinstance(base, Expression) and names else [base] if not names else []
        plain = bool(names)
        for step in reversed(steps):
            if step.data == "get_attr" and plain:
                names.append(_label(step))
            elif step.data == "braces_index":
                parts.extend(self.node(each, depth + 1) for each in _values(step))
        return Expression(whole, tuple(parts), names=tuple(names))

    def call(self, tree: Branch, depth: int) -> Expression:
        name, *rest = _branches(tree)
        values = (value for each in rest if each.data == "arguments" for value in _values(each))
        parts = tuple(self.node(value, depth + 1) for value in values)
        return Expression(self._span(tree), parts, function=str(name.children[0]))

    def _elements(self, tree: Branch, depth: int) -> Iterator[Entry]:
        names: set[str] = set()
        for element in (each for each in _branches(tree) if each.data == "object_elem"):
            key, value = _branches(element)
            named = self.node(next(_branches(key)), depth + 1) if key.data == "object_elem_key" else None
            at = self._span(key)
            if isinstance(named, Scalar):
                name = str(named.value)
            elif isinstance(named, Expression) and len(named.names) == 1 and not named.parts:
                name = named.names[0]
            else:
                name = at.text
            entry = Entry(Scalar(at, name), self.node(value, depth + 1))
            if name in names:
                self.found.twice.append(entry.key)
            names.add(name)
            yield entry
            if isinstance(named, Expression) and at.text.startswith("("):
                yield Entry(Scalar(at, f"({name})"), named)

    def string(self, tree: Branch, depth: int) -> Node:
        at = self._span(tree)
        if tree.data == "template_string":
            return Scalar(at, str(tree.children[0]), quoted=True)
        pieces: list[Node] = []
        for part in _branches(tree):
            inner = part.children[0]
            if isinstance(inner, Token):
                pieces.append(Scalar(self._span(inner), unescaped(str(inner)), quoted=True))
            elif inner.data in ("interpolation", "template_if_start", "template_for_start"):
                pieces.append(self._made_of(inner, depth))
        if all(isinstance(piece, Scalar) for piece in pieces):
            return Scalar(at, "".join(str(p.value) for p in pieces if isinstance(p, Scalar)), quoted=True)
        return Expression(at, tuple(pieces))

    def heredoc(self, tree: Branch, depth: int) -> Node:
        at = self._span(tree)
        found = HEREDOC.match(at.text)
        if found is None:
            return Expression(at)
        start = at.start + found.start(3)
        body = Span(self._source, start, start + len(found.group(3)))
        pieces: list[Node] = []
        for is_text, begins, ends in interpolations(body.text):
            if is_text:
                piece = Span(self._source, start + begins, start + ends)
                pieces.append(Scalar(piece, unescaped(piece.text, heredoc=True), quoted=True))
            else:
                pieces.append(self._interpolation(start + begins, start + ends, depth))
        if all(isinstance(piece, Scalar) for piece in pieces):
            return Scalar(body, "".join(str(p.value) for p in pieces if isinstance(p, Scalar)), quoted=True)
        return Expression(body, tuple(pieces))

    def _interpolation(self, start: int, end: int, depth: int) -> Node:
        """What stands in `${…}` of a heredoc, which the grammar takes as one piece."""
        prefix = "x="
        text = f"{prefix}({self._source.text[start:end].strip('~')})"
        offset = start - len(prefix) - 1
        try:
            tree = _parsed(text, self._source, offset)
        except Unreadable:
            return Expression(Span(self._source, start, end))
        inside = _Converter(self._source, offset)
        inside.found = self.found
        inside._nodes = self._nodes
        statement = next(_branches(next(_branches(tree))))
        return inside.node(list(_branches(statement))[1], depth + 1)


READERS: dict[str, Callable[[_Converter, Branch, int], Node]] = {
    "int_lit": _Converter.plain,
    "float_lit": _Converter.plain,
    "literal_value": _Converter.plain,
    "identifier": _Converter.plain,
    "string": _Converter.string,
    "template_string": _Converter.string,
    "heredoc_template": _Converter.heredoc,
    "heredoc_template_trim": _Converter.heredoc,
    "tuple": _Converter.tuple,
    "object": _Converter.object,
    "function_call": _Converter.call,
    **dict.fromkeys(CHAIN, _Converter.chain),
}
"""How the kinds of expressions are read; every other is made of these."""

LOOSE = frozenset(
    {
        "interpolation",
        "template_if_start",
        "template_for_start",
        "binary_op",
        "binary_term",
        "conditional",
        "unary_op",
        "for_tuple_expr",
        "for_object_expr",
        "for_cond",
        "object_elem_key",
    }
)
"""Parts of the grammar that hold expressions and are none."""


def _branches(tree: Branch) -> Iterator[Branch]:
    return (each for each in tree.children if isinstance(each, Tree))


def _values(tree: Branch) -> Iterator[Branch]:
    return (each for each in _branches(tree) if each.data != "new_line_or_comment")


def _label(tree: Branch) -> str:
    """The text of a name: an identifier, a keyword, or a text in quotes."""
    tokens = [str(token) for token in tree.scan_values(lambda each: isinstance(each, Token))]
    if tree.data == "string":
        return "".join(tokens[1:-1])
    return tokens[-1] if tokens else ""
