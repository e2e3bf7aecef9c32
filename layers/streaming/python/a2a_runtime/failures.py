"""What a raised exception looks like to whoever invoked the function.

The shape (errorMessage, errorType, requestId, stackTrace) and the names of the runtime's own errors are those
of the stock Python runtime, because callers match on them: a state machine retries by errorType. Knows no
HTTP.
"""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict

OWN_FOLDER: Final = str(Path(__file__).parent)


class FailureJson(TypedDict):
    """The JSON that the Runtime API takes for an error."""

    errorMessage: str
    errorType: str
    requestId: str
    stackTrace: Sequence[str]


@dataclass(frozen=True)
class Failure:
    """Why an invocation, or the start of the environment, did not work."""

    error_type: str
    message: str
    request_id: str = ""
    stack_trace: tuple[str, ...] = ()

    def as_json(self) -> FailureJson:
        """Return the Runtime API's form of it."""
        return {
            "errorMessage": self.message,
            "errorType": self.error_type,
            "requestId": self.request_id,
            "stackTrace": self.stack_trace,
        }

    def as_log_text(self, level: str = "ERROR") -> str:
        """Return one log event: a line feed would start the next one, so carriage returns part the lines."""
        lines = [f"[{level}] {self.error_type}: {self.message}"]
        if self.stack_trace:
            lines += ["Traceback (most recent call last):", *self.stack_trace]
        return "\r".join(line.rstrip("\n").replace("\n", "\r") for line in lines)


def failure_of(error: BaseException, request_id: str = "") -> Failure:
    """Describe what a handler raised: its class name, its text, and the frames outside this package."""
    frames = traceback.extract_tb(error.__traceback__)
    foreign = [frame for frame in frames if not frame.filename.startswith(OWN_FOLDER)]
    return Failure(type(error).__name__, str(error), request_id, tuple(traceback.format_list(foreign)))
