"""The agent card of a deployment, and how it is answered (specification 4.4, 8.2, 8.6).

The card says what works here and nothing else: it is built from the agent's profile, the capabilities the
operations serve and the ways in that are configured. Its bytes are the same for every caller of one
address, signatures included, so their hash is their entity tag.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from http import HTTPStatus

from a2a_serverless.agent import AgentProfile
from a2a_serverless.bindings.caller import Access, Admittance
from a2a_serverless.bindings.caller.refusals import at_the_door
from a2a_serverless.bindings.conditional import http_date, is_current
from a2a_serverless.bindings.extensions import announced
from a2a_serverless.bindings.http import JSON, HttpRequest, HttpResponse
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.card import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
)
from a2a_serverless.protocol.errors import A2AError
from a2a_serverless.protocol.parameters import SERVED_VERSIONS

CARD_PATH = "/.well-known/agent-card.json"

MAX_AGE = 300
"""Seconds a client may use a card without asking: how late it may notice a deployment."""

BINDINGS = ("JSONRPC", "HTTP+JSON")
"""In order of preference. Both are served below the same address."""


HEALTHY = HttpResponse(200, {"Content-Type": JSON, "Cache-Control": "no-store"}, b'{"status":"healthy"}')


@dataclass(frozen=True)
class CardSource:
    """What the card is made of, the same for the life of a process."""

    profile: AgentProfile
    policy: Policy
    admittance: Admittance
    extensions: Sequence[AgentExtension] = ()
    deployed_at: datetime | None = None

    def card(self, base_url: str, access: Access | None = None, *, tenant: str | None = None) -> AgentCard:
        """The card of this deployment as reached under an address, by those who may come in at present.

        With a tenant it is what clients of that tenant echo in every request (4.4.6).
        """
        access = access or self.admittance.access()
        profile = self.profile
        return AgentCard(
            name=profile.name,
            description=profile.description,
            version=profile.version,
            provider=profile.provider,
            documentation_url=profile.documentation_url,
            icon_url=profile.icon_url,
            supported_interfaces=tuple(
                AgentInterface(
                    url=base_url, tenant=tenant, protocol_binding=binding, protocol_version=version
                )
                for version in SERVED_VERSIONS
                for binding in BINDINGS
            ),
            capabilities=self._capabilities,
            default_input_modes=tuple(profile.input_modes),
            default_output_modes=tuple(profile.output_modes),
            skills=tuple(profile.skills),
            security_schemes=access.announced,
            security_requirements=access.requirements,
        )

    @cached_property
    def _capabilities(self) -> AgentCapabilities:
        declared = self.policy.capabilities
        return AgentCapabilities(
            streaming="streaming" in declared,
            push_notifications="push_notifications" in declared,
            extended_agent_card="extended_agent_card" in declared,
            extensions=(
                *self.extensions,
                *announced(self.policy.extensions, self.policy.permissions, self.policy.files),
            ),
        )


@dataclass(frozen=True)
class ServedCard:
    """The card's bytes and their entity tag."""

    body: bytes
    etag: str

    @classmethod
    def of(cls, card: AgentCard) -> "ServedCard":
        """The card as it is printed."""
        body = card.to_json().encode()
        return cls(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


Sign = Callable[[AgentCard], AgentCard]
"""Gives a card its signatures."""


class CardDesk:
    """Answers for the card, made once per address; how it is signed may change while nothing else does."""

    def __init__(self, source: CardSource, sign: Sign | None = None) -> None:
        self._source = source
        self._sign = sign
        self._card = lru_cache(maxsize=16)(source.card)
        self._unsigned = lru_cache(maxsize=16)(lambda *about: ServedCard.of(self._card(*about)))

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Answer a GET or HEAD of the card; where it is closed, only to those who may come in."""
        admittance = self._source.admittance
        access = admittance.access()
        if not access.public_card and (closed := self._refusal(request)) is not None:
            return closed
        served = self._served(admittance.address(request), access)
        modified = self._source.deployed_at
        whose = "public" if access.public_card else "private"
        headers = {"ETag": served.etag, "Cache-Control": f"{whose}, max-age={MAX_AGE}"}
        if modified is not None:
            headers["Last-Modified"] = http_date(modified)
        if is_current(request, served.etag, modified):
            return HttpResponse(HTTPStatus.NOT_MODIFIED, headers)
        return HttpResponse(HTTPStatus.OK, {"Content-Type": JSON, **headers}, served.body)

    def health(self, request: HttpRequest) -> HttpResponse:
        """Answer a GET or HEAD that asks whether the agent is well."""
        closed = None if self._source.admittance.access().public_health else self._refusal(request)
        return closed or HEALTHY

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers that credentials may come in, besides Authorization."""
        return self._source.admittance.headers

    def _refusal(self, request: HttpRequest) -> HttpResponse | None:
        try:
            self._source.admittance.authenticate(request)
        except A2AError as error:
            return at_the_door(error)
        return None

    def _served(self, base_url: str, access: Access) -> ServedCard:
        if self._sign is None:
            return self._unsigned(base_url, access)
        return ServedCard.of(self._sign(self._card(base_url, access)))
