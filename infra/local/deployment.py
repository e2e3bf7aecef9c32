"""A deployment as values: what the local stack starts, and what AWS would call it.

Read from the templates by others; knows no template.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from infra.local.event_sources import QueueSource, StreamSource
from infra.local.grants import Grant

ACCOUNT: Final = "123456789012"
"""moto's account."""

REGION: Final = "us-east-1"
STACK: Final = "a2a-local"


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

    @property
    def access_key(self) -> str:
        """What it signs its calls of AWS with, which says who calls."""
        return f"{self.folder.name}-local"


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
    queue_sources: tuple[QueueSource, ...] = ()
    stream_sources: tuple[StreamSource, ...] = ()
    grants: Mapping[str, tuple[Grant, ...]] = field(default_factory=dict)
    """What a function's role grants, by logical id; without a role a function may do everything."""
