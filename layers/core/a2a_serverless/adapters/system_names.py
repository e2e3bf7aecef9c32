"""The domain name system, as the operating system asks it, with a limit on how long that may take."""

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from a2a_serverless.ports.webhooks import UnresolvableNameError

Found = Sequence[tuple[Any, ...]]

PATIENCE = 3.0
"""Seconds a name server has to answer; the system's own limits add up to half a minute and cannot be set."""


@dataclass(frozen=True, slots=True)
class SystemNames:
    """Every address that a connection to the host might be made to."""

    look_up: Callable[..., Found] = socket.getaddrinfo
    patience: float = PATIENCE

    def addresses(self, host: str) -> Sequence[str]:
        """Every IPv4 and IPv6 address of the host, or the one it spells; raises UnresolvableNameError.

        The system also reads spellings of addresses that nobody should use, such as `2130706433`: what they
        mean is what a connection would go to, so that is the answer.
        """
        try:
            return (str(ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))),)
        except ValueError:
            pass  # a name
        answers: SimpleQueue[Found | Exception] = SimpleQueue()
        Thread(target=self._ask, args=(host, answers), daemon=True).start()
        try:
            found = answers.get(timeout=self.patience)
        except Empty:
            raise UnresolvableNameError(host) from None
        if isinstance(found, Exception):
            raise UnresolvableNameError(host) from found
        return tuple(dict.fromkeys(str(address[0]) for *_, address in found))

    def _ask(self, host: str, answers: "SimpleQueue[Found | Exception]") -> None:
        """Ask in a thread of its own, which nobody waits for any more once patience has ended."""
        try:
            answers.put(self.look_up(host, None, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:  # UnicodeError: it cannot be a name at all
            answers.put(error)
