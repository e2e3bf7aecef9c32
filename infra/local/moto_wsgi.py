"""Every other AWS request: our HTTP request as the WSGI call that moto's server application expects."""

import io
import sys
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_to_bytes

from moto import backends
from moto.core.request import PRESERVED_HEADER_NAMES_ENVIRON_KEY
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from infra.local.wire import Request, Response


class MotoApplication:
    """moto's server, without its web server."""

    def __init__(self, port: int) -> None:
        self._application = DomainDispatcherApplication(create_backend_app)
        # Read from the disk for every request, though no service appears meanwhile.
        services = tuple(backends.list_of_moto_modules())
        backends.list_of_moto_modules = lambda: services
        self._port = port

    def answer(self, request: Request) -> Response:
        """Answer one request."""
        begun: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], _: Any = None) -> None:  # noqa: ANN401 - exc_info
            begun.append((status, headers))

        pieces = self._application(environ_of(request, self._port), start_response)
        body = b"".join(pieces)
        status, headers = begun[-1]
        kept = tuple(
            pair for pair in headers if request.method == "HEAD" or pair[0].lower() != "content-length"
        )
        return Response(HTTPStatus(int(status.split()[0])), kept, body)


def environ_of(request: Request, port: int) -> dict[str, Any]:
    """Return the WSGI environment of a request (PEP 3333)."""
    path, _, query = request.target.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "RAW_URI": request.target,
        "REQUEST_URI": request.target,
        "REMOTE_ADDR": request.client,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        PRESERVED_HEADER_NAMES_ENVIRON_KEY: {},
    }
    for name, value in request.headers:
        key = f"HTTP_{name.upper().replace('-', '_')}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    environ["CONTENT_TYPE"] = environ.pop("HTTP_CONTENT_TYPE", "")
    # The body is whole by now, however it was sent.
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    environ.pop("HTTP_CONTENT_LENGTH", None)
    environ["CONTENT_LENGTH"] = str(len(request.body))
    return environ
