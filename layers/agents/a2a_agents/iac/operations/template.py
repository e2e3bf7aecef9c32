"""A ROS template as far as running it goes: what it declares and makes, which outputs would tell a secret.

ROS itself is the judge of templates; this is what has to be known before it is asked, and of what it must not
be believed blindly. A template that cannot be read here declares nothing.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from a2a_agents.iac.operations.ros import Declared
from a2a_agents.iac.review.json_nodes import read_json
from a2a_agents.iac.review.nodes import Listing, Node, Scalar
from a2a_agents.iac.review.nodes import Mapping as Nodes
from a2a_agents.iac.review.reading import Unreadable
from a2a_agents.iac.review.secret_names import is_secret_name
from a2a_agents.iac.review.source import Source
from a2a_agents.iac.review.yaml_nodes import read_yaml

MOST_BYTES = 524_288
"""Bytes of a template that ROS takes."""

SENSITIVE = re.compile(
    r"^[ \t]*output\s+\"([^\"\n]+)\"\s*\{(?:(?!^[ \t]*\})[^\n]*\n){0,50}?[^\n]*\bsensitive\s*=\s*true",
    re.MULTILINE,
)
"""An output of Terraform that says that it is a secret."""

MOST_STEPS = 20_000
"""Values of an expression that are looked at."""


@dataclass(frozen=True)
class Template:
    """A template's text, under the name of the file that holds it."""

    name: str
    text: str = field(repr=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """What the text says; empty when it cannot be read."""
        try:
            found = _read(self.text)
        except (Unreadable, RecursionError):
            return {}
        return found if isinstance(found, Mapping) else {}

    @property
    def resources(self) -> dict[str, str]:
        """Types of what it makes, by logical id."""
        return {
            name: str(told.get("Type", "")) if isinstance(told, Mapping) else ""
            for name, told in _members(self.content, "Resources")
        }

    @property
    def declared(self) -> dict[str, Declared]:
        """The parameters it declares, by name."""
        return {
            name: Declared(
                name,
                required="Default" not in told,
                no_echo=str(told.get("NoEcho", "")).lower() == "true",
                description=str(told.get("Description", "") or ""),
            )
            for name, told in _members(self.content, "Parameters")
            if isinstance(told, Mapping)
        }

    def secret_outputs(self, secret: frozenset[str]) -> frozenset[str]:
        """The outputs made of these parameters, or of attributes with a secret's name, or sensitive ones."""
        told = {name for name, told in _members(self.content, "Outputs") if _uses(told, secret, self.content)}
        for name, text in _members(self.content, "Workspace"):
            if name.endswith(".tf") and isinstance(text, str):
                told |= {found[1] for found in SENSITIVE.finditer(text)}
        return frozenset(told)


def _read(text: str) -> Any:  # noqa: ANN401  any JSON
    """What a JSON or YAML text says; raises Unreadable, for a bomb too."""
    source = Source("template", text)
    if text.lstrip().startswith("{"):
        try:
            return _plain(read_json(source))
        except Unreadable:
            pass
    return _plain(read_yaml(source))


def _plain(node: Node) -> Any:  # noqa: ANN401  any JSON
    """A tree without its places."""
    if isinstance(node, Nodes):
        return {entry.name: _plain(entry.value) for entry in node.entries}
    if isinstance(node, Listing):
        return [_plain(item) for item in node.items]
    return node.value if isinstance(node, Scalar) else None


def _members(content: Mapping[str, Any], section: str) -> Iterator[tuple[str, Any]]:
    found = content.get(section)
    if isinstance(found, Mapping):
        yield from ((str(name), told) for name, told in found.items())


PLACE = re.compile(r"\$\{([\w:.-]+)\}")


def _uses(expression: object, names: frozenset[str], content: Mapping[str, Any]) -> bool:
    """Whether an expression gives away one of these parameters, or an attribute with a secret's name."""
    waiting, seen = [expression], set[int]()
    for _ in range(MOST_STEPS):
        if not waiting:
            return False
        current = waiting.pop()
        if isinstance(current, str):
            if current in names or any(
                place in names or _is_secret(place.rpartition(".")[2]) for place in PLACE.findall(current)
            ):
                return True
        elif isinstance(current, Mapping | list) and id(current) not in seen:
            seen.add(id(current))
            waiting += current.values() if isinstance(current, Mapping) else current
            if isinstance(current, Mapping):
                if _gets_secret(current.get("Fn::GetAtt")):
                    return True
                waiting += [told for name, told in _members(content, "Locals") if name == current.get("Ref")]
    return True


def _gets_secret(target: object) -> bool:
    """Whether `Fn::GetAtt` gets an attribute that is a secret by its name."""
    steps = target.split(".") if isinstance(target, str) else target
    return isinstance(steps, list) and any(_is_secret(str(step)) for step in steps[1:])


def _is_secret(attribute: str) -> bool:
    """Whether an attribute is a secret; what databases call their connection string is an address."""
    return is_secret_name(attribute) and not attribute.endswith("ConnectionString")
