"""What a template says, as a tree that knows where each piece of it stands.

One shape for JSON, YAML and Terraform, so that a rule about a resource need not know which of them it was
written in. Immutable; a tree, never a graph.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from a2a_agents.iac.review.source import Span

Value = str | int | float | bool | None


@dataclass(frozen=True, eq=False)
class Scalar:
    """A value known as it stands. `quoted` says that it stood in quotes, or as a block of text."""

    at: Span
    value: Value
    quoted: bool = False


@dataclass(frozen=True, eq=False)
class Listing:
    """Several values in order."""

    at: Span
    items: tuple["Node", ...]


@dataclass(frozen=True, eq=False)
class Entry:
    """A key and its value."""

    key: Scalar
    value: "Node"

    @property
    def name(self) -> str:
        """The key as text."""
        return str(self.key.value)


@dataclass(frozen=True, eq=False)
class Mapping:
    """Values by key, in order; one key may come twice. `flow` says that it stands in braces."""

    at: Span
    entries: tuple[Entry, ...]
    flow: bool = False

    @cached_property
    def _by_name(self) -> dict[str, Entry]:
        return {entry.name: entry for entry in self.entries}

    def entry(self, name: str) -> Entry | None:
        """The last entry of a name."""
        return self._by_name.get(name)

    def get(self, name: str) -> "Node | None":
        """The value under a name."""
        found = self._by_name.get(name)
        return None if found is None else found.value

    def all(self, name: str) -> Iterator["Node"]:
        """Every value under a name: Terraform repeats blocks."""
        return (entry.value for entry in self.entries if entry.name == name)


@dataclass(frozen=True, eq=False)
class Expression:
    """A value that is known only when the template runs: Terraform's references, calls, and texts with them.

    `function` names the function of a call, `names` are the steps of a reference such as `var.size`, `parts`
    are what it is made of: arguments, indexes, the pieces of a text.
    """

    at: Span
    parts: tuple["Node", ...] = ()
    function: str | None = None
    names: tuple[str, ...] = ()


Node = Scalar | Listing | Mapping | Expression


def children(node: Node) -> Iterator[Node]:
    """What a node is made of, without keys."""
    if isinstance(node, Mapping):
        yield from (entry.value for entry in node.entries)
    elif isinstance(node, Listing):
        yield from node.items
    elif isinstance(node, Expression):
        yield from node.parts


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(list(children(current))))


def at_path(node: Node | None, *path: str) -> Iterator[Node]:
    """The values at a path of names: through lists, and through both branches of an `Fn::If`."""
    if node is None:
        return
    if isinstance(node, Listing):
        for item in node.items:
            yield from at_path(item, *path)
        return
    if isinstance(node, Mapping):
        branches = node.get("Fn::If")
        if isinstance(branches, Listing) and len(node.entries) == 1:
            for branch in branches.items[1:]:
                yield from at_path(branch, *path)
            return
    if not path:
        yield node
    elif isinstance(node, Mapping):
        for value in node.all(path[0]):
            yield from at_path(value, *path[1:])


def scalar_at(node: Node | None, *path: str) -> Scalar | None:
    """The one scalar at a path, if there is one."""
    found = [each for each in at_path(node, *path) if isinstance(each, Scalar)]
    return found[0] if len(found) == 1 else None


def is_true(node: Node | None) -> bool:
    """Whether a value is known to be true, however that is written."""
    return isinstance(node, Scalar) and str(node.value).lower() in ("true", "yes", "on", "enabled")


def is_false(node: Node | None) -> bool:
    """Whether a value is known to be false."""
    return isinstance(node, Scalar) and str(node.value).lower() in ("false", "no", "off", "disabled")
