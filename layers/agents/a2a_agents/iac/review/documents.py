"""A ROS or CloudFormation template: its sections, by name, and who refers to whom."""

from dataclasses import dataclass, field
from functools import cached_property

from a2a_agents.iac.review.findings import Kind
from a2a_agents.iac.review.nodes import Entry, Listing, Mapping, Node, Scalar, scalar_at
from a2a_agents.iac.review.references import Reference, condition, depends_on, references
from a2a_agents.iac.review.resources import Resource
from a2a_agents.iac.review.source import Source, Span

TERRAFORM_TYPES = ("Aliyun::Terraform", "Aliyun::OpenTofu")
"""Transforms of ROS that make the template a wrapping of Terraform files."""


@dataclass(frozen=True, eq=False)
class Document:
    """One template.

    `root` is what it says as a whole. Sections are mappings; one of another shape counts as empty here and is
    found by its own rule.
    """

    kind: Kind
    source: Source
    root: Mapping
    empty: Mapping = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "empty", Mapping(Span(self.source, 0, 0), ()))

    def section(self, name: str) -> Mapping:
        """A section of the template; empty when there is none."""
        found = self.root.get(name)
        return found if isinstance(found, Mapping) else self.empty

    @cached_property
    def parameters(self) -> dict[str, Entry]:
        """Parameters by name."""
        return {entry.name: entry for entry in self.section("Parameters").entries}

    @cached_property
    def known(self) -> dict[str, Scalar]:
        """The defaults of parameters."""
        found = ((name, scalar_at(entry.value, "Default")) for name, entry in self.parameters.items())
        return {name: default for name, default in found if default is not None}

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """Resources in order, without what is none."""
        found = []
        for entry in self.section("Resources").entries:
            whole = entry.value
            type_ = whole.get("Type") if isinstance(whole, Mapping) else None
            if isinstance(whole, Mapping) and isinstance(type_, Scalar):
                properties = whole.get("Properties")
                taken = properties if isinstance(properties, Mapping) else self.empty
                found.append(
                    Resource(self.kind, str(type_.value), entry.name, entry.key.at, taken, whole, self.known)
                )
        return tuple(found)

    @cached_property
    def transforms(self) -> tuple[str, ...]:
        """What changes the template before it is run."""
        value = self.root.get("Transform")
        items = value.items if isinstance(value, Listing) else (value,)
        return tuple(str(item.value) for item in items if isinstance(item, Scalar))

    @property
    def wraps_terraform(self) -> bool:
        """Whether it is a ROS template of the Terraform type."""
        return any(name.startswith(TERRAFORM_TYPES) for name in self.transforms)

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """Every reference, wherever it stands."""
        found = list(references(self.root))
        for entry in (*self.section("Resources").entries, *self.section("Outputs").entries):
            if isinstance(entry.value, Mapping):
                found.extend(depends_on(entry.value))
                found.extend(condition(entry.value))
        return tuple(found)

    def references_of(self, name: str) -> tuple[Reference, ...]:
        """What one resource refers to."""
        whole = self.section("Resources").get(name)
        if not isinstance(whole, Mapping):
            return ()
        return (*references(whole), *depends_on(whole))


def kind_of(root: Node) -> Kind | None:
    """What a JSON or YAML document is a template for; None where it is none."""
    if not isinstance(root, Mapping):
        return None
    if root.entry("ROSTemplateFormatVersion"):
        return Kind.ROS
    if root.entry("AWSTemplateFormatVersion"):
        return Kind.CLOUDFORMATION
    transform = root.get("Transform")
    items = transform.items if isinstance(transform, Listing) else (transform,)
    names = [str(item.value) for item in items if isinstance(item, Scalar)]
    if any(name.startswith("AWS::") for name in names):
        return Kind.CLOUDFORMATION
    if any(name.startswith("Aliyun::") for name in names):
        return Kind.ROS
    return _by_types(root.get("Resources"))


def _by_types(resources: Node | None) -> Kind | None:
    for entry in resources.entries if isinstance(resources, Mapping) else ():
        type_ = entry.value.get("Type") if isinstance(entry.value, Mapping) else None
        if isinstance(type_, Scalar):
            family = str(type_.value).partition("::")[0]
            if family in ("ALIYUN", "DATASOURCE", "MODULE"):
                return Kind.ROS
            if family in ("AWS", "Custom", "Alexa"):
                return Kind.CLOUDFORMATION
    return None
