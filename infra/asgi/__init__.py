"""The deployment's API as one ASGI application, for a container or a server of one's own.

    PYTHONPATH=layers/core:layers/agents:layers/streaming/python uvicorn infra.asgi:app

The functions are those that Lambda runs, unchanged, and take the same environment; BASE_URL must be given,
since no gateway says under which address a request came in. Turns still need a state machine to run them.
"""

from a2a_runtime.handler import load_handler
from a2a_runtime.to_asgi import THE_REST, HandlerApplication

HANDLERS = {
    "/.well-known/agent-card.json": "functions.card.app.handler",
    "/.well-known/jwks.json": "functions.card.app.handler",
    "/health": "functions.card.app.handler",
    "/": "functions.jsonrpc.app.handler",
    THE_REST: "functions.http_json.app.handler",
}
"""As in template.yaml: which handler answers which path."""

app = HandlerApplication({path: load_handler(name) for path, name in HANDLERS.items()})
