"""A ROS template as far as running it goes: what it declares and makes, which outputs would tell a secret.

ROS itself is the judge of templates; this is what has to be known before it is asked, and of what it must not
be believed blindly. A template that cannot be read here declares nothing.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml

from a2a_agents.iac.operations.ros import Declared
from a2a_agents.iac.review.secret_names import is_secret_name

MOST_BYTES = 524_288
"""Bytes of a template that ROS takes."""

SENSITIVE = re.compile(
    r"^[ \t]*output\s+\"([^\"\n]+)\"\s*\{(?:(?!^[ \t]*\})[^\n]*\n){0,50}?[^\n]*\bsensitive\s*=\s*true",
    re.MULTILINE,
)
"""An output of Terraform that says that it is a secret."""

MOST_STEPS = 20_000
"""Values of an expression that are looked at."""


class _Loader(yaml.SafeLoader):
    """YAML with the short forms of functions, such as `!Ref`, and nothing that makes objects."""


def _function(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _function)


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
        except (ValueError, yaml.YAMLError, RecursionError):
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
    """JSON, or YAML, which most of JSON is too; its own reader is faster and says what is wrong with it."""
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            pass
    return yaml.load(text, Loader=_Loader)  # noqa: S506  a safe loader


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
