"""What the operations need from the world, each need a short Protocol in the operations' own words.

An adapter makes a port real and is the only file that knows its technology. Nothing here imports one, and
nothing here reads the environment: values such as limits come in through `Policy`. Every port has one
contract test, run against the fake and every adapter.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from a2a_serverless.ports.admissions import Admission, AdmissionKey, AdmissionStatus, AdmissionStore
from a2a_serverless.ports.callers import Caller, owner_of
from a2a_serverless.ports.contents import ContentLinks, Contents, LinkPolicy, StoredContent, Upload
from a2a_serverless.ports.contexts import ContextKey, ContextRow, ContextStore, Holder
from a2a_serverless.ports.executions import Executions, ExecutionStatus, TurnKey
from a2a_serverless.ports.limits import OperationClass, RateLimit, RateLimits
from a2a_serverless.ports.streams import StreamKey, StreamPlaces
from a2a_serverless.ports.tasks import Head, PositionTakenError, TaskPage, TaskQuery, TaskStore
from a2a_serverless.ports.uploads import FilePolicy, Uploads
from a2a_serverless.ports.webhooks import WebhookPolicy, WebhookPorts
from a2a_serverless.ports.world import Clock, Due, DueIndex, Identifiers, Incidents, Metrics
from a2a_serverless.protocol.extensions import Extension, PermissionMode
from a2a_serverless.protocol.objects import Message

__all__ = [
    "Admission",
    "AdmissionKey",
    "AdmissionStatus",
    "AdmissionStore",
    "Answer",
    "Caller",
    "Clock",
    "ContentLinks",
    "Contents",
    "ContextKey",
    "ContextRow",
    "ContextStore",
    "Due",
    "DueIndex",
    "ExecutionStatus",
    "Executions",
    "FilePolicy",
    "Head",
    "Holder",
    "Identifiers",
    "Incidents",
    "LinkPolicy",
    "Metrics",
    "Policy",
    "Ports",
    "PositionTakenError",
    "StoredContent",
    "StreamKey",
    "StreamPlaces",
    "TaskPage",
    "TaskQuery",
    "TaskStore",
    "TurnKey",
    "Upload",
    "Uploads",
    "WebhookPolicy",
    "WebhookPorts",
    "owner_of",
]

Answer = Callable[[Message], Message | None]
"""An agent's instant reply, given inside the API function without a task; None lets the task begin."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What this deployment decided.

    Attributes:
        retention: how long a task is kept after it was created.
        blocking_wait: how long a blocking SendMessage waits before it returns the task as it stands.
        deduplicate: whether a message id admits a message once.
        input_modes: media types the agent takes, `*/*` and `type/*` included; empty takes everything.
        streams_per_caller: streams one caller may have open at once.
        rate_limits: how often one caller may call; a class of operations without a limit is not counted.
        capabilities: the optional capabilities this deployment declares on its card.
        inline_limit: bytes of content above which a part is shown as a `url` part.
        answer_limit: bytes of content that one answer shows inline in all; the rest is shown as `url` parts.
        log_limit: bytes of content above which a part is stored outside the log.
        chunk_delay, chunk_size: seconds and characters of text that are gathered before a further chunk
        goes out. cancel_check: seconds between two looks for a cancellation while the agent is silent.
        snapshot_every: events between two snapshots of a running task; snapshot_settled: the same when it
        settles. due_after: how long something may be outstanding before the sweeper looks at it.
        permissions: who decides when the agent asks for permission. extensions: what is recorded and shown
        beyond the specification.
        links: what was decided about links to stored content.
        webhooks: what was decided about webhooks. files: what was decided about files of conversations.
    """

    retention: timedelta = timedelta(days=30)
    blocking_wait: timedelta = timedelta(seconds=25)
    deduplicate: bool = True
    streams_per_caller: int = 100
    rate_limits: Mapping[OperationClass, RateLimit] = field(default_factory=dict)
    input_modes: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()
    inline_limit: int = 256 * 1024
    answer_limit: int = 4 * 1024 * 1024
    log_limit: int = 64 * 1024
    chunk_delay: float = 0.040
    chunk_size: int = 4096
    cancel_check: float = 2.0
    snapshot_every: int = 200
    snapshot_settled: int = 8
    due_after: timedelta = timedelta(seconds=60)
    permissions: PermissionMode = PermissionMode.ASK
    extensions: frozenset[Extension] = frozenset()
    links: LinkPolicy = field(default_factory=LinkPolicy)
    webhooks: WebhookPolicy = field(default_factory=WebhookPolicy)
    files: FilePolicy = field(default_factory=FilePolicy)


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything the operations are given.

    `webhooks` is None where none are delivered, `rate_limits` where no calls are counted.
    """

    tasks: TaskStore
    admissions: AdmissionStore
    contexts: ContextStore
    executions: Executions
    contents: Contents
    uploads: Uploads
    streams: StreamPlaces
    due: DueIndex
    incidents: Incidents
    metrics: Metrics
    clock: Clock
    identifiers: Identifiers
    policy: Policy = field(default_factory=Policy)
    answer: Answer | None = None
    webhooks: WebhookPorts | None = None
    rate_limits: RateLimits | None = None
