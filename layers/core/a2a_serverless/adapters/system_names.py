"""The domain name system, as the operating system asks it."""

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from a2a_serverless.ports.webhooks import UnresolvableNameError


@dataclass(frozen=True, slots=True)
class SystemNames:
    """Every address that a connection to the host might be made to."""

    look_up: Callable[..., Sequence[tuple[Any, ...]]] = socket.getaddrinfo

    def addresses(self, host: str) -> Sequence[str]:
        """Every IPv4 and IPv6 address of the host, or the one it spells; raises UnresolvableNameError.

        The system also reads spellings of addresses that nobody should use, such as `2130706433`: what they
        mean is what a connection would go to, so that is the answer.
        """
        try:
            return (str(ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))),)
        except ValueError:
            pass  # a name
        try:
            found = self.look_up(host, None, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as error:  # UnicodeError: it cannot be a name at all
            raise UnresolvableNameError(host) from error
        return tuple(dict.fromkeys(str(address[0]) for *_, address in found))
