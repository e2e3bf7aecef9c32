"""Who called what, and what came of it: one record a call, for whoever has to account for it later.

Identifiers and outcomes only. Never what was said or made, never a credential, never a webhook's address.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

OK = "OK"
CLIENT_LEFT = "CLIENT_LEFT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call, once it has been answered. What is None never became known, or does not apply.

    Attributes:
        binding: over which it came.
        request_id: names the request in the logs of the gateway.
        outcome: `OK`; the reason of the error that it was answered with, as ErrorInfo gives it; or
        `CLIENT_LEFT` where somebody left before the end of a stream.
        http_status: of the answer; 200 for most errors of JSON-RPC.
        duration: from its arrival in the function to the end of the answer, a stream's last event included.
        operation: the method; `GetContent` for the artifacts route.
        principal, owner: who called, by the name that the deployment or an issuer gives them, and the hash
        that their tasks are kept under.
        credentials: of whoever was not let in, the headers that held any.
        tenant, task, context, message_id: what it was about.
        frames: events of a stream that were sent.
        error_id: finds the story of a fault; the answer gave it too.
    """

    binding: str
    request_id: str
    outcome: str
    http_status: int
    duration: timedelta
    operation: str | None = None
    principal: str | None = None
    owner: str | None = None
    credentials: tuple[str, ...] | None = None
    tenant: str | None = None
    task: str | None = None
    context: str | None = None
    message_id: str | None = None
    frames: int | None = None
    error_id: str | None = None


class Audit(Protocol):
    """Where calls are accounted for."""

    def record(self, call: Call) -> None:
        """Write the call down; never raises."""
