"""The dependencies layer keeps what functions open, and loses the rest."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tests.integration.infra.declared import ROOT

PRUNE = runpy.run_path(str(ROOT / "layers" / "dependencies" / "prune.py"), run_name="prune")
KEPT = [
    "anyio/_backends/_asyncio.py",
    "boto3/session.py",
    "botocore/data/_retry.json",
    "botocore/data/dynamodb/2012-08-10/service-2.json.gz",
    "botocore/data/endpoints.json",
    "botocore/data/partitions.json",
    "botocore/data/sdk-default-configuration.json",
    "botocore/data/stepfunctions/2016-11-23/endpoint-rule-set-1.json.gz",
    "pydantic-2.0.0.dist-info/METADATA",
    "pydantic/main.py",
    "urllib3/contrib/socks.py",
    "dateutil/zoneinfo/__init__.py",
]
LOST = [
    "anyio/_backends/_trio.py",
    "anyio/pytest_plugin.py",
    "aws_lambda_powertools/event_handler/openapi/swagger_ui/swagger-ui-bundle.min.js",
    "bin/uvicorn",
    "boto3/data/ec2/2016-11-15/resources-1.json",
    "boto3/examples/s3.rst",
    "botocore/data/dynamodb/2012-08-10/examples-1.json.gz",
    "botocore/data/ec2/2016-11-15/service-2.json.gz",
    "dateutil/zoneinfo/dateutil-zoneinfo.tar.gz",
    "fastapi/testclient.py",
    "pydantic/mypy.py",
    "pydantic/v1/main.py",
    "starlette/testclient.py",
    "urllib3/contrib/emscripten/fetch.py",
    "pydantic-2.0.0.dist-info/RECORD",
]


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    for name in [*KEPT, *LOST]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_pruning_takes_out_what_no_function_opens(layer: Path) -> None:
    cast("Callable[[Path], None]", PRUNE["prune"])(layer)

    left = {str(path.relative_to(layer)) for path in layer.rglob("*") if path.is_file()}
    assert left == set(KEPT)


def test_pruning_twice_is_pruning_once(layer: Path) -> None:
    prune = cast("Callable[[Path], None]", PRUNE["prune"])
    prune(layer)
    prune(layer)

    assert {str(path.relative_to(layer)) for path in layer.rglob("*") if path.is_file()} == set(KEPT)


OPERATORS = {"cloudformation"}
"""What only a command asks, from a machine that has botocore whole."""


def test_the_description_of_every_service_that_a_function_asks_is_kept() -> None:
    modules = (ROOT / "layers" / "core").rglob("*.py")
    made = {
        service
        for module in modules
        for service in re.findall(r"create_client\(\s*\"([a-z0-9-]+)\"", module.read_text(encoding="utf-8"))
    }

    assert made
    assert made - PRUNE["SERVICES"] == OPERATORS


@pytest.mark.parametrize(
    "makefile", sorted((ROOT / "layers").glob("*/Makefile")), ids=lambda path: path.parent.name
)
def test_byte_code_is_compiled_so_that_it_never_counts_as_stale(makefile: Path) -> None:
    assert "--invalidation-mode unchecked-hash" in makefile.read_text(encoding="utf-8")
