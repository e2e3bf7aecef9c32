"""A resource, whatever language it is declared in."""

from collections.abc import Mapping as Map
from dataclasses import dataclass, field

from a2a_agents.iac.review.findings import Kind
from a2a_agents.iac.review.nodes import Expression, Mapping, Node, Scalar, at_path
from a2a_agents.iac.review.source import Span


@dataclass(frozen=True, eq=False)
class Resource:
    """One resource of a template.

    Attributes:
        properties: what its type takes. In Terraform, the block's body.
        whole: with what the language takes beside them: DeletionPolicy, DependsOn. In Terraform, the same.
        at: where its name stands.
        defaults: what parameters, variables and local values are where nobody says otherwise.
    """

    kind: Kind
    type: str
    name: str
    at: Span
    properties: Mapping
    whole: Mapping
    defaults: Map[str, Scalar] = field(default_factory=dict)

    def known(self, node: Node | None) -> Scalar | None:
        """The value of a node, if it is known: as it stands, or as the default of what it refers to."""
        if isinstance(node, Scalar):
            return node
        if isinstance(node, Mapping) and len(node.entries) == 1 and node.entries[0].name == "Ref":
            name = node.entries[0].value
            return self.defaults.get(str(name.value)) if isinstance(name, Scalar) else None
        if isinstance(node, Expression) and len(node.names) == 2 and not node.parts:  # noqa: PLR2004  var.name
            return self.defaults.get(".".join(node.names))
        return None

    def text(self, *path: str) -> str | None:
        """The known value at a path of the properties, as text; None where there is none, or several."""
        found = [self.known(node) for node in at_path(self.properties, *path)]
        return str(found[0].value) if len(found) == 1 and found[0] is not None else None

    def given(self, *path: str) -> bool:
        """Whether there is a value at a path of the properties, known or not."""
        return any(not (isinstance(n, Scalar) and n.value is None) for n in at_path(self.properties, *path))

    @property
    def called(self) -> str:
        """What it is called in a message."""
        return f"{self.type}.{self.name}" if self.kind is Kind.TERRAFORM else f"{self.name} ({self.type})"
