"""A Terraform module: the files of one directory, read together as Terraform does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from a2a_agents.iac.review.blocks import Block, HclFile
from a2a_agents.iac.review.findings import Kind
from a2a_agents.iac.review.nodes import Entry, Expression, Mapping, Scalar, walk
from a2a_agents.iac.review.resources import Resource
from a2a_agents.iac.review.source import Span


@dataclass(frozen=True, eq=False)
class Module:
    """One directory's `.tf` files.

    `complete` says that all of its files could be read: only then is a name that is declared nowhere missing.
    `variables_given` are the names that its `.tfvars` files set, and where.
    """

    directory: str
    files: Sequence[HclFile]
    complete: bool = True
    variables_given: Sequence[Entry] = ()

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Every block at the top of a file."""
        return tuple(block for file in self.files for block in file.blocks)

    def of_type(self, type_: str, labels: int) -> Iterator[Block]:
        """The blocks of a type with so many labels."""
        return (block for block in self.blocks if block.type == type_ and len(block.labels) == labels)

    @cached_property
    def variables(self) -> dict[str, Block]:
        """Variables by name."""
        return {block.labels[0]: block for block in self.of_type("variable", 1)}

    @cached_property
    def locals(self) -> dict[str, Entry]:
        """Local values by name."""
        return {entry.name: entry for block in self.of_type("locals", 0) for entry in block.body.entries}

    @cached_property
    def calls(self) -> dict[str, Block]:
        """Calls of other modules by name."""
        return {block.labels[0]: block for block in self.of_type("module", 1)}

    @cached_property
    def known(self) -> dict[str, Scalar]:
        """What variables and local values are where nobody says otherwise, as `var.name` and `local.name`."""
        defaults = ((f"var.{name}", block.body.get("default")) for name, block in self.variables.items())
        values = ((f"local.{name}", entry.value) for name, entry in self.locals.items())
        return {name: value for name, value in (*defaults, *values) if isinstance(value, Scalar)}

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """Resources, in the order of the files."""
        return tuple(self._resource(block) for block in self.of_type("resource", 2))

    @cached_property
    def data(self) -> tuple[Resource, ...]:
        """Data sources."""
        return tuple(self._resource(block) for block in self.of_type("data", 2))

    def _resource(self, block: Block) -> Resource:
        type_, name = block.labels
        return Resource(Kind.TERRAFORM, type_, name, block.head, block.body, block.body, self.known)

    @cached_property
    def bound(self) -> frozenset[str]:
        """Names that a loop or a dynamic block gives a meaning of its own."""
        return frozenset(name for file in self.files for name in file.bound)

    @cached_property
    def references(self) -> tuple[Expression, ...]:
        """Every reference with more than one step, such as `var.size`, but to what was or is to be."""
        here = (block for block in self.blocks if block.type not in ELSEWHEN)
        return tuple(each for block in here for each in references(block.body))


ELSEWHEN = ("import", "moved", "removed")
"""Blocks that name what is no longer, or not yet, declared."""


def references(body: Mapping) -> Iterator[Expression]:
    """The references in a body and below it."""
    for node in walk(body):
        if isinstance(node, Expression) and len(node.names) > 1:
            yield node


def whole_line(block: Block) -> Span:
    """The lines of a block, with an empty line that follows it."""
    start, end = block.at.source.line_span(block.at.start, block.at.end)
    text = block.at.source.text
    if text[end : end + 1] == "\n":
        end += 1
    elif text[end : end + 2] == "\r\n":
        end += 2
    return Span(block.at.source, start, end)


def string(scalar: Scalar | None) -> str | None:
    """The text of a scalar that is one."""
    return scalar.value if scalar is not None and isinstance(scalar.value, str) else None
