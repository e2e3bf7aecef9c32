"""functions/jsonrpc as an ASGI application, for a comparison with the official SDK under the same server."""

import os

from a2a_runtime.handler import extend_search_path, load_handler
from a2a_runtime.to_asgi import THE_REST, HandlerApplication

extend_search_path(os.environ)
application = HandlerApplication({THE_REST: load_handler("app.handler")})
