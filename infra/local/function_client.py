"""How moto's process reaches the functions: one request to the stack's Lambda API for each invocation."""

import http.client
from http import HTTPStatus
from typing import Final

from infra.local.batches import Answer

INVOCATIONS: Final = "/2015-03-31/functions/{}/invocations"


class FunctionClient:
    """Invokes functions behind `address` ("host:port")."""

    def __init__(self, address: str) -> None:
        self._address = address

    def invoke(self, function: str, event: bytes) -> Answer:
        """Invoke a function by its name, waiting as long as it takes.

        Raises:
            OSError: Nobody is there, or no longer.
        """
        connection = http.client.HTTPConnection(self._address, timeout=None)
        try:
            connection.request("POST", INVOCATIONS.format(function), event)
            response = connection.getresponse()
            payload = response.read()
        except http.client.HTTPException as error:
            raise ConnectionAbortedError(str(error)) from error
        finally:
            connection.close()
        well = response.status == HTTPStatus.OK and response.getheader("X-Amz-Function-Error") is None
        return Answer(payload, failed=not well)
