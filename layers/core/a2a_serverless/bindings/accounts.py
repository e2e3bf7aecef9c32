"""What becomes known of a call while it is answered, to be written down once it has been.

An account is opened before anything is known and each step tells it what it has found out. It is closed when
the last byte of the answer has left, so that nobody waits for it. Only what an operation took for an
identifier gets into it: what a caller wrote that was not understood does not.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from a2a_serverless.bindings.caller import Admittance, Principal
from a2a_serverless.bindings.failures import public
from a2a_serverless.bindings.http import HttpRequest, HttpResponse, StreamedResponse
from a2a_serverless.operations.streams import Frames
from a2a_serverless.ports import Caller, Ports
from a2a_serverless.ports.audit import CLIENT_LEFT, OK, Audit, Call
from a2a_serverless.protocol.errors import A2AError, UnauthenticatedError
from a2a_serverless.protocol.objects import Message, Task
from a2a_serverless.protocol.protojson import ProtoModel


@dataclass(slots=True, kw_only=True)
class Account:
    """One call's: `binding` is over which it came, the rest what has been found out so far."""

    ports: Ports
    admittance: Admittance
    audit: Audit | None
    request: HttpRequest
    binding: str
    principal: Principal | None = None
    operation: str | None = None
    tenant: str | None = None
    task: str | None = None
    context: str | None = None
    message_id: str | None = None
    frames: int | None = None
    error: A2AError | None = None
    began: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.ports.clock.now()

    def asks(self, asked: object) -> None:
        """Note what a request names; `asked` is of an operation's own type."""
        message = getattr(asked, "message", None)
        self.tenant = getattr(asked, "tenant", None)
        self.context = getattr(message or asked, "context_id", None)
        self.message_id = getattr(message, "message_id", None)
        self.task = getattr(message or asked, "task_id", None) or getattr(asked, "id", None)

    def is_for(self, caller: Caller) -> None:
        """Note the tenant that it is for in the end."""
        self.tenant = caller.tenant or None

    def shows(self, result: ProtoModel | None) -> None:
        """Note what an answer, or an event of one, names."""
        found = getattr(result, "task", None) or getattr(result, "message", None) or result
        if isinstance(found, Task):
            self.task = found.id
        if isinstance(found, Task | Message):
            self.context = found.context_id

    def counted(self, frames: Frames) -> Frames:
        """The same frames, noted as they go by."""
        self.frames = 0
        try:
            for frame in frames:
                if frame is not None:
                    self.frames += 1
                    self.shows(frame.response)
                yield frame
        finally:
            if isinstance(frames, Generator):
                frames.close()

    def failed(self, error: Exception) -> A2AError:
        """The error as the caller may see it; any but the protocol's own is reported as an incident."""
        self.error = public(error, self.ports.incidents, self.request)
        return self.error

    def closing(self, response: HttpResponse | StreamedResponse) -> HttpResponse | StreamedResponse:
        """The answer, which has the account written down when it has left."""
        audit, status = self.audit, int(response.status)
        if audit is None:
            return response
        left: list[str] = []

        def whole(chunks: Iterator[bytes]) -> Iterator[bytes]:
            yield from chunks
            left.append(OK)

        def afterwards() -> None:
            audit.record(self._call(status, left[0] if left else CLIENT_LEFT))

        if isinstance(response, StreamedResponse):
            return replace(response, chunks=whole(response.chunks), afterwards=afterwards)
        left.append(OK)
        return replace(response, afterwards=afterwards)

    def _call(self, status: int, outcome: str) -> Call:
        principal, error = self.principal, self.error
        return Call(
            binding=self.binding,
            request_id=self.request.request_id,
            outcome=error.reason if error else outcome,
            http_status=status,
            duration=self.ports.clock.now() - self.began,
            operation=self.operation,
            principal=principal.name if principal else None,
            owner=principal.owner if principal else None,
            credentials=self._credentials() if isinstance(error, UnauthenticatedError) else None,
            tenant=self.tenant,
            task=self.task,
            context=self.context,
            message_id=self.message_id,
            frames=self.frames,
            error_id=error.metadata.get("errorId") if error else None,
        )

    def _credentials(self) -> tuple[str, ...]:
        """The headers that credentials may come in, as far as the request has them."""
        return tuple(name for name in self.admittance.access().headers if name in self.request.headers)
