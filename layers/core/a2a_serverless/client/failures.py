"""What goes wrong for a caller, other than an agent's own refusals.

An agent that answers with an error of the protocol raises that error's class of `protocol.errors`; one that
no class is known for is an UnknownError, which keeps what was said. Everything else is a ClientError: no
text of it holds a credential, or the query of an address.

    ClientError
    ├── UnreachableError          no connection, or one that broke before there was an answer
    ├── TimedOutError             a phase took too long; says which
    ├── UnexpectedAnswerError     what came is not of the protocol: a page of HTML, another task, a wrong id
    ├── UnavailableError          503, or 502 and 504 of what stands in front of the agent
    ├── StreamCutError            a stream broke and could not be taken up again; says where it was
    ├── NoUsableInterfaceError    none of the card's interfaces is spoken here; lists them
    └── UntrustedCardError        the card is not signed by anybody who is trusted
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from a2a_serverless.protocol.errors import A2AError

if TYPE_CHECKING:
    from a2a_serverless.client.card_verification import Verification
    from a2a_serverless.protocol.card import AgentInterface


class ClientError(Exception):
    """A call that did not come to an answer of the protocol."""


class UnreachableError(ClientError):
    """There is no connection, or it broke; `request_sent` says whether the agent may have heard."""

    def __init__(self, message: str, *, request_sent: bool = False) -> None:
        super().__init__(message)
        self.request_sent = request_sent


class TimedOutError(ClientError):
    """A phase of a call took longer than its limit: `connect`, `first byte`, `idle` or `total`."""

    def __init__(self, phase: str, seconds: float) -> None:
        super().__init__(f"{phase}: nothing within {seconds:g} s")
        self.phase = phase


class UnexpectedAnswerError(ClientError):
    """The answer is not of the protocol. `excerpt` is its beginning, for whoever has to find out why."""

    def __init__(self, message: str, *, http_status: int | None = None, excerpt: str = "") -> None:
        super().__init__(message)
        self.http_status = http_status
        self.excerpt = excerpt


class UnavailableError(ClientError):
    """The agent cannot be had at present; `retry_after` is how many seconds it asks to be left alone."""

    def __init__(self, http_status: int, retry_after: float | None = None) -> None:
        super().__init__(f"the agent is not available at present (status {http_status})")
        self.http_status = http_status
        self.retry_after = retry_after


class StreamCutError(ClientError):
    """A stream broke before its task had ended or waited, and every attempt to take it up again failed.

    The task goes on: `task_id` and `last_event_id`, where there were any, are where to subscribe again.
    """

    def __init__(self, message: str, *, task_id: str | None, last_event_id: str | None) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.last_event_id = last_event_id


@dataclass(frozen=True, slots=True)
class PassedOver:
    """An interface of a card that is not used, and why."""

    interface: "AgentInterface"
    reason: str


class NoUsableInterfaceError(ClientError):
    """None of the interfaces can be used; `offered` are all of them, each with the reason."""

    def __init__(self, offered: Sequence[PassedOver]) -> None:
        listed = "; ".join(
            f"{each.interface.protocol_binding} {each.interface.protocol_version} at "
            f"{each.interface.url} ({each.reason})"
            for each in offered
        )
        super().__init__(f"none of the agent's interfaces can be used: {listed}")
        self.offered = tuple(offered)


class UntrustedCardError(ClientError):
    """The card is not what somebody trusted has signed; `verification` says what was found."""

    def __init__(self, verification: "Verification") -> None:
        super().__init__(f"the card cannot be trusted: {verification.verdict} ({verification.detail})")
        self.verification = verification


class UnknownError(A2AError):
    """An error that an agent answers and no class is known for, with everything it said.

    `code` is JSON-RPC's, or 0 over HTTP+JSON; `http_status` is None where it was 200 or is no known one.
    """

    code = 0
    http_status = HTTPStatus.INTERNAL_SERVER_ERROR
    status = "UNKNOWN"
    reason = "UNKNOWN"
    text = "The agent answered an error that is not known here"

    def __init__(
        self,
        message: str | None = None,
        *,
        code: int = 0,
        status: str = "UNKNOWN",
        http_status: int | None = None,
        data: Any = None,  # noqa: ANN401  JSON is any of six types
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, metadata=metadata)
        self.answered_code = code
        self.answered_status = status
        self.answered_http_status = http_status
        self.data = data
