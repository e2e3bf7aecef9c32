"""One parameter chooses how answers leave, and everything that depends on it follows."""

from typing import Any

import pytest

from infra.local.template import read_deployment
from tests.integration.infra.declared import ROOT, Declared, deployed, template

BINDINGS = {"/": "JsonRpcFunction", "/{proxy+}": "HttpJsonFunction"}
ADAPTER = "arn:aws:lambda:us-east-1:753240598075:layer:LambdaAdapterLayerArm64:26"
ADAPTED = {
    "AWS_LWA_INVOKE_MODE": "response_stream",
    "AWS_LWA_PORT": "8080",
    "AWS_LWA_READINESS_CHECK_PROTOCOL": "tcp",
}
WAYS = ("builtin", "web-adapter", "buffered")

every_way = pytest.mark.parametrize("way", WAYS)
every_binding = pytest.mark.parametrize("path", BINDINGS)


def integration(declared: Declared, path: str) -> Any:
    method = declared["Api"]["DefinitionBody"]["paths"][path]["x-amazon-apigateway-any-method"]
    return method["x-amazon-apigateway-integration"]


def test_the_parameter_offers_three_ways_and_streams_unless_told_otherwise() -> None:
    declared = template()["Parameters"]["Streaming"]

    assert (declared["Default"], declared["AllowedValues"]) == ("builtin", list(WAYS))


@every_binding
@pytest.mark.parametrize("way", ["builtin", "web-adapter"])
def test_a_streaming_deployment_invokes_its_bindings_by_the_streaming_api(way: str, path: str) -> None:
    asked = integration(deployed(Streaming=way), path)

    assert (asked["type"], asked["httpMethod"]) == ("aws_proxy", "POST")
    assert asked["responseTransferMode"] == "STREAM"
    assert asked["timeoutInMillis"] == 900_000
    assert asked["uri"] == (
        "arn:aws:apigateway:us-east-1:lambda:path/2021-11-15/functions/"
        f"{BINDINGS[path]}.Arn/response-streaming-invocations"
    )


@every_way
def test_requests_come_in_base64_only_where_answers_would_else_be_damaged(way: str) -> None:
    kinds = read_deployment(ROOT, {"Streaming": way}).binary_media_types

    assert kinds == (("*/*",) if way == "buffered" else ())


@every_binding
def test_a_buffered_deployment_invokes_its_bindings_as_ever(path: str) -> None:
    asked = integration(deployed(Streaming="buffered"), path)

    assert asked["responseTransferMode"] == "BUFFERED"
    assert asked["timeoutInMillis"] == 29_000
    assert asked["uri"].endswith(f":lambda:path/2015-03-31/functions/{BINDINGS[path]}.Arn/invocations")


@every_way
@pytest.mark.parametrize("path", ["/.well-known/agent-card.json", "/health"])
def test_the_card_is_never_streamed(way: str, path: str) -> None:
    asked = integration(deployed(Streaming=way), path)

    assert "responseTransferMode" not in asked
    assert asked["uri"].endswith("CardFunction.Arn/invocations")


@every_binding
@pytest.mark.parametrize(
    ("way", "wrapper", "adapter", "layers"),
    [
        ("builtin", "/opt/bootstrap", {}, ["StreamingLayer"]),
        ("web-adapter", "/opt/web-server", ADAPTED, ["StreamingLayer", ADAPTER]),
        ("buffered", None, {}, []),
    ],
)
def test_a_function_is_given_what_its_way_needs_and_nothing_of_the_others(
    path: str, way: str, wrapper: str | None, adapter: dict[str, str], layers: list[str]
) -> None:
    declared = deployed(Streaming=way)
    function = declared[BINDINGS[path]]
    variables = function["Environment"]["Variables"]

    assert variables.get("AWS_LAMBDA_EXEC_WRAPPER") == wrapper
    assert function["Layers"][3:] == layers
    assert ("StreamingLayer" in declared) is bool(layers)
    assert {name: value for name, value in variables.items() if name.startswith("AWS_LWA")} == adapter


def test_the_adapters_layer_can_be_named() -> None:
    arn = "arn:aws-cn:lambda:cn-north-1:041581134020:layer:LambdaAdapterLayerArm64:1"

    layers = deployed(Streaming="web-adapter", WebAdapterLayerArn=arn)["JsonRpcFunction"]["Layers"]

    assert layers[-1] == arn


@every_way
def test_the_functions_are_told_which_way_it_is_and_given_the_time_for_it(way: str) -> None:
    deployment = read_deployment(ROOT, {"Streaming": way})
    streams = way != "buffered"

    for name in BINDINGS.values():
        function = deployment.functions[name]
        assert function.environment["STREAMING"] == ("on" if streams else "off")
        assert function.timeout_seconds == (900 if streams else 29)


@every_binding
@every_way
def test_nothing_waits_longer_than_the_gateway_does(way: str, path: str) -> None:
    deployment = read_deployment(ROOT, {"Streaming": way, "BlockingWaitSeconds": "840"})
    route = next(route for route in deployment.routes if route.path == path)
    function = deployment.functions[BINDINGS[path]]

    assert function.timeout_seconds <= route.timeout_seconds
    assert float(function.environment["BLOCKING_WAIT_SECONDS"]) < route.timeout_seconds
    assert template()["Parameters"]["StreamSeconds"]["MaxValue"] < 900


def test_a_changed_parameter_is_deployed_though_the_templates_text_is_the_same() -> None:
    assert template()["Resources"]["Api"]["Properties"]["AlwaysDeploy"] is True


@pytest.mark.parametrize("function", ["CardFunction", "JsonRpcFunction", "HttpJsonFunction"])
@pytest.mark.parametrize(
    ("asked", "called", "applied"), [("off", ".Arn", "None"), ("on", ".Alias", "PublishedVersions")]
)
def test_snapshots_are_made_and_called_only_by_choice(
    function: str, asked: str, called: str, applied: str
) -> None:
    declared = deployed(SnapStart=asked, Release="1130160000")
    permissions = [each["FunctionName"] for name, each in declared.items() if name.endswith("IsCalled")]
    uris = [
        operation["x-amazon-apigateway-integration"]["uri"]
        for methods in declared["Api"]["DefinitionBody"]["paths"].values()
        for operation in methods.values()
    ]

    assert declared[function]["SnapStart"] == {"ApplyOn": applied}
    assert f"{function}{called}" in permissions
    assert any(f"/functions/{function}{called}/" in uri for uri in uris)


def test_a_version_that_is_no_longer_called_is_deleted_and_every_release_publishes_one() -> None:
    resources = template()["Resources"]
    published = [
        each["Properties"] for each in resources.values() if "AutoPublishAlias" in each["Properties"]
    ]

    assert len(published) == 3
    assert all(each["VersionDeletionPolicy"] == "Delete" for each in published)
    assert all(each["AutoPublishCodeSha256"] == {"Ref": "Release"} for each in published)


def test_snapshots_without_a_release_or_with_the_adapter_are_refused() -> None:
    rule = template()["Rules"]["SnapshotsAreMade"]

    assert rule["RuleCondition"] == {"Fn::Equals": [{"Ref": "SnapStart"}, "on"]}
    assert [each["Assert"] for each in rule["Assertions"]] == [
        {"Fn::Not": [{"Fn::Equals": [{"Ref": "Release"}, ""]}]},
        {"Fn::Not": [{"Fn::Equals": [{"Ref": "Streaming"}, "web-adapter"]}]},
    ]
