"""What answers for the card. Knows neither AWS nor any operation: a card is text."""

from a2a_serverless.bindings.card import CardDesk, CardSource
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.decided import admittance, policy
from a2a_serverless.wiring.deployer import profile


def card_desk(settings: Settings) -> CardDesk:
    """What answers for the card."""
    described = profile(settings)
    source = CardSource(
        profile=described,
        policy=policy(settings, described),
        admittance=admittance(settings),
        deployed_at=settings.deployed_at,
    )
    return CardDesk(source)
