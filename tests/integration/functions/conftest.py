"""Every function's handler in this process, as Lambda loads it, on moto with the state as declared."""

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from infra.local.deployment import REGION
from tests.integration.functions.aws_requests import AwsRequests
from tests.integration.functions.deployment import FOLDERS, Deployed, StreamingDeployed
from tests.integration.ports.backends import Backend, moto


@pytest.fixture(scope="package")
def backend() -> Iterator[Backend]:
    with moto() as started:
        yield started


@pytest.fixture(scope="package")
def requests() -> AwsRequests:
    """What the functions ask of AWS."""
    return AwsRequests()


@pytest.fixture(scope="package")
def environment(backend: Backend) -> Mapping[str, str]:
    """The variables of the functions."""
    return {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": backend.dynamodb.meta.endpoint_url,
        "TASKS_TABLE": backend.table,
        "CONTENT_BUCKET": backend.bucket,
        "TURN_STATE_MACHINE_ARN": backend.state_machine_arn,
        "POKES_QUEUE_URL": backend.pokes_queue_url,
        "DEAD_LETTERS_QUEUE_URL": backend.dead_letters_queue_url,
        "SECRETS_KEY": backend.secrets_key,
        "AGENT": "a2a_agents.echo:agent",
        "DEPLOYED_AT": "2026-11-30T12:00:00Z",
        "LOCAL_PRINCIPAL": "local",
        "BLOCKING_WAIT_SECONDS": "10",
        "POWERTOOLS_SERVICE_NAME": "a2a-serverless",
    }


@pytest.fixture(scope="module", autouse=True)
def variables(environment: Mapping[str, str]) -> Iterator[None]:
    """What is made late finds them too; tests elsewhere, which may come in between, find none of them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="package")
def deployed(backend: Backend, requests: AwsRequests, environment: Mapping[str, str]) -> Deployed:
    """The seven functions, each loaded once with one environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        with requests.watching_new_sessions():
            modules = {name: load(name) for name in FOLDERS}
    return Deployed(modules, backend)


@pytest.fixture(scope="package")
def streaming(deployed: Deployed, requests: AwsRequests, environment: Mapping[str, str]) -> StreamingDeployed:
    """The API's functions once more, as they are where answers leave piece by piece."""
    streamed = {
        **environment,
        "STREAMING": "on",
        "STREAMS_PER_CALLER": "3",
        "BLOCKING_WAIT_SECONDS": "4",
        "LOCAL_PRINCIPAL": "streamer",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in streamed.items():
            patch.setenv(name, value)
        with requests.watching_new_sessions():
            loaded = {name: load(name) for name in ("card", "http_json", "jsonrpc")}
    return StreamingDeployed({**deployed.modules, **loaded}, deployed.backend)


def load(name: str) -> object:
    """The function's module, under a name of its own: all five files are called app.py."""
    path = Path(__file__).parents[3] / "functions" / name / "app.py"
    specification = importlib.util.spec_from_file_location(f"function_{name}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
