"""What `template.yaml` declares, as values the local stack runs.

Knows the resource types of this repository's template and what AWS would call them; starts nothing.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from infra.local.intrinsics import Scope, Template, UnresolvableError, read_template

ACCOUNT: Final = "123456789012"
"""moto's account."""

REGION: Final = "us-east-1"
STACK: Final = "a2a-local"

FUNCTION: Final = "AWS::Serverless::Function"
API: Final = "AWS::Serverless::Api"
NESTED_STACK: Final = "AWS::CloudFormation::Stack"
STATE_MACHINE: Final = "AWS::Serverless::StateMachine"
ANY_METHOD: Final = "x-amazon-apigateway-any-method"
INTEGRATION: Final = "x-amazon-apigateway-integration"
"""How an API's definition says who answers, and how."""

NAME_PROPERTY: Final = {"AWS::DynamoDB::Table": "TableName", "AWS::S3::Bucket": "BucketName"}
"""How a remembered resource is given a name of its own."""


@dataclass(frozen=True)
class Function:
    """One Lambda function."""

    logical_id: str
    name: str
    """AWS_LAMBDA_FUNCTION_NAME."""
    folder: Path
    """LAMBDA_TASK_ROOT; its last part is what people call the function."""
    handler: str
    timeout_seconds: float
    memory_mb: int
    environment: Mapping[str, str]

    @property
    def arn(self) -> str:
        """The function's ARN."""
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self.name}"


@dataclass(frozen=True)
class Route:
    """One method of one resource of the API; `ANY` is every method, `{proxy+}` the rest of the path."""

    method: str
    path: str
    function: str
    """Logical id."""
    streams: bool = False
    """Whether the gateway hands the answer on while it is made (responseTransferMode STREAM)."""
    timeout_seconds: float = 29.0
    """How long the gateway waits for the function: for the whole answer, streamed or not."""


@dataclass(frozen=True)
class GatewayResponse:
    """What the template says of an answer that the gateway gives itself; nothing means as AWS would."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    """A body template, with `$context.` variables."""


@dataclass(frozen=True)
class Schedule:
    """A function that is invoked at a fixed rate."""

    function: str
    rule: str
    every_seconds: float


@dataclass(frozen=True)
class Deployment:
    """Everything the local stack starts."""

    functions: Mapping[str, Function]
    """By logical id."""
    routes: tuple[Route, ...]
    schedules: tuple[Schedule, ...]
    stage: str
    binary_media_types: tuple[str, ...]
    gateway_responses: Mapping[str, GatewayResponse]
    """The gateway's own answers, by response type (THROTTLED, DEFAULT_4XX, …)."""
    state_machine: str
    """Its name."""
    state_machine_definition: str
    state: Mapping[str, Any]
    """The nested stack's template, each resource named."""
    state_parameters: Mapping[str, str]


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
            return self.outputs(logical_id)[attribute.removeprefix("Outputs.")]
        if declared["Type"] == FUNCTION and attribute == "Arn":
            return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self.resource(logical_id)}"
        # Roles, log groups and domains do not exist here; whoever names them gets something to look at.
        return f"arn:aws:local:{REGION}:{ACCOUNT}:{logical_id}:{attribute}"

    @functools.cached_property
    def nested(self) -> tuple[str, Mapping[str, Any], Mapping[str, str]]:
        """Logical id, named template and parameters of the nested stack."""
        logical_id, declared = self.only(NESTED_STACK)
        properties = declared["Properties"]
        template = named(read_template((self.root / properties["TemplateURL"]).read_text(encoding="utf-8")))
        given = self.scope.resolve(properties.get("Parameters", {}))
        return logical_id, template, {name: str(value) for name, value in given.items()}

    def outputs(self, logical_id: str) -> Mapping[str, object]:
        _, template, given = self.nested
        name = f"{STACK}-{logical_id}"
        values = {key: item.get("Default", "") for key, item in template.get("Parameters", {}).items()}

        def resource(inner: str) -> object:
            declared = template["Resources"][inner]
            return declared["Properties"][NAME_PROPERTY[declared["Type"]]]

        def attribute(inner: str, attribute: str) -> object:
            return f"arn:aws:local:{REGION}:{ACCOUNT}:{resource(inner)}:{attribute}"

        scope = Scope(template, {**values, **given, **pseudo(name)}, resource, attribute)
        return {key: scope.resolve(item["Value"]) for key, item in template["Outputs"].items()}

    def only(self, resource_type: str) -> tuple[str, Mapping[str, Any]]:
        resources: Mapping[str, Mapping[str, Any]] = self.template["Resources"]
        found = [item for item in resources.items() if item[1]["Type"] == resource_type]
        if len(found) != 1:
            raise UnresolvableError(f"{len(found)} resources of type {resource_type}, not one")
        return found[0]

    def functions(self) -> dict[str, Function]:
        shared = self.template.get("Globals", {}).get("Function", {})
        found = {}
        for logical_id, declared in self.template["Resources"].items():
            if declared["Type"] != FUNCTION:
                continue
            own = declared["Properties"]
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

    def events(self, event_type: str) -> list[tuple[str, str, Mapping[str, Any]]]:
        return [
            (logical_id, name, self.scope.resolve(event.get("Properties", {})))
            for logical_id, declared in self.template["Resources"].items()
            if declared["Type"] == FUNCTION
            for name, event in declared["Properties"].get("Events", {}).items()
            if event["Type"] == event_type
        ]


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
    _, state, state_parameters = reader.nested
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
        binary_media_types=tuple(
            kind.replace("~1", "/") for kind in api["Properties"].get("BinaryMediaTypes", ())
        ),
        gateway_responses={
            kind: _gateway_response(response)
            for kind, response in reader.scope.resolve(api["Properties"].get("GatewayResponses", {})).items()
        },
        state_machine=str(reader.resource(machine_id)),
        state_machine_definition=definition,
        state=state,
        state_parameters=state_parameters,
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


def named(template: Template) -> dict[str, Any]:
    """Give tables and buckets the physical name CloudFormation would make up.

    It is chosen here, before anything exists, so that functions can start while moto is still being imported.
    """
    resources = {}
    for logical_id, declared in template["Resources"].items():
        property_name = NAME_PROPERTY.get(declared["Type"])
        properties = declared.get("Properties", {})
        if property_name is not None:
            name = f"{STACK}-{logical_id}".lower()
            properties = {property_name: name, **properties}
        resources[logical_id] = {**declared, "Properties": properties}
    return {**template, "Resources": resources}


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
