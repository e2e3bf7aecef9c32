"""The Lambda Runtime API as a client sees it: next invocation, its answer, its error, failed starts.

The only file that knows paths and headers of that API (AWS: "Using the Lambda runtime API",
https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html). Knows nothing of handlers. One connection is
kept open.
"""

import http.client
import json
import select
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from a2a_runtime.failures import Failure
from a2a_runtime.streaming import StreamedAnswer, body_frames

VERSION: Final = "2018-06-01"
NAME: Final = "a2a-runtime"
ERROR_TYPE: Final = "Lambda-Runtime-Function-Error-Type"
HTTP_INTEGRATION: Final = "application/vnd.awslambda.http-integration-response"

MAX_PAYLOAD_BYTES: Final = 6 * 1024 * 1024 + 100
"""Largest buffered answer that Lambda takes, in bytes (6 MB and 100 bytes of envelope: 6291556)."""


class RuntimeApiError(Exception):
    """The Runtime API said no, or is gone; this process has no further use."""


@dataclass(frozen=True)
class Invocation:
    """One invocation as the Runtime API hands it out; `event` is the raw JSON."""

    request_id: str
    event: bytes
    headers: Mapping[str, str]
    """Header names in lower case."""


class RuntimeApi:
    """A connection to the Runtime API at `address` ("host:port", the value of AWS_LAMBDA_RUNTIME_API).

    Every method raises RuntimeApiError when the platform is gone or refuses.
    """

    def __init__(self, address: str) -> None:
        # No timeout: an idle environment waits for its next invocation for as long as the platform keeps it.
        self._connection = http.client.HTTPConnection(address, timeout=None)

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def next_invocation(self) -> Invocation:
        """Wait for the next invocation, for as long as it takes."""
        response, event = self._exchange("GET", "/runtime/invocation/next")
        headers = {name.lower(): value for name, value in response.getheaders()}
        if response.status != http.HTTPStatus.OK:
            raise RuntimeApiError(f"next invocation: HTTP {response.status}")
        return Invocation(headers["lambda-runtime-aws-request-id"], event, headers)

    def answer(self, request_id: str, result: bytes) -> None:
        """Give the whole answer, JSON, at once."""
        self._post(f"/runtime/invocation/{request_id}/response", result, {"Content-Type": "application/json"})

    def fail(self, request_id: str, failure: Failure) -> None:
        """Say that the handler raised."""
        self._post_failure(f"/runtime/invocation/{request_id}/error", failure)

    def fail_to_start(self, failure: Failure) -> None:
        """Say that the handler cannot be loaded; the process must end after it."""
        self._post_failure("/runtime/init/error", failure)

    def wait_for_restore(self) -> None:
        """Mark the environment ready to be snapshotted (SnapStart) and return in the restored copy."""
        response, _ = self._exchange("GET", "/runtime/restore/next")
        if response.status != http.HTTPStatus.OK:
            raise RuntimeApiError(f"restore: HTTP {response.status}")

    def fail_to_restore(self, failure: Failure) -> None:
        """Say that a hook after the restore raised; the process must end after it."""
        self._post_failure("/runtime/restore/error", failure)

    def stream(self, request_id: str, answer: StreamedAnswer) -> None:
        """Send an answer piece by piece: a piece is on the wire before the next one is asked for.

        Raises:
            ValueError: The prelude cannot be sent; nothing has been, and `fail` is still possible.
            RuntimeApiError: The reader went away; the pieces that were left have not been asked for.
        """
        frames = body_frames(answer)
        first = next(frames)
        try:
            connection = self._connection
            connection.putrequest("POST", f"/{VERSION}/runtime/invocation/{request_id}/response")
            connection.putheader("User-Agent", NAME)
            connection.putheader("Content-Type", HTTP_INTEGRATION)
            connection.putheader("Lambda-Runtime-Function-Response-Mode", "streaming")
            connection.putheader("Transfer-Encoding", "chunked")
            connection.putheader("Trailer", f"{ERROR_TYPE}, Lambda-Runtime-Function-Error-Body")
            connection.endheaders()
            connection.send(first)
            for frame in frames:
                if self._has_hung_up():
                    raise ConnectionResetError("nobody reads the answer any more")
                connection.send(frame)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException) as gone:
            self._connection.close()
            raise RuntimeApiError(f"streamed answer: {gone}") from gone
        finally:
            frames.close()
        if response.status != http.HTTPStatus.ACCEPTED:
            raise RuntimeApiError(f"streamed answer: HTTP {response.status}")

    def _has_hung_up(self) -> bool:
        """Say whether the platform has closed the connection, or answered before the answer was whole.

        A write would tell only the next time: the first one after the end is still taken by the kernel.
        """
        readable, _, _ = select.select([self._connection.sock], [], [], 0)
        return bool(readable)

    def _post_failure(self, path: str, failure: Failure) -> None:
        headers = {"Content-Type": "application/vnd.aws.lambda.error+json", ERROR_TYPE: failure.error_type}
        self._post(path, json.dumps(failure.as_json()).encode(), headers)

    def _post(self, path: str, body: bytes, headers: Mapping[str, str]) -> None:
        response, _ = self._exchange("POST", path, body, headers)
        if response.status not in (http.HTTPStatus.ACCEPTED, http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
            raise RuntimeApiError(f"{path}: HTTP {response.status}")

    def _exchange(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        try:
            self._connection.request(
                method, f"/{VERSION}{path}", body, {"User-Agent": NAME, **(headers or {})}
            )
            response = self._connection.getresponse()
            return response, response.read()
        except (OSError, http.client.HTTPException) as gone:
            self._connection.close()
            raise RuntimeApiError(f"{path}: {gone}") from gone
