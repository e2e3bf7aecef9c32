"""The local stack put together: what starts, in which order, what it is given, and how all of it ends.

The composition root of this package; every other file knows only its own part.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from infra.local.aws import ROOT, Aws, AwsDidNotStartError, clean_environment, credentials
from infra.local.console import Console
from infra.local.deployment import Deployment, Function
from infra.local.environments import ProcessEnvironment, Work
from infra.local.front import ARRIVAL_SECONDS, Front
from infra.local.function_logs import FunctionLog
from infra.local.gateway import MAX_BODY_BYTES
from infra.local.http import Server, listen
from infra.local.lambda_api import LambdaApi
from infra.local.launching import Copying, Launcher, Starting
from infra.local.options import CALLERS_SECRET, Options, function_variables
from infra.local.originals import Ancestor, Ancestry, Original, common_imports
from infra.local.pool import FunctionPool
from infra.local.schedule import Scheduler

STREAMING_LAYER: Final = ROOT / "layers" / "streaming"
BOOTSTRAP: Final = STREAMING_LAYER / "bootstrap"
LAYERS: Final = (ROOT / "layers" / "core", ROOT / "layers" / "agents", STREAMING_LAYER / "python")

CAP: Final = 120
"""Most environments of one function."""

STARTING_AFRESH: Final = 2
"""Processes of one function that start at the same time; more only slow each other down."""

STARTING_COPIES: Final = 16
"""Copies of one process that are made at the same time; each takes milliseconds."""

START_SECONDS: Final = 30.0
"""How long `wait_until_ready` waits for the API's functions to load their handlers."""


class StackProblem(Exception):
    """The stack cannot run, for a reason its user can do something about."""


class Stack:
    """One running deployment."""

    def __init__(self, deployment: Deployment, options: Options, console: Console) -> None:
        try:
            listener = listen(options.port)
        except OSError as error:
            raise StackProblem(f"port {options.port} on 127.0.0.1 is taken: {error.strerror}") from error
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._options = options
        self._console = console
        self._pools: dict[str, FunctionPool] = {}
        self._copying: list[Copying] = []
        by_name: dict[str, FunctionPool] = {}
        self._lambda_api = LambdaApi(by_name)
        chosen = function_variables(options, base_url=self.url, deployed_at=now())
        self._aws = Aws(
            deployment,
            self._lambda_api.address,
            secrets=secrets(options),
            card_keys=card_keys(deployment),
        )
        self._variables = {
            **clean_environment(),
            **credentials(),
            "AWS_ENDPOINT_URL": self._aws.endpoint,
            "PYTHONPATH": ":".join(map(str, (*LAYERS, ROOT, Path.cwd()))),
        }
        functions = [self._as_chosen(each, chosen) for each in deployment.functions.values()]
        self._ancestry = ancestry(functions, [self._variables_of(each) for each in functions])
        for function in functions:
            self._pools[function.logical_id] = by_name[function.name] = self._pool_of(function)
        self._eager = [
            self._pools[name] for name in dict.fromkeys(route.function for route in deployment.routes)
        ]
        front = Front(deployment, self._pools, console)
        self._front = Server(
            front.answer,
            listener,
            name="front",
            max_body=MAX_BODY_BYTES,
            refusal=front.refuse,
            arrival_seconds=ARRIVAL_SECONDS,
        )
        self._schedulers = [
            Scheduler(schedule, self._pools[schedule.function], console) for schedule in deployment.schedules
        ]

    @property
    def aws_endpoint(self) -> str:
        """Where boto3 clients find this stack's AWS."""
        return self._aws.endpoint

    @property
    def lambda_endpoint(self) -> str:
        """Where boto3's Lambda client finds this stack's functions."""
        return f"http://{self._lambda_api.address}"

    def start(self) -> None:
        """Start everything at once; `wait_until_ready` says when it serves."""
        self._lambda_api.start()
        self._aws.start()
        for pool in self._eager:
            pool.start()

    def wait_until_ready(self) -> None:
        """Wait for AWS, the agent and the API's functions, then serve.

        Raises:
            StackProblem: The agent cannot be imported, or AWS does not start.
        """
        checked = subprocess.run(  # noqa: S603 - our own module, the agent as an argument
            [sys.executable, "-m", "infra.local.agent_check", self._options.agent],
            env=self._variables,
            capture_output=True,
            text=True,
            check=False,
        )
        if checked.returncode != 0:
            reason = checked.stdout or (checked.stderr.strip().splitlines() or ["it ended its process"])[-1]
            raise StackProblem(f"agent {self._options.agent}: {reason}")
        try:
            self._aws.wait_until_ready()
        except AwsDidNotStartError as error:
            raise StackProblem(f"AWS did not start: {error}") from error
        until = time.monotonic() + START_SECONDS
        for pool in self._eager:
            pool.wait_until_started(max(0.0, until - time.monotonic()))
        self._front.start()
        for scheduler in self._schedulers:
            scheduler.start()
        threading.Thread(target=self._prepare, name="prepare", daemon=True).start()

    def restart_functions(self) -> None:
        """Replace every function process: idle ones now, busy ones after what they do."""
        self._ancestry.renew()
        for launcher in self._copying:
            launcher.renew()
        for pool in self._pools.values():
            pool.restart()
        for pool in self._eager:
            pool.start()

    def close(self) -> None:
        """End everything, whatever it does."""
        self._front.close()
        for scheduler in self._schedulers:
            scheduler.close()
        for pool in self._pools.values():
            pool.close()
        for launcher in self._copying:
            launcher.close()
        self._ancestry.close()
        self._lambda_api.close()
        self._aws.close()

    def _prepare(self) -> None:
        """Load the handlers that are not needed yet and soon will be."""
        for launcher in self._copying:
            launcher.prepare()

    def _as_chosen(self, function: Function, chosen: Mapping[str, str]) -> Function:
        local = replace(function, environment={**function.environment, **chosen})
        if function.folder.name == "turn" and self._options.turn_timeout_seconds is not None:
            local = replace(local, timeout_seconds=self._options.turn_timeout_seconds)
        return local

    def _variables_of(self, function: Function) -> Mapping[str, str]:
        return {
            **self._variables,
            "AWS_ACCESS_KEY_ID": function.access_key,
            **function.environment,
            **lambda_variables(function),
        }

    def _pool_of(self, function: Function) -> FunctionPool:
        variables = self._variables_of(function)
        log = FunctionLog(function.folder.name, self._options.log_folder, self._console)
        launcher: Launcher = Starting((str(BOOTSTRAP), sys.executable), variables, function.folder)
        starting = STARTING_AFRESH
        if sys.platform == "linux":
            new_original = partial(original, self._ancestry, variables, function.folder, log)
            launcher = Copying(new_original, launcher)
            self._copying.append(launcher)
            starting = STARTING_COPIES

        def new_environment(work: Work) -> ProcessEnvironment:
            return ProcessEnvironment(function, work, self._console, launcher=launcher, log=log)

        return FunctionPool(new_environment, cap=CAP, starting=starting)


def ancestry(functions: Sequence[Function], variables: Sequence[Mapping[str, str]]) -> Ancestry:
    """Return what loads once what the functions have in common; `variables` are the environment of each."""
    handlers = [each.folder / f"{each.handler.rpartition('.')[0]}.py" for each in functions]
    return Ancestry(lambda: Ancestor(variables, common_imports(handlers)))


def original(ancestry: Ancestry, variables: Mapping[str, str], folder: Path, log: FunctionLog) -> Original:
    """Load a function's handler in a process that can be copied, its words going to the function's log.

    Raises:
        CannotCopyError: It cannot be copied.
    """
    sink = log.open()
    try:
        return Original(ancestry, variables, folder, sink)
    finally:
        os.close(sink)


def secrets(options: Options) -> Mapping[str, str]:
    """Read what Secrets Manager is to hold, by name."""
    if options.credentials is None:
        return {}
    try:
        return {CALLERS_SECRET: options.credentials.read_text(encoding="utf-8")}
    except (OSError, UnicodeError) as error:
        raise StackProblem(f"{options.credentials} cannot be read: {type(error).__name__}") from error


def card_keys(deployment: Deployment) -> Sequence[str]:
    """Return the keys that the functions are told to sign the card with: nobody else has made them."""
    told = (function.environment.get("CARD_SIGNING_KEYS", "") for function in deployment.functions.values())
    return sorted({key.strip() for keys in told for key in keys.split(",")} - {""})


def lambda_variables(function: Function) -> Mapping[str, str]:
    """Return the variables that Lambda itself sets (AWS: "Defined runtime environment variables")."""
    return {
        "_HANDLER": function.handler,
        "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": "local",
        "LAMBDA_TASK_ROOT": str(function.folder),
        "PYTHONUNBUFFERED": "1",
        "TZ": ":UTC",
    }


def now() -> str:
    """Return the time of this start, as the functions take it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
