"""What Terraform modules say of themselves: names, variables, circles, versions, old ways of writing."""

import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as Map
from pathlib import PurePosixPath
from typing import Final

from a2a_agents.iac.review.blocks import Block
from a2a_agents.iac.review.checks.cycles import circles
from a2a_agents.iac.review.findings import Edit, Finding
from a2a_agents.iac.review.modules import Module, references, string, whole_line
from a2a_agents.iac.review.nodes import Expression, Mapping, Scalar, scalar_at, walk
from a2a_agents.iac.review.rules import (
    CYCLE,
    DUPLICATE,
    MISSING_INPUT,
    OLD_SYNTAX,
    SHAPE,
    UNDECLARED,
    UNPINNED,
    UNTYPED,
    UNUSED_NAME,
    UNUSED_PARAMETER,
)
from a2a_agents.iac.review.source import Span

LABELS: Final[Map[str, int]] = {
    "resource": 2,
    "data": 2,
    "ephemeral": 2,
    "variable": 1,
    "output": 1,
    "module": 1,
    "provider": 1,
    "check": 1,
    "locals": 0,
    "terraform": 0,
    "moved": 0,
    "import": 0,
    "removed": 0,
}
"""Blocks that may stand at the top of a file, and how many labels they have."""

UNIQUE: Final = ("resource", "data", "variable", "output", "module")
META: Final = ("source", "version", "providers", "count", "for_each", "depends_on")
"""What a module block says that is no variable."""


def duplicates(module: Module) -> Iterator[Finding]:
    """Attributes and names that come twice."""
    for file in module.files:
        for key in file.twice:
            yield Finding(DUPLICATE, key.at, f"{key.value} is given twice here.")
    seen: dict[tuple[str, ...], Block] = {}
    for block in module.blocks:
        name = (block.type, *block.labels)
        if block.type in UNIQUE and name in seen and not _overrides(block):
            other = seen[name].head
            where = f"{other.source.name}, line {other.line}"
            yield Finding(DUPLICATE, block.head, f"{' '.join(name)} is declared already in {where}.")
        seen.setdefault(name, block)


def _overrides(block: Block) -> bool:
    """Whether the block's file is one that replaces parts of others."""
    stem = PurePosixPath(block.head.source.name).stem
    return stem == "override" or stem.endswith("_override")


def shapes(module: Module) -> Iterator[Finding]:
    """Blocks that are not what they must be."""
    for block in module.blocks:
        if block.type not in LABELS:
            yield Finding(SHAPE, block.head, f"Terraform knows no block {block.type}.")
        elif len(block.labels) != LABELS[block.type]:
            wanted = LABELS[block.type]
            yield Finding(
                SHAPE, block.head, f"A {block.type} block has {wanted} labels, not {len(block.labels)}."
            )
    for file in module.files:
        for entry in file.attributes:
            yield Finding(SHAPE, entry.key.at, f"{entry.name} stands outside of a block.")


def undeclared(module: Module) -> Iterator[Finding]:
    """References to what is declared nowhere in the module."""
    if not module.complete:
        return
    seen: set[tuple[str, int]] = set()
    for reference in module.references:
        missing = _missing(module, reference.names)
        place = (reference.at.source.name, reference.at.start)
        if missing and place not in seen:
            seen.add(place)
            yield Finding(UNDECLARED, reference.at, f"{missing} is declared in none of the module's files.")


RESOURCE_TYPE: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")


def _missing(module: Module, names: tuple[str, ...]) -> str | None:
    """What a reference wants and is not there."""
    first, second, *rest = names
    declared = {"var": {*module.variables}, "local": {*module.locals}, "module": {*module.calls}}
    if first in declared:
        return None if second in declared[first] else f"{first}.{second}"
    if first == "data":
        known = not rest or any((each.type, each.name) == (second, rest[0]) for each in module.data)
        return None if known else f"data.{second}.{rest[0]}"
    if first in module.bound or not RESOURCE_TYPE.fullmatch(first):
        return None
    known = any((each.type, each.name) == (first, second) for each in module.resources)
    return None if known else f"{first}.{second}"


def unused(module: Module) -> Iterator[Finding]:
    """Variables, local values and data sources that nobody refers to.

    A data source with conditions, or one that opens a service (`alicloud_…_service`), does something unused.
    """
    if not module.complete:
        return
    used = {reference.names[:2] for reference in module.references}
    for name, block in module.variables.items():
        if ("var", name) not in used and len(module.variables) < len(module.blocks):
            edits = () if _overrides(block) else (Edit(whole_line(block), ""),)
            yield Finding(UNUSED_PARAMETER, block.head, f"The variable {name} is never used.", edits)
    for name, entry in module.locals.items():
        if ("local", name) not in used:
            yield Finding(UNUSED_NAME, entry.key.at, f"The local value {name} is never used.")
    data = {(reference.names[1:3]) for reference in module.references if reference.names[0] == "data"}
    for each in module.data:
        acts = each.whole.entry("lifecycle") is not None or each.type.endswith("_service")
        if (each.type, each.name) not in data and not acts:
            yield Finding(UNUSED_NAME, each.at, f"The data source {each.type}.{each.name} is never used.")


def cycles(module: Module) -> Iterator[Finding]:
    """Resources and local values that need each other in a circle."""
    needs: dict[str, list[str]] = {}
    at: dict[str, Span] = {}
    for resource in module.resources:
        name = f"{resource.type}.{resource.name}"
        needs[name] = [_node(each) for each in references(resource.whole)]
        at[name] = resource.at
    for each in module.data:
        name = f"data.{each.type}.{each.name}"
        needs[name] = [_node(reference) for reference in references(each.whole)]
        at[name] = each.at
    for local, entry in module.locals.items():
        found = (node for node in walk(entry.value) if isinstance(node, Expression) and len(node.names) > 1)
        needs[f"local.{local}"] = [_node(each) for each in found]
        at[f"local.{local}"] = entry.key.at
    for circle in circles(needs):
        names = " → ".join((*circle, circle[0])) if len(circle) > 1 else f"{circle[0]} → itself"
        yield Finding(CYCLE, at[circle[0]], f"These need each other in a circle: {names}.")


def _node(reference: Expression) -> str:
    return ".".join(reference.names[: 3 if reference.names[0] == "data" else 2])


def untyped(module: Module) -> Iterator[Finding]:
    """Variables that do not say of which type they are."""
    for name, block in module.variables.items():
        if block.body.entry("type") is None:
            yield Finding(UNTYPED, block.head, f"The variable {name} has no type.")


def versions(module: Module) -> Iterator[Finding]:
    """Providers and modules whose version is not limited."""
    for block in module.of_type("terraform", 0):
        for required in block.body.all("required_providers"):
            for entry in required.entries if isinstance(required, Mapping) else ():
                version = (
                    scalar_at(entry.value, "version") if isinstance(entry.value, Mapping) else entry.value
                )
                if not isinstance(version, Scalar):
                    yield Finding(UNPINNED, entry.key.at, f"The provider {entry.name} has no version.")
    listed = any(block.body.entry("required_providers") for block in module.of_type("terraform", 0))
    providers = list(module.of_type("provider", 1))
    if providers and not listed:
        name = providers[0].labels[0]
        yield Finding(UNPINNED, providers[0].head, f"The provider {name} is in no required_providers.")
    for block in module.calls.values():
        yield from _module_version(block)


def _module_version(block: Block) -> Iterator[Finding]:
    source = scalar_at(block.body.get("source"))
    text = string(source)
    if source is None or text is None or text.startswith((".", "/")):
        return
    remote = text.startswith(("git", "http", "hg::", "s3::", "gcs::")) or "github.com" in text
    if remote and "ref=" not in text and "rev=" not in text and not re.search(r"v?\d+\.\d+", text):
        yield Finding(
            UNPINNED, source.at, f"The module {block.labels[0]} comes from wherever its source is now."
        )
    elif not remote and block.body.entry("version") is None:
        yield Finding(UNPINNED, block.head, f"The module {block.labels[0]} has no version.")


ONLY_INTERPOLATION: Final = re.compile(r'"\$\{([^"{}]*(?:"[^"{}]*"[^"{}]*)*)\}"')


def old_syntax(module: Module) -> Iterator[Finding]:
    """Texts that are one interpolation and nothing else."""
    for block in module.blocks:
        for node in walk(block.body):
            if isinstance(node, Expression) and not node.names and node.function is None:
                found = ONLY_INTERPOLATION.fullmatch(node.at.text)
                if found:
                    edit = Edit(node.at, found.group(1).strip())
                    plain = bool(found.group(1).strip()) and not found.group(1).startswith("~")
                    message = "A reference alone needs no quotes and no ${…}."
                    yield Finding(OLD_SYNTAX, node.at, message, (edit,) if plain else ())


def given(module: Module) -> Iterator[Finding]:
    """Values in `.tfvars` files for variables that are not there."""
    if not module.complete or not module.variables:
        return
    for entry in module.variables_given:
        if entry.name not in module.variables:
            yield Finding(
                UNDECLARED,
                entry.key.at,
                f"The variable {entry.name} is declared in none of the module's files.",
            )


def calls(module: Module, others: Map[str, Module]) -> Iterator[Finding]:
    """Calls of modules that are among the files: what they lack, and what they give too much."""
    for block in module.calls.values():
        text = string(scalar_at(block.body.get("source")))
        directory = resolved(module.directory, text) if text and text.startswith(".") else None
        called = others.get(directory) if directory is not None else None
        if called is None or not called.complete:
            continue
        name = block.labels[0]
        for variable, declared in called.variables.items():
            if declared.body.entry("default") is None and block.body.entry(variable) is None:
                yield Finding(MISSING_INPUT, block.head, f"The module {name} needs the variable {variable}.")
        for entry in block.body.entries:
            if entry.name not in called.variables and entry.name not in META:
                yield Finding(MISSING_INPUT, entry.key.at, f"The module {name} has no variable {entry.name}.")


def resolved(directory: str, relative: str) -> str | None:
    """The directory that a relative one means; None for one that is outside of what was sent."""
    steps = [step for step in directory.split("/") if step]
    for step in relative.split("/"):
        if step == "..":
            if not steps:
                return None
            steps.pop()
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)


CHECKS: Final[Sequence[Callable[[Module], Iterator[Finding]]]] = (
    duplicates,
    shapes,
    undeclared,
    unused,
    cycles,
    untyped,
    versions,
    old_syntax,
    given,
)
