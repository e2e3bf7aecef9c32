"""What ROS and CloudFormation templates say of themselves: names, shapes, parameters, circles."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from a2a_agents.iac.review.checks.cycles import circles
from a2a_agents.iac.review.documents import Document
from a2a_agents.iac.review.findings import Edit, Finding
from a2a_agents.iac.review.nodes import Entry, Listing, Mapping, Scalar, walk
from a2a_agents.iac.review.references import Refers
from a2a_agents.iac.review.rules import (
    BAD_DEFAULT,
    CYCLE,
    DUPLICATE,
    SHAPE,
    UNDECLARED,
    UNTYPED,
    UNUSED_NAME,
    UNUSED_PARAMETER,
)
from a2a_agents.iac.review.source import Span

SAM: Final = "AWS::Serverless-2016-10-31"
KNOWN_TRANSFORMS: Final = (SAM, "AWS::SecretsManager", "AWS::CodeDeployBlueGreen", "AWS::Include")
"""Transforms that declare no names of their own, but for SAM, see `_made_by_sam`."""

MAPPINGS_ONLY: Final = ("Parameters", "Resources", "Outputs", "Conditions", "Mappings", "Metadata")


def duplicates(document: Document) -> Iterator[Finding]:
    """Keys that come twice in one mapping."""
    for node in walk(document.root):
        seen: set[str] = set()
        for entry in node.entries if isinstance(node, Mapping) else ():
            if entry.name in seen:
                yield Finding(DUPLICATE, entry.key.at, f"The key {entry.name} is given twice here.")
            seen.add(entry.name)


def shapes(document: Document) -> Iterator[Finding]:
    """Sections and resources that are not what they must be."""
    for name in MAPPINGS_ONLY:
        entry = document.root.entry(name)
        if entry and not isinstance(entry.value, Mapping):
            yield Finding(SHAPE, entry.key.at, f"The section {name} is no mapping of names.")
    if document.root.entry("Resources") is None and not document.wraps_terraform:
        start = Span(document.source, document.root.at.start, document.root.at.start)
        yield Finding(SHAPE, start, "The template has no section Resources.")
    for entry in document.section("Resources").entries:
        whole = entry.value
        if entry.name.startswith("Fn::"):
            continue
        if not isinstance(whole, Mapping):
            yield Finding(SHAPE, entry.key.at, f"The resource {entry.name} is no mapping.")
        elif whole.entry("Type") is None:
            yield Finding(SHAPE, entry.key.at, f"The resource {entry.name} has no Type.")
        elif whole.entry("Properties") and not isinstance(whole.get("Properties"), (Mapping, Listing)):
            yield Finding(SHAPE, entry.key.at, f"The Properties of the resource {entry.name} are no mapping.")


def undeclared(document: Document) -> Iterator[Finding]:
    """References to what is declared nowhere."""
    if document.wraps_terraform or not _names_are_known(document):
        return
    declared = {entry.name for entry in document.section("Resources").entries}
    parameters = set(document.parameters)
    values = {*declared, *parameters, *_names(document, "Locals")}
    conditions = set(_names(document, "Conditions"))
    rules = set(_names(document, "Rules"))
    mappings = set(_names(document, "Mappings"))
    for reference in document.references:
        name = reference.name
        if reference.by is Refers.CONDITION:
            found = name in conditions or name in rules
        elif reference.by is Refers.FIND_IN_MAP:
            found = name in mappings
        elif reference.by in (Refers.GET_ATT, Refers.DEPENDS_ON):
            found = name in declared or name in values or _made_by_sam(document, name)
        else:
            found = name in values or "::" in name or _made_by_sam(document, name)
        if not found:
            yield Finding(
                UNDECLARED, reference.at, f"{reference.by} refers to {name}, which is declared nowhere."
            )


def _names(document: Document, section: str) -> Iterator[str]:
    return (entry.name for entry in document.section(section).entries)


def _names_are_known(document: Document) -> bool:
    """Whether all names are in the template itself: no macro and no loop makes others."""
    if any(name not in KNOWN_TRANSFORMS for name in document.transforms):
        return False
    declared = document.section("Resources").entries
    included = any(entry.name.startswith("Fn::") for entry in (*declared, *document.root.entries))
    types = (entry.value.get("Type") for entry in declared if isinstance(entry.value, Mapping))
    made = any(type_ is not None and not isinstance(type_, Scalar) for type_ in types)
    return not (included or made or document.root.entry("Modules") or "Fn::Transform" in document.source.text)


def _made_by_sam(document: Document, name: str) -> bool:
    """Whether SAM makes a resource of this name out of one that is declared."""
    if SAM not in document.transforms:
        return False
    if name.startswith(("ServerlessRestApi", "ServerlessHttpApi", "ServerlessDeploymentApplication")):
        return True
    return any(
        name.startswith(resource.name) for resource in document.resources if "Serverless" in resource.type
    )


def unused(document: Document) -> Iterator[Finding]:
    """Parameters, conditions and mappings that nobody refers to."""
    if document.wraps_terraform or not _names_are_known(document):
        return
    used = {reference.name for reference in document.references}
    used |= _named_in_texts(document)
    for name, entry in document.parameters.items():
        if name not in used and not name.startswith("Fn::"):
            edits = _without(document, "Parameters", entry)
            yield Finding(UNUSED_PARAMETER, entry.key.at, f"The parameter {name} is never used.", edits)
    for section in ("Conditions", "Mappings"):
        for entry in document.section(section).entries:
            if entry.name not in used and not entry.name.startswith("Fn::"):
                what = section.removesuffix("s").lower()
                yield Finding(UNUSED_NAME, entry.key.at, f"The {what} {entry.name} is never used.")


WORD: Final = re.compile(r"\$\{\s*([A-Za-z0-9]+)")


def _named_in_texts(document: Document) -> set[str]:
    """Names that stand as `${Name}` in any text: ROS fills them in associations, macros elsewhere."""
    return {found.group(1) for found in WORD.finditer(document.source.text)}


def _without(document: Document, section: str, entry: Entry) -> tuple[Edit, ...]:
    """The template without an entry of a section; nothing where that is not plain.

    Not where the name is mentioned elsewhere, such as in the groups of an interface, nor where the section
    would be left empty.
    """
    mapping = document.section(section)
    mentions = re.findall(rf"\b{re.escape(entry.name)}\b", document.source.text)
    if len(mentions) > 1 or len(mapping.entries) == 1:
        return ()
    if mapping.flow:
        return _without_in_braces(mapping, entry)
    start, end = entry.key.at.source.line_span(entry.key.at.start, entry.value.at.end)
    lead = document.source.text[start : entry.key.at.start]
    return (Edit(Span(document.source, start, end), ""),) if not lead.strip() else ()


def _without_in_braces(mapping: Mapping, entry: Entry) -> tuple[Edit, ...]:
    """From the end of the entry before to this one's; of the first, up to the beginning of the next."""
    entries = mapping.entries
    place = entries.index(entry)
    if place == 0:
        at = Span(mapping.at.source, entry.key.at.start, entries[1].key.at.start)
    else:
        at = Span(mapping.at.source, entries[place - 1].value.at.end, entry.value.at.end)
    return (Edit(at, ""),)


def cycles(document: Document) -> Iterator[Finding]:
    """Resources that need each other in a circle."""
    needs = {
        resource.name: [each.name for each in document.references_of(resource.name)]
        for resource in document.resources
    }
    at = {resource.name: resource.at for resource in document.resources}
    for circle in circles(needs):
        names = " → ".join((*circle, circle[0])) if len(circle) > 1 else f"{circle[0]} → itself"
        yield Finding(CYCLE, at[circle[0]], f"These resources need each other in a circle: {names}.")


def parameters(document: Document) -> Iterator[Finding]:
    """Parameters without a type, and defaults that are not allowed."""
    for name, entry in document.parameters.items():
        if name.startswith("Fn::"):
            continue
        described = entry.value
        if not isinstance(described, Mapping):
            yield Finding(SHAPE, entry.key.at, f"The parameter {name} is no mapping.")
        elif described.entry("Type") is None:
            yield Finding(UNTYPED, entry.key.at, f"The parameter {name} has no Type.")
        else:
            yield from _default(name, described)


def _default(name: str, described: Mapping) -> Iterator[Finding]:
    default, allowed = described.get("Default"), described.get("AllowedValues")
    if not isinstance(default, Scalar):
        return
    if default.value is None or default.value == "":
        return
    type_ = described.get("Type")
    number = isinstance(type_, Scalar) and type_.value == "Number"
    if number and not re.fullmatch(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", str(default.value)):
        yield Finding(BAD_DEFAULT, default.at, f"The default of the parameter {name} is no number.")
        return
    several = isinstance(type_, Scalar) and str(type_.value).startswith(("List", "CommaDelimited", "Json"))
    if isinstance(allowed, Listing) and not several:
        values = {str(item.value).lower() for item in allowed.items if isinstance(item, Scalar)}
        plain = all(isinstance(item, Scalar) for item in allowed.items)
        if plain and str(default.value).lower() not in values:
            yield Finding(
                BAD_DEFAULT,
                default.at,
                f"The default of the parameter {name} is not among its AllowedValues.",
            )
    yield from _bounds(name, described, default, number=number)


NUMBER: Final = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?")


def _bounds(name: str, described: Mapping, default: Scalar, *, number: bool) -> Iterator[Finding]:
    size = float(str(default.value)) if number else float(len(str(default.value)))
    least, most = ("MinValue", "MaxValue") if number else ("MinLength", "MaxLength")
    for bound, broken in ((least, size.__lt__), (most, size.__gt__)):
        value = described.get(bound)
        text = str(value.value) if isinstance(value, Scalar) else ""
        if NUMBER.fullmatch(text) and broken(float(text)):
            yield Finding(BAD_DEFAULT, default.at, f"The default of the parameter {name} breaks its {bound}.")


CHECKS: Final[Sequence[Callable[[Document], Iterator[Finding]]]] = (
    duplicates,
    shapes,
    undeclared,
    unused,
    cycles,
    parameters,
)
