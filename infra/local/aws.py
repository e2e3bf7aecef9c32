"""AWS, as the stack starts and ends it: a process with moto in it, and variables that lead there.

Knows how that process is started, not what it does.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from infra.local.deployment import REGION, STACK, Deployment
from infra.local.http import listen

ROOT = Path(__file__).resolve().parents[2]
"""The repository."""


class AwsDidNotStartError(Exception):
    """moto could not be started; the text is its last words."""


class Aws:
    """moto in a process of its own; the port is known before it runs, and early requests wait."""

    def __init__(
        self,
        deployment: Deployment,
        functions_address: str,
        card_keys: Sequence[str] = (),
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self._listener = listen()
        self._port: int = self._listener.getsockname()[1]
        self._plan = {
            "listener": self._listener.fileno(),
            "functions": functions_address,
            "stack": f"{STACK}-State",
            "state": deployment.state,
            "state_parameters": deployment.state_parameters,
            "card_keys": list(card_keys),
            "secrets": dict(secrets or {}),
            "state_machine": deployment.state_machine,
            "state_machine_definition": deployment.state_machine_definition,
            "queue_sources": [asdict(source) for source in deployment.queue_sources],
            "stream_sources": [asdict(source) for source in deployment.stream_sources],
            "grants": {
                deployment.functions[function].access_key: [asdict(grant) for grant in grants]
                for function, grants in deployment.grants.items()
            },
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        """The value of AWS_ENDPOINT_URL."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start the process; `wait_until_ready` says when it serves."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "infra.local.moto_process"],
            env={**clean_environment(), **credentials(), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[self._listener.fileno()],
            start_new_session=True,
        )
        self._listener.close()
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(self._plan).encode() + b"\n")
            self._process.stdin.flush()

    def wait_until_ready(self) -> None:
        """Wait until everything exists and requests are answered.

        Raises:
            AwsDidNotStartError: The process ended instead.
        """
        process = self._process
        if process is None or process.stdout is None or process.stderr is None:
            raise AwsDidNotStartError("not started")
        if process.stdout.readline() != b"ready\n":
            words = process.stderr.read().decode(errors="replace").strip().splitlines()
            raise AwsDidNotStartError(words[-1] if words else "moto ended without a word")
        # Whatever it says later must not fill the pipe and stop it.
        threading.Thread(target=process.stderr.read, name="aws-stderr", daemon=True).start()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()


def clean_environment() -> dict[str, str]:
    """Return this process's environment without what would lead to a real AWS account or through a proxy."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("AWS_") and name not in {"PYTHONPATH", "PYTHONHOME"}
    }
    loopback = "127.0.0.1,localhost"
    for name in ("NO_PROXY", "no_proxy"):
        kept[name] = f"{kept[name]},{loopback}" if kept.get(name) else loopback
    return kept


def credentials() -> Mapping[str, str]:
    """Return credentials and Region that mean nothing outside moto."""
    return {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
    }
