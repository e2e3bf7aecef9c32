"""The card of one caller: what they are told of the agent that others are not (specification 3.1.11, 13.3).

Whoever asks must have said who they are. What the answer holds is theirs alone, so no cache may show it to
anybody else; a client may keep it as long as the public card, and ask whether it still is the current one.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus

from a2a_serverless.agent import AgentProfile, CardAdditions, ExtendedCard
from a2a_serverless.bindings.caller import Admittance
from a2a_serverless.bindings.caller.refusals import UnknownCallerError
from a2a_serverless.bindings.card import MAX_AGE, CardSource, Sign
from a2a_serverless.bindings.conditional import is_current
from a2a_serverless.bindings.http import HttpRequest, HttpResponse
from a2a_serverless.ports import Caller
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.errors import (
    ExtendedAgentCardNotConfiguredError,
    InvalidAgentResponseError,
)

CallersCard = Callable[[Caller], AgentCard]
"""The card of a caller. Raises A2AError."""


@dataclass(frozen=True)
class ExtendedCards:
    """The cards of callers: made of the public one, by what the agent's package says of each."""

    source: CardSource
    extend: ExtendedCard
    sign: Sign | None = None

    def __call__(self, caller: Caller) -> AgentCard:
        """The card of this caller, signed like the public one.

        Raises:
            UnknownCallerError: they did not say who they are.
            ExtendedAgentCardNotConfiguredError: they have none of their own.
            InvalidAgentResponseError: the agent's package gave something else than a card.
        """
        if caller.anonymous:
            raise UnknownCallerError(self.source.admittance.access().challenges)
        profile = extended(self.source.profile, self.extend(caller.claims))
        card = replace(self.source, profile=profile).card(caller.base_url, tenant=caller.tenant or None)
        return self.sign(card) if self.sign else card


def extended(profile: AgentProfile, given: object) -> AgentProfile:
    """The profile with what was given for a caller.

    Raises:
        ExtendedAgentCardNotConfiguredError: nothing was.
        InvalidAgentResponseError: it is neither additions nor a profile.
    """
    match given:
        case None:
            raise ExtendedAgentCardNotConfiguredError
        case AgentProfile():
            return given
        case CardAdditions():
            return _with(profile, given)
    raise InvalidAgentResponseError


def _with(profile: AgentProfile, additions: CardAdditions) -> AgentProfile:
    skills = {skill.id: skill for skill in (*profile.skills, *additions.skills)}
    return replace(
        profile,
        skills=tuple(skills.values()),
        description=additions.description or profile.description,
        version=additions.version or profile.version,
        documentation_url=additions.documentation_url or profile.documentation_url,
    )


def for_one_caller(request: HttpRequest, response: HttpResponse, admittance: Admittance) -> HttpResponse:
    """An answer with a caller's card as caches have to treat it, or that the caller has it already.

    Only a GET can be asked for on condition (RFC 9110, 13.2.1); JSON-RPC's POST always brings the card.
    """
    headers = {
        **response.headers,
        "Cache-Control": f"private, max-age={MAX_AGE}",
        "Vary": ", ".join(("Accept", "Authorization", "Content-Type", *admittance.headers)),
    }
    if request.method not in ("GET", "HEAD"):
        return replace(response, headers=headers)
    tagged = response.headers.get("Content-Type", "").encode() + b"\n" + response.body
    headers["ETag"] = f'"{hashlib.sha256(tagged).hexdigest()[:32]}"'
    if not is_current(request, headers["ETag"]):
        return replace(response, headers=headers)
    del headers["Content-Type"]
    return HttpResponse(HTTPStatus.NOT_MODIFIED, headers)
