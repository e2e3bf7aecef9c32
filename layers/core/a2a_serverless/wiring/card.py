"""What answers for the card and for the public keys beside it.

A card is text and needs nothing of AWS. The keys lie in the table, whose client is made when somebody asks.
"""

from collections.abc import Sequence

from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.bindings.card import CardDesk, CardSource
from a2a_serverless.bindings.keys import KeyDesk
from a2a_serverless.operations.signing_keys import published
from a2a_serverless.ports.signing_keys import SigningKey, SigningKeys
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.decided import admittance, policy
from a2a_serverless.wiring.deployer import profile
from a2a_serverless.wiring.late import late


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


def key_desk(settings: Settings) -> KeyDesk | None:
    """What answers for the keys that verify webhooks; None where nothing is signed."""
    if not settings.delivers:
        return None
    kept = late(lambda: _signing_keys(settings))
    clock = SystemClock()

    def shown() -> Sequence[SigningKey]:
        return published(kept.read(), clock.now())

    return KeyDesk(shown)


def _signing_keys(settings: Settings) -> SigningKeys:
    from a2a_serverless.adapters.aws_clients import AwsClients  # noqa: PLC0415  made late
    from a2a_serverless.adapters.dynamodb_table import DynamoTable  # noqa: PLC0415  as above
    from a2a_serverless.wiring.webhooks import signing_keys  # noqa: PLC0415  as above

    return signing_keys(DynamoTable(AwsClients().dynamodb(), settings.tasks_table, SystemClock()))
