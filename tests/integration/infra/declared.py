"""The repository's declarations as values, for the tests beside this file. Resolves nothing."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infra.local.deployment import STACK
from infra.local.intrinsics import Scope, read_template
from infra.local.template import pseudo

ROOT = Path(__file__).parents[3]
REGION = "eu-west-1"
EVENTS = sorted((ROOT / "events").glob("*.json"))

Declared = Mapping[str, Any]


def template() -> Declared:
    """The deployment."""
    return read_template((ROOT / "template.yaml").read_text(encoding="utf-8"))


def state() -> Declared:
    """The nested stack of what is remembered."""
    return read_template((ROOT / "infra" / "state.yaml").read_text(encoding="utf-8"))


def turn_machine() -> Declared:
    """The state machine's definition, its substitutions still in place."""
    machine: Declared = json.loads((ROOT / "infra" / "turn.asl.json").read_text(encoding="utf-8"))
    return machine


def resources(kind: str) -> dict[str, Declared]:
    """The properties of the deployment's resources of one type, by logical id."""
    found = template()["Resources"].items()
    return {name: resource["Properties"] for name, resource in found if resource["Type"] == kind}


def functions() -> dict[str, Declared]:
    """The functions' properties by the name of their folder."""
    declared = resources("AWS::Serverless::Function").values()
    return {Path(function["CodeUri"]).name: function for function in declared}


def deployed(**parameters: str) -> Declared:
    """The properties of every resource of a deployment with these parameters, as CloudFormation reads them.

    Resources stand for themselves by their logical ids; those whose condition does not hold are left out.
    """
    whole = template()
    defaults = {name: declared.get("Default", "") for name, declared in whole["Parameters"].items()}
    scope = Scope(
        {**whole, "Resources": {**whole["Resources"], **aliases(whole)}},
        defaults | pseudo(STACK) | parameters,
        resource=lambda name: name,
        attribute=lambda name, attribute: f"{name}.{attribute}",
    )
    return {
        name: scope.resolve(resource["Properties"])
        for name, resource in whole["Resources"].items()
        if "Condition" not in resource or scope.holds(resource["Condition"])
    }


def aliases(whole: Declared) -> Declared:
    """What SAM makes beside the functions that are published under an alias, and the API's stage."""
    published = [
        name for name, resource in whole["Resources"].items() if "AutoPublishAlias" in resource["Properties"]
    ]
    return {f"{name}.Alias": {} for name in published} | {"Api.Stage": {}}


def statements() -> Iterator[tuple[str, Declared]]:
    """Every statement of every role's policies, with the role's logical id."""
    for role, properties in resources("AWS::IAM::Role").items():
        for policy in properties.get("Policies", ()):
            for statement in policy["PolicyDocument"]["Statement"]:
                yield role, granted(statement)


def granted(statement: Declared) -> Declared:
    """A statement that is made on a condition, as it is when that holds."""
    if "Fn::If" not in statement:
        return statement
    _, given, otherwise = statement["Fn::If"]
    assert otherwise == {"Ref": "AWS::NoValue"}
    return dict(given)


def several(value: Any) -> list[Any]:
    """One or several, as a list: policies allow both."""
    return value if isinstance(value, list) else [value]


def text(value: Any) -> str:
    """What a name or ARN says, its references left as they are written."""
    if isinstance(value, dict) and "Fn::Sub" in value:
        return str(value["Fn::Sub"])
    if isinstance(value, dict) and "Fn::GetAtt" in value:
        return "${" + ".".join(value["Fn::GetAtt"]) + "}"
    return str(value)
