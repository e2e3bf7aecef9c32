"""A ROS template as far as running it goes: what it declares and makes, which outputs would tell a secret.

ROS itself is the judge of templates; this is what has to be known before it is asked, and of what it must not
be believed blindly. A template that cannot be read here declares nothing.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml

from a2a_agents.iac.operations.ros import Declared

MOST_BYTES = 524_288
"""Bytes of a template that ROS takes."""

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
        """The outputs made of these parameters, or of parts of the template that cannot be looked through."""
        return frozenset(
            name for name, told in _members(self.content, "Outputs") if _uses(told, secret, self.content)
        )


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


def _uses(expression: object, names: frozenset[str], content: Mapping[str, Any]) -> bool:
    """Whether an expression is made of one of these parameters, itself or by way of a resource or a local."""
    waiting, seen, steps = [expression], set[int](), 0
    looked_up = set[str]()
    while waiting:
        current = waiting.pop()
        steps += 1
        if steps > MOST_STEPS:
            return True
        if isinstance(current, str):
            if current in names or any(f"${{{name}}}" in current for name in names):
                return True
            # A resource made of a secret may give it back: {Fn::GetAtt: [Db, Password]}.
            target = current.partition(".")[0]
            for section in ("Resources", "Locals"):
                members = content.get(section)
                if isinstance(members, Mapping) and target in members and target not in looked_up:
                    looked_up.add(target)
                    waiting.append(members[target])
        elif isinstance(current, Mapping | list) and id(current) not in seen:
            seen.add(id(current))
            waiting.extend(current.values() if isinstance(current, Mapping) else current)
    return False
