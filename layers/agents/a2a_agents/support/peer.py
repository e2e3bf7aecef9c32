"""Where fulfilment is, and what it is shown: read from the environment when the first turn needs it.

A2A_FULFILMENT_URL           the address of its card, or of the agent
A2A_FULFILMENT_CREDENTIALS   where a bearer token for it lies: `secretsmanager:<name or ARN>`, `ssm:<name>`
                             or `env:<variable>`; empty means that it asks for none
A2A_FULFILMENT_ORIGINS       further origins the token is for, as a comma list
A2A_FULFILMENT_JWKS          where keys lie that may have signed its card; empty means any card is taken
"""

import asyncio
import os
from collections.abc import Mapping
from functools import cache
from time import monotonic

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.aws_values import ParameterValue, SecretsManagerValue
from a2a_serverless.client import Bearer, Options, Trust
from a2a_serverless.client.remote_agent import RemoteAgent

URL = "A2A_FULFILMENT_URL"
CREDENTIALS = "A2A_FULFILMENT_CREDENTIALS"
ORIGINS = "A2A_FULFILMENT_ORIGINS"
JWKS = "A2A_FULFILMENT_JWKS"

KEPT_SECONDS = 300.0
"""For how long a token is not read again."""


class PeerError(Exception):
    """This deployment does not say where fulfilment is, or how to be let in; the text names the variable."""


class KeptToken:
    """A token that lies somewhere, read when it is needed and kept for a while."""

    def __init__(self, reference: str, environ: Mapping[str, str]) -> None:
        self._reference = reference
        self._environ = environ
        self._token = ""
        self._until = 0.0

    async def __call__(self) -> str:
        """The token. Raises UnreadableValueError, or PeerError for what is no reference."""
        if monotonic() >= self._until:
            self._token = await asyncio.to_thread(self._read)
            self._until = monotonic() + KEPT_SECONDS
        return self._token

    def _read(self) -> str:
        kind, _, name = self._reference.partition(":")
        match kind:
            case "env" if name in self._environ:
                return self._environ[name]
            case "secretsmanager":
                return SecretsManagerValue(AwsClients().secretsmanager(), name).read()
            case "ssm":
                return ParameterValue(AwsClients().ssm(), name).read()
        raise PeerError(f"{CREDENTIALS} names no token")


@cache
def fulfilment() -> RemoteAgent:
    """The fulfilment agent of this deployment. Raises PeerError."""
    return peer(os.environ)


def peer(environ: Mapping[str, str]) -> RemoteAgent:
    """The agent that an environment tells of. Raises PeerError."""
    url = environ.get(URL)
    if not url:
        raise PeerError(f"{URL} is not set: it says where fulfilment is served")
    reference = environ.get(CREDENTIALS)
    auth = Bearer(KeptToken(reference, environ)) if reference else None
    origins = tuple(origin.strip() for origin in environ.get(ORIGINS, "").split(",") if origin.strip())
    jwks = environ.get(JWKS)
    return RemoteAgent(
        url=url,
        name="fulfilment",
        options=Options(auth=auth, credential_origins=origins),
        trust=Trust(jwks_url=jwks) if jwks else None,
        skill="order_investigation",
    )
