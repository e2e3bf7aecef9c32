"""CloudFormation's YAML and its intrinsic functions, as far as this repository's templates use them.

Reading (tags become their long form) and resolving (long form becomes a value). What a resource is called or
which attributes it has is asked of the caller; this file knows no resource type.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

Template = Mapping[str, Any]

NO_VALUE: Final = object()
"""What `AWS::NoValue` stands for: the property is left out."""

Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnresolvableError(Exception):
    """The template uses something this file cannot resolve."""


class TemplateLoader(Loader):  # type: ignore[misc]  # one of two classes, by what is installed
    """A safe YAML loader that keeps `!Ref x` as `{"Ref": "x"}` and `!Sub x` as `{"Fn::Sub": "x"}`."""


def _tagged(loader: Any, suffix: str, node: yaml.Node) -> dict[str, Any]:  # noqa: ANN401 - a yaml loader has no useful type
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}": value}


TemplateLoader.add_multi_constructor("!", _tagged)


def read_template(text: str) -> Template:
    """Parse a template; raise yaml.YAMLError when it is not YAML."""
    parsed: Template = yaml.load(text, Loader=TemplateLoader)  # noqa: S506 - derived from the safe loader
    return parsed


@dataclass(frozen=True)
class Scope:
    """Everything a value may refer to."""

    template: Template
    values: Mapping[str, object]
    """Parameters and pseudo parameters."""
    resource: Callable[[str], object]
    """What `Ref` of a resource gives."""
    attribute: Callable[[str, str], object]
    """What `Fn::GetAtt` of a resource gives."""

    def resolve(self, value: object) -> Any:  # noqa: ANN401 - a template holds any JSON
        """Return the value with every intrinsic function in it replaced.

        Raises:
            UnresolvableError: An unknown function, name, mapping or condition.
        """
        if isinstance(value, Mapping):
            if len(value) == 1:
                [(name, argument)] = value.items()
                if name in {"Ref", "Condition"} or (isinstance(name, str) and name.startswith("Fn::")):
                    return self._call(name, argument)
            resolved = {key: self.resolve(item) for key, item in value.items()}
            return {key: item for key, item in resolved.items() if item is not NO_VALUE}
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return [item for item in map(self.resolve, value) if item is not NO_VALUE]
        return value

    def holds(self, condition: str) -> bool:
        """Say whether a named condition holds."""
        conditions = self.template.get("Conditions", {})
        if condition not in conditions:
            raise UnresolvableError(f"condition {condition}")
        return bool(self.resolve(conditions[condition]))

    def _call(self, name: str, argument: Any) -> object:  # noqa: ANN401 - as above
        if name == "Condition":
            return self.holds(argument)
        if name == "Ref":
            return self._ref(argument)
        function = FUNCTIONS.get(name)
        if function is None:
            raise UnresolvableError(f"function {name}")
        return function(self, argument)

    def _ref(self, name: str) -> object:
        if name == "AWS::NoValue":
            return NO_VALUE
        if name in self.values:
            return self.values[name]
        if name in self.template.get("Resources", {}):
            return self.resource(name)
        raise UnresolvableError(f"reference {name}")

    def _substitute(self, argument: Any) -> str:  # noqa: ANN401 - as above
        text, given = (
            (argument, {}) if isinstance(argument, str) else (argument[0], self.resolve(argument[1]))
        )

        def replacement(match: re.Match[str]) -> str:
            name = match[1]
            if name.startswith("!"):
                return "${" + name[1:] + "}"
            if name in given:
                return str(given[name])
            return str(self.attribute(*name.split(".", 1)) if "." in name else self._ref(name))

        return re.sub(r"\$\{([^}]+)\}", replacement, text)

    def _find(self, argument: Any) -> object:  # noqa: ANN401 - as above
        mapping, first, second = self.resolve(argument)
        try:
            return self.template["Mappings"][mapping][str(first)][second]
        except KeyError as missing:
            raise UnresolvableError(f"mapping {mapping}.{first}.{second}") from missing


FUNCTIONS: Final[Mapping[str, Callable[[Scope, Any], object]]] = {
    "Fn::GetAtt": lambda scope, argument: scope.attribute(argument[0], argument[1]),
    "Fn::Sub": lambda scope, argument: scope._substitute(argument),  # noqa: SLF001 - a table of this class's own functions
    "Fn::FindInMap": lambda scope, argument: scope._find(argument),  # noqa: SLF001 - as above
    "Fn::If": lambda scope, argument: scope.resolve(argument[1 if scope.holds(argument[0]) else 2]),
    "Fn::Equals": lambda scope, argument: str(scope.resolve(argument[0])) == str(scope.resolve(argument[1])),
    "Fn::Not": lambda scope, argument: not scope.resolve(argument[0]),
    "Fn::And": lambda scope, argument: all(scope.resolve(item) for item in argument),
    "Fn::Or": lambda scope, argument: any(scope.resolve(item) for item in argument),
    "Fn::Join": lambda scope, argument: argument[0].join(map(str, scope.resolve(argument[1]))),
    "Fn::Select": lambda scope, argument: scope.resolve(argument[1])[int(argument[0])],
    "Fn::Split": lambda scope, argument: scope.resolve(argument[1]).split(argument[0]),
}
