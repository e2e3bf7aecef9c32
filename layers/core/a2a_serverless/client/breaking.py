"""Why a connection came to nothing, in words for whoever asked.

Without an address: those may hold secrets. And without the name of a class: it tells a caller nothing.
"""

import socket
import ssl
from collections.abc import Iterator, Sequence

import httpx

NO_ANSWER = "it cannot be reached"

WORDS: Sequence[tuple[type[BaseException] | tuple[type[BaseException], ...], str]] = (
    (ssl.SSLError, "it does not speak TLS as we do"),
    (socket.gaierror, "its name is not known"),
    (ConnectionRefusedError, "nobody listens there"),
    (httpx.ProxyError, "the proxy does not let it through"),
    ((httpx.UnsupportedProtocol, httpx.InvalidURL), "it is no address of HTTP"),
    ((TimeoutError, httpx.TimeoutException), "it took too long"),
    (httpx.RemoteProtocolError, "what answers hung up, or does not speak HTTP"),
    ((httpx.ReadError, httpx.WriteError, ConnectionError), "it was cut off"),
)
"""What each kind of failure is called."""


def what_broke(error: Exception) -> str:
    """The reason, such as `nobody listens there`; of what is not known, that it cannot be reached."""
    for each in _reasons(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {each.verify_message}"
        for kind, words in WORDS:
            if isinstance(each, kind):
                return words
    return NO_ANSWER


def _reasons(error: BaseException) -> Iterator[BaseException]:
    """What led to an error, the first cause first: it says most."""
    before = error.__cause__ or error.__context__
    if before is not None:
        yield from _reasons(before)
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _reasons(each)
    yield error
