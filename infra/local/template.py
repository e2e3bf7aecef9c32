"""What `template.yaml` declares, as values the local stack runs.

Knows the resource types of this repository's template and what AWS would call them; starts nothing.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from infra.local.deployment import (
    ACCOUNT,
    REGION,
    STACK,
    Deployment,
    Function,
    GatewayResponse,
    Route,
    Schedule,
)
from infra.local.event_sources import QueueSource, StreamSource
from infra.local.grants import Grant
from infra.local.intrinsics import Scope, Template, UnresolvableError, read_template
from infra.local.naming import Remembered

FUNCTION: Final = "AWS::Serverless::Function"
API: Final = "AWS::Serverless::Api"
NESTED_STACK: Final = "AWS::CloudFormation::Stack"
STATE_MACHINE: Final = "AWS::Serverless::StateMachine"
ROLE: Final = "AWS::IAM::Role"
ANY_METHOD: Final = "x-amazon-apigateway-any-method"
INTEGRATION: Final = "x-amazon-apigateway-integration"
"""How an API's definition says who answers, and how."""


@dataclass
class _Reader:
    root: Path
    template: Template
    chosen: Mapping[str, str]
    scope: Scope = field(init=False)

    def __post_init__(self) -> None:
        declared = self.template.get("Parameters", {})
        unknown = self.chosen.keys() - declared.keys()
        if unknown:
            raise UnresolvableError(f"parameter {min(unknown)}")
        parameters = {name: parameter.get("Default", "") for name, parameter in declared.items()}
        parameters |= self.chosen
        self.scope = Scope(self.template, parameters | pseudo(STACK), self.resource, self.attribute)

    def resource(self, logical_id: str) -> object:
        declared = self.template["Resources"][logical_id]
        properties = declared.get("Properties", {})
        for name in ("FunctionName", "Name"):
            if name in properties:
                return self.scope.resolve(properties[name])
        return f"{STACK}-{logical_id}"

    def attribute(self, logical_id: str, attribute: str) -> object:
        declared = self.template["Resources"].get(logical_id)
        if declared is None:
            raise UnresolvableError(f"attribute {logical_id}.{attribute}")
        if declared["Type"] == NESTED_STACK:
            return self.outputs[attribute.removeprefix("Outputs.")]
        if declared["Type"] == FUNCTION and attribute == "Arn":
            return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self.resource(logical_id)}"
        # Roles, log groups and domains do not exist here; whoever names them gets something to look at.
        return f"arn:aws:local:{REGION}:{ACCOUNT}:{logical_id}:{attribute}"

    @functools.cached_property
    def nested(self) -> tuple[Remembered, Mapping[str, str]]:
        """The nested stack, and what its parameters are given."""
        logical_id, declared = self.only(NESTED_STACK)
        properties = declared["Properties"]
        template = read_template((self.root / properties["TemplateURL"]).read_text(encoding="utf-8"))
        resolved = self.scope.resolve(properties.get("Parameters", {}))
        given = {name: str(value) for name, value in resolved.items()}
        defaults = {name: item.get("Default", "") for name, item in template.get("Parameters", {}).items()}
        return Remembered(template, {**defaults, **given, **pseudo(f"{STACK}-{logical_id}")}), given

    @functools.cached_property
    def outputs(self) -> Mapping[str, object]:
        """What the nested stack tells of itself."""
        return self.nested[0].outputs()

    def only(self, resource_type: str) -> tuple[str, Mapping[str, Any]]:
        resources: Mapping[str, Mapping[str, Any]] = self.template["Resources"]
        found = [item for item in resources.items() if item[1]["Type"] == resource_type]
        if len(found) != 1:
            raise UnresolvableError(f"{len(found)} resources of type {resource_type}, not one")
        return found[0]

    def functions(self) -> dict[str, Function]:
        shared = self.template.get("Globals", {}).get("Function", {})
        found = {}
        for logical_id, own in self.deployed_functions():
            values = self.scope.resolve(
                {
                    "Handler": own.get("Handler", shared.get("Handler")),
                    "Timeout": own.get("Timeout", shared.get("Timeout", 3)),
                    "MemorySize": own.get("MemorySize", shared.get("MemorySize", 128)),
                    "Variables": _variables(shared) | _variables(own),
                }
            )
            found[logical_id] = Function(
                logical_id=logical_id,
                name=str(self.resource(logical_id)),
                folder=(self.root / own["CodeUri"]).resolve(),
                handler=values["Handler"],
                timeout_seconds=float(values["Timeout"]),
                memory_mb=int(values["MemorySize"]),
                environment={name: str(value) for name, value in values["Variables"].items()},
            )
        return found

    def deployed_functions(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for logical_id, declared in self.template["Resources"].items():
            condition = declared.get("Condition")
            if declared["Type"] == FUNCTION and (condition is None or self.scope.holds(condition)):
                yield logical_id, declared["Properties"]

    def grants(self) -> Iterator[tuple[str, tuple[Grant, ...]]]:
        for logical_id, own in self.deployed_functions():
            role, _ = own.get("Role", {}).get("Fn::GetAtt", ("", ""))
            declared = self.template["Resources"].get(role, {})
            if declared.get("Type") == ROLE:
                policies = self.scope.resolve(declared["Properties"].get("Policies", ()))
                statements = [each for policy in policies for each in policy["PolicyDocument"]["Statement"]]
                yield logical_id, tuple(map(Grant.declared, statements))

    def routes(self) -> Iterator[Route]:
        _, api = self.only(API)
        functions = {function.arn: logical_id for logical_id, function in self.functions().items()}
        for path, methods in api["Properties"]["DefinitionBody"]["paths"].items():
            for method, operation in methods.items():
                integration = self.scope.resolve(operation[INTEGRATION])
                yield Route(
                    "ANY" if method == ANY_METHOD else method.upper(),
                    path,
                    functions[integration["uri"].partition("/functions/")[2].partition("/")[0]],
                    streams=integration.get("responseTransferMode") == "STREAM",
                    timeout_seconds=integration["timeoutInMillis"] / 1000,
                )

    def events(self, event_type: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        for logical_id, properties in self.deployed_functions():
            for name, event in properties.get("Events", {}).items():
                if event["Type"] == event_type:
                    yield logical_id, name, self.scope.resolve(event.get("Properties", {}))


def read_deployment(root: Path, parameters: Mapping[str, str] | None = None) -> Deployment:
    """Read `template.yaml` in `root` and the files it names, deployed with these parameters.

    Raises:
        OSError: A file is missing.
        UnresolvableError: The template uses what the local stack does not know.
        yaml.YAMLError: The template is not YAML.
    """
    template = read_template((root / "template.yaml").read_text(encoding="utf-8"))
    reader = _Reader(root, template, parameters or {})
    _, api = reader.only(API)
    machine_id, machine = reader.only(STATE_MACHINE)
    state, state_parameters = reader.nested
    binary = reader.scope.resolve({"BinaryMediaTypes": api["Properties"].get("BinaryMediaTypes", ())})
    definition = (root / machine["Properties"]["DefinitionUri"]).read_text(encoding="utf-8")
    for name, value in reader.scope.resolve(machine["Properties"].get("DefinitionSubstitutions", {})).items():
        definition = definition.replace("${" + name + "}", str(value))
    return Deployment(
        functions=reader.functions(),
        routes=tuple(reader.routes()),
        schedules=tuple(
            Schedule(logical_id, name, rate_seconds(event["Schedule"]))
            for logical_id, name, event in reader.events("Schedule")
        ),
        stage=str(reader.scope.resolve(api["Properties"]["StageName"])),
        binary_media_types=tuple(kind.replace("~1", "/") for kind in binary.get("BinaryMediaTypes", ())),
        gateway_responses={
            kind: _gateway_response(response)
            for kind, response in reader.scope.resolve(api["Properties"].get("GatewayResponses", {})).items()
        },
        state_machine=str(reader.resource(machine_id)),
        state_machine_definition=definition,
        state=state.template,
        state_parameters=state_parameters,
        queue_sources=tuple(
            QueueSource.declared(str(reader.resource(function)), properties)
            for function, _, properties in reader.events("SQS")
        ),
        stream_sources=tuple(
            StreamSource.declared(str(reader.resource(function)), properties)
            for function, _, properties in reader.events("DynamoDB")
        ),
        grants=dict(reader.grants()),
    )


def _gateway_response(declared: Mapping[str, Any]) -> GatewayResponse:
    status = declared.get("StatusCode")
    headers = declared.get("ResponseParameters", {}).get("Headers", {})
    return GatewayResponse(
        status=int(status) if status is not None else None,
        headers={name: str(value).strip("'") for name, value in headers.items()},
        body=declared.get("ResponseTemplates", {}).get("application/json", ""),
    )


def pseudo(stack: str) -> dict[str, object]:
    """Return CloudFormation's pseudo parameters."""
    return {
        "AWS::AccountId": ACCOUNT,
        "AWS::Partition": "aws",
        "AWS::Region": REGION,
        "AWS::StackId": f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{stack}/local",
        "AWS::StackName": stack,
        "AWS::URLSuffix": "amazonaws.com",
    }


def rate_seconds(expression: str) -> float:
    """Return the seconds of `rate(5 minutes)`; raise UnresolvableError for anything else."""
    units = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
    words = expression.removeprefix("rate(").removesuffix(")").split()
    try:
        number, unit = words
        return float(number) * units[unit.removesuffix("s")]
    except (ValueError, KeyError) as error:
        raise UnresolvableError(f"schedule {expression}") from error


def _variables(properties: Mapping[str, Any]) -> dict[str, Any]:
    variables: dict[str, Any] = properties.get("Environment", {}).get("Variables", {})
    return dict(variables)
