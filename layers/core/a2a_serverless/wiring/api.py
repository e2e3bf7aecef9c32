"""What the bindings answer from: the world, the agent's profile, who is let in. Never loads the agent."""

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.bindings.card import CardSource
from a2a_serverless.bindings.extended_card import ExtendedCards
from a2a_serverless.bindings.service import Endpoint
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.decided import admittance, policy
from a2a_serverless.wiring.deployer import answer, extended_card, profile
from a2a_serverless.wiring.late import late
from a2a_serverless.wiring.logs import audit
from a2a_serverless.wiring.world import ports


def endpoint(settings: Settings) -> Endpoint:
    """What a binding answers from."""
    clients = AwsClients()
    described = profile(settings)
    decided = policy(settings, described)
    let_in = admittance(settings, clients)
    return Endpoint(
        ports(settings, decided, answer(settings), clients),
        let_in,
        audit=late(lambda: audit(settings)) if settings.audit else None,
        streaming=settings.streaming,
        stream_time=settings.stream_time,
        callers_card=_callers_card(settings, CardSource(described, decided, let_in), clients),
    )


def _callers_card(settings: Settings, source: CardSource, clients: AwsClients) -> ExtendedCards | None:
    extend = extended_card(settings)
    if extend is None:
        return None
    from a2a_serverless.wiring.card import signer, signing  # noqa: PLC0415  for those who have such cards

    return ExtendedCards(source, extend, signer(signing(settings, clients)))
