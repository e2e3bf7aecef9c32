"""One environment's life: load the handler, then take an invocation, run it, answer it, and again.

Whatever a handler raises ends up as a Failure given to the platform; only the loss of the Runtime API ends
the loop.
"""

import sys
from collections.abc import Mapping, MutableMapping
from contextlib import closing
from typing import Final

from a2a_runtime.api import MAX_PAYLOAD_BYTES, Invocation, RuntimeApi, RuntimeApiError
from a2a_runtime.context import context_of
from a2a_runtime.failures import Failure, failure_of
from a2a_runtime.handler import Handler, HandlerUnavailable, extend_search_path, load_handler
from a2a_runtime.logs import start_logging
from a2a_runtime.marshalling import MarshalError, UnmarshalError, read_event, result_bytes
from a2a_runtime.snapshots import pass_through_snapshot
from a2a_runtime.streaming import StreamedAnswer

START_FAILED: Final = 1
HANDLER_LEFT: Final = 1
HANDLER_LEFT_TYPE: Final = "Runtime.ExitError"
PLATFORM_GONE: Final = 0
"""Exit status when the Runtime API is gone: the platform has ended this environment."""


def main(environ: MutableMapping[str, str]) -> int:
    """Serve until the platform is gone and return the exit status."""
    with closing(RuntimeApi(environ["AWS_LAMBDA_RUNTIME_API"])) as api:
        return live(api, environ)


def live(api: RuntimeApi, environ: MutableMapping[str, str]) -> int:
    """Load the handler, be snapshotted if so asked, and serve; return the exit status."""
    log = start_logging(environ)
    extend_search_path(environ)
    try:
        handler = load_handler(environ["_HANDLER"])
    except HandlerUnavailable as unavailable:
        write_log(unavailable.failure)
        api.fail_to_start(unavailable.failure)
        return START_FAILED
    if environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start":
        status = pass_through_snapshot(api)
        if status != 0:
            return status
    try:
        while True:
            invocation = api.next_invocation()
            log.request_id = invocation.request_id
            name_trace(invocation, environ)
            serve(api, handler, invocation, environ)
    except RuntimeApiError:
        return PLATFORM_GONE


def serve(api: RuntimeApi, handler: Handler, invocation: Invocation, environ: Mapping[str, str]) -> None:
    """Run one invocation and give its answer, its stream or its error to the platform.

    Raises:
        RuntimeApiError: The platform is gone.
        SystemExit: The handler left the process; the platform has been told.
    """
    outcome = run(handler, invocation, environ)
    if isinstance(outcome, StreamedAnswer):
        stream(api, invocation, outcome)
    elif isinstance(outcome, Failure):
        fail(api, invocation, outcome)
    else:
        api.answer(invocation.request_id, outcome)


def fail(api: RuntimeApi, invocation: Invocation, failure: Failure) -> None:
    """Log what went wrong and tell the platform."""
    write_log(failure)
    api.fail(invocation.request_id, failure)
    if failure.error_type == HANDLER_LEFT_TYPE:
        raise SystemExit(HANDLER_LEFT)


def run(
    handler: Handler, invocation: Invocation, environ: Mapping[str, str]
) -> bytes | StreamedAnswer | Failure:
    """Call the handler; whatever it raises is returned as a Failure."""
    try:
        result = handler(read_event(invocation.event), context_of(invocation, environ))
        return result if isinstance(result, StreamedAnswer) else sized(result_bytes(result), invocation)
    except MarshalError as error:
        return Failure("Runtime.MarshalError", str(error), invocation.request_id)
    except UnmarshalError as error:
        return Failure("Runtime.UnmarshalError", str(error), invocation.request_id)
    except Exception as error:  # noqa: BLE001 - a handler may raise anything, and all of it is reported
        return failure_of(error, invocation.request_id)
    except SystemExit as leaving:
        return Failure(
            HANDLER_LEFT_TYPE, f"the handler left with status {leaving.code}", invocation.request_id
        )


def sized(answer: bytes, invocation: Invocation) -> bytes | Failure:
    """Return the answer, or the failure it is when Lambda would not take it for its size."""
    if len(answer) <= MAX_PAYLOAD_BYTES:
        return answer
    message = f"Response payload size exceeded maximum allowed payload size ({MAX_PAYLOAD_BYTES} bytes)."
    return Failure("Function.ResponseSizeTooLarge", message, invocation.request_id)


def stream(api: RuntimeApi, invocation: Invocation, answer: StreamedAnswer) -> None:
    """Send a streamed answer; when nothing of it can be sent, the invocation fails."""
    try:
        api.stream(invocation.request_id, answer)
    except (TypeError, ValueError) as error:
        fail(api, invocation, failure_of(error, invocation.request_id))
    except RuntimeApiError as gone:
        # The reader left in the middle, as readers do: nobody is to be answered, the next may be served.
        write_log(Failure("Runtime.StreamBroken", str(gone), invocation.request_id), "INFO")


def name_trace(invocation: Invocation, environ: MutableMapping[str, str]) -> None:
    """Show the X-Ray trace of this invocation where the X-Ray libraries look for it."""
    trace = invocation.headers.get("lambda-runtime-trace-id")
    if trace is None:
        environ.pop("_X_AMZN_TRACE_ID", None)
    else:
        environ["_X_AMZN_TRACE_ID"] = trace


def write_log(failure: Failure, level: str = "ERROR") -> None:
    """Leave the reason in the function's log, as one event."""
    print(failure.as_log_text(level), file=sys.stdout, flush=True)  # noqa: T201 - standard output is Lambda's log
