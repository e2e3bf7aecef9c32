"""A handler served over HTTP on loopback, for the AWS Lambda Web Adapter, which is the runtime then.

The adapter turns each invocation into a request and hands the event's context on in headers of its own, which
no client can set: it overwrites them. It considers this process ready when the port accepts connections.
Adapter: https://github.com/awslabs/aws-lambda-web-adapter.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from a2a_runtime.api import Invocation
from a2a_runtime.context import LambdaContext, context_of
from a2a_runtime.failures import failure_of
from a2a_runtime.handler import Handler, HandlerUnavailable, extend_search_path, load_handler
from a2a_runtime.logs import start_logging
from a2a_runtime.loop import START_FAILED, write_log
from a2a_runtime.proxy import HttpAnswer, HttpRequest, answer_of, event_of
from a2a_runtime.streaming import chunk

REQUEST_CONTEXT: Final = "x-amzn-request-context"
LAMBDA_CONTEXT: Final = "x-amzn-lambda-context"
LONGEST_SECONDS: Final = 900
"""How long any invocation may take."""

BODILESS: Final = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})


class WebServer(ThreadingHTTPServer):
    """Serves one handler on 127.0.0.1; port 0 picks a free one."""

    daemon_threads = True

    def __init__(self, handler: Handler, environ: Mapping[str, str], port: int) -> None:
        self.handler = handler
        self.environ = environ
        super().__init__(("127.0.0.1", port), Exchange)


class Exchange(BaseHTTPRequestHandler):
    """One connection of the adapter."""

    protocol_version = "HTTP/1.1"
    server: WebServer

    def serve(self) -> None:
        """Answer one request; what fails after the head has left cuts the connection off."""
        try:
            answer = answer_of(self.server.handler(event_of(self.read_request()), self.lambda_context()))
        except Exception as error:  # noqa: BLE001 - a handler may raise anything; the log has it, the caller has not
            write_log(failure_of(error))
            answer = HttpAnswer(
                HTTPStatus.INTERNAL_SERVER_ERROR, (), (b'{"message":"Internal server error"}',)
            )
        try:
            self.write(answer)
        except Exception as error:  # noqa: BLE001 - as above, or the adapter left
            write_log(failure_of(error))
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = serve  # noqa: N815 - the standard library calls these

    def read_request(self) -> HttpRequest:
        """Read the request that the adapter made of an event."""
        path, _, query = self.path.partition("?")
        ours = {REQUEST_CONTEXT, LAMBDA_CONTEXT}
        return HttpRequest(
            method=self.command,
            path=path,
            query=query,
            headers=[(name, value) for name, value in self.headers.items() if name.lower() not in ours],
            body=self.rfile.read(int(self.headers.get("content-length", "0"))),
            context=self.told(REQUEST_CONTEXT),
        )

    def lambda_context(self) -> LambdaContext:
        """Return the context of the invocation behind the request; without adapter there is time enough."""
        told = self.told(LAMBDA_CONTEXT)
        deadline = told.get("deadline") or int((time.time() + LONGEST_SECONDS) * 1000)
        headers = {
            "lambda-runtime-invoked-function-arn": str(told.get("invoked_function_arn", "")),
            "lambda-runtime-deadline-ms": str(deadline),
        }
        return context_of(Invocation(str(told.get("request_id", "")), b"", headers), self.server.environ)

    def told(self, header: str) -> dict[str, Any]:
        """Return what the adapter says in one of its headers."""
        said: dict[str, Any] = json.loads(self.headers.get(header) or "{}")
        return said

    def write(self, answer: HttpAnswer) -> None:
        """Send an answer, each piece before the next is asked for."""
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        # The answer to a HEAD may tell the length of a body it does not have, and then has no chunks.
        bodiless = answer.status in BODILESS or self.command == "HEAD"
        if not bodiless:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        pieces = iter(answer.chunks)
        try:
            for piece in pieces:
                if piece and not bodiless:
                    self.wfile.write(chunk(piece))
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()
        if not bodiless:
            self.wfile.write(chunk(b""))

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name the standard library gave it
        """Log nothing: the function's log is for what the function says."""


def main(environ: Mapping[str, str]) -> int:
    """Load the handler and serve it until the platform ends this process; return the exit status."""
    start_logging(environ)
    extend_search_path(environ)
    try:
        handler = load_handler(environ["_HANDLER"])
    except HandlerUnavailable as unavailable:
        write_log(unavailable.failure)
        return START_FAILED
    with WebServer(handler, environ, int(environ.get("AWS_LWA_PORT", "8080"))) as server:
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
