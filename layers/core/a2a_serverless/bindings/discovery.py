"""How the agent is discovered: card and public keys at their well-known addresses, and a health check.

The one module of the package that loads a web framework, FastAPI; only the card's function imports it. The
request is the gateway's event, not what the framework makes of it: the card's address must never come from a
Host header. What breaks on the way (keys that cannot be reached, above all) is an incident with an id.
"""

import json
from collections.abc import Callable
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from a2a_serverless.bindings.card import CARD_PATH, CardDesk
from a2a_serverless.bindings.gateway import request_of
from a2a_serverless.bindings.http import JSON, HttpRequest, HttpResponse, on_every_answer, preflight
from a2a_serverless.bindings.keys import JWK_SET, KEYS_PATH, KeyDesk
from a2a_serverless.ports import Incidents

READING = ["GET", "HEAD"]
TEXT = (JSON, JWK_SET)
"""Media types that need not travel in base64: all there are."""


Desk = Callable[[HttpRequest], HttpResponse]
"""Answers one kind of question."""


def discovery(desk: CardDesk, incidents: Incidents, keys: KeyDesk | None = None) -> FastAPI:
    """The application of the card's function, for Mangum to run; without keys they have no address."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)

    @app.api_route(CARD_PATH, methods=READING)
    async def card(request: Request) -> Response:
        return _answered(request, desk.answer, incidents)

    @app.api_route("/health", methods=READING)
    async def health(request: Request) -> Response:
        return _answered(request, desk.health, incidents)

    @app.options(CARD_PATH)
    @app.options("/health")
    async def options(request: Request) -> Response:
        return _sent(request_of(request.scope["aws.event"]), preflight(desk.headers))

    if keys is not None:
        _add_keys(app, keys, incidents)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        response = HttpResponse(error.status_code, error.headers or {})
        return _sent(request_of(request.scope["aws.event"]), response)

    return app


def _add_keys(app: FastAPI, keys: KeyDesk, incidents: Incidents) -> None:
    @app.api_route(KEYS_PATH, methods=READING)
    async def public_keys(request: Request) -> Response:
        return _answered(request, keys.answer, incidents)

    @app.options(KEYS_PATH)
    async def options(request: Request) -> Response:
        return _sent(request_of(request.scope["aws.event"]), preflight())


def _answered(request: Request, desk: Desk, incidents: Incidents) -> Response:
    asked = request_of(request.scope["aws.event"])
    try:
        return _sent(asked, desk(asked))
    except Exception as error:  # noqa: BLE001  whatever it is, nobody outside sees more than its id
        told = {"error": "Internal", "errorId": incidents.report(error, request=asked.request_id)}
        headers = {"Content-Type": JSON, "Cache-Control": "no-store"}
        failed = HttpResponse(HTTPStatus.INTERNAL_SERVER_ERROR, headers, json.dumps(told).encode())
        return _sent(asked, failed)


def _sent(request: HttpRequest, response: HttpResponse) -> Response:
    headers = {**on_every_answer(request), **response.headers}
    return Response(response.body, int(response.status), headers)
