"""The wrapper for the AWS Lambda Web Adapter, started as Lambda starts it; the test is the adapter."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from infra.local.aws import ROOT
from tests.integration.local.conftest import PATIENCE
from tests.integration.local.handlers import STREAM, write

WRAPPER = ROOT / "layers" / "streaming" / "web-server"


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """The port of a handler's process, which is ready when it takes connections."""
    folder = write(tmp_path / "functions" / "api", STREAM)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    environment = {
        "AWS_LWA_PORT": str(port),
        "LAMBDA_TASK_ROOT": str(folder),
        "PATH": os.environ["PATH"],
        "_HANDLER": "app.handler",
    }
    with subprocess.Popen([WRAPPER, sys.executable], env=environment) as process:
        until = time.monotonic() + PATIENCE
        while not accepts(port):
            assert process.poll() is None
            assert time.monotonic() < until
        yield port
        process.kill()


def accepts(port: int) -> bool:
    """Knock as the adapter does."""
    with socket.socket() as knocking:
        return knocking.connect_ex(("127.0.0.1", port)) == 0


def test_a_streamed_answer_comes_through_the_wrapper(port: int) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        context = {"x-amzn-request-context": json.dumps({"domainName": "agent.example"})}
        connection.request("GET", "/anything?status=206", headers=context)
        response = connection.getresponse()

        assert (response.status, response.read()) == (206, b"piece 0\n")
        assert response.headers.get_all("Set-Cookie") == ["a=1", "b=2"]
