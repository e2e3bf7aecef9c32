"""What answers for the card and for the public keys beside it.

An unsigned card is text and needs nothing of AWS. Keys and signatures lie in KMS and in the table, whose
clients are made when somebody asks.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.adapters.uuid_identifiers import UuidIdentifiers
from a2a_serverless.bindings.card import CardDesk, CardSource, Sign
from a2a_serverless.bindings.keys import KeyDesk, Keys
from a2a_serverless.operations.signing_keys import published
from a2a_serverless.ports import Incidents
from a2a_serverless.ports.card_signing import CardSigning
from a2a_serverless.ports.public_keys import Published
from a2a_serverless.ports.signing_keys import SigningKeys
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.decided import admittance, policy
from a2a_serverless.wiring.deployer import profile
from a2a_serverless.wiring.incidents import incidents
from a2a_serverless.wiring.late import late

if TYPE_CHECKING:
    from a2a_serverless.adapters.aws_clients import AwsClients


def signing(settings: Settings, clients: "AwsClients | None" = None) -> CardSigning | None:
    """What signs the card; None where nothing does."""
    if not (settings.card_signing_keys or settings.card_signing_secret):
        return None
    from a2a_serverless.adapters.aws_clients import AwsClients  # noqa: PLC0415  where cards are signed
    from a2a_serverless.wiring.card_signing import card_signing  # noqa: PLC0415  as above

    return card_signing(settings, clients or AwsClients())


def signer(signs: CardSigning | None) -> Sign | None:
    """What gives a card its signatures, if anything does."""
    if signs is None:
        return None
    from a2a_serverless.operations.card_signing import signed  # noqa: PLC0415  where cards are signed

    return partial(signed, signs)


def incidents_of(settings: Settings) -> Incidents:
    """Where failures to answer are told of; the logger is made when there is one."""
    return late(lambda: incidents(settings, UuidIdentifiers()))


def card_desk(settings: Settings, signs: CardSigning | None = None) -> CardDesk:
    """What answers for the card."""
    described = profile(settings)
    source = CardSource(
        profile=described,
        policy=policy(settings, described),
        admittance=admittance(settings),
        deployed_at=settings.deployed_at,
    )
    return CardDesk(source, signer(signs))


def key_desk(settings: Settings, signs: CardSigning | None = None) -> KeyDesk | None:
    """What answers for the keys that verify webhooks and the card; None where nothing is signed by a pair."""
    webhooks = _webhook_keys(settings) if settings.delivers else None
    if signs is None or not settings.card_signing_keys:
        return KeyDesk(webhooks) if webhooks else None
    keys = signs.keys

    def shown() -> Sequence[Published]:
        return [key.public for key in keys.current() if key.public is not None]

    return KeyDesk(webhooks, shown)


def _webhook_keys(settings: Settings) -> Keys:
    kept = late(lambda: _signing_keys(settings))
    clock = SystemClock()
    return lambda: published(kept.read(), clock.now())


def _signing_keys(settings: Settings) -> SigningKeys:
    from a2a_serverless.adapters.aws_clients import AwsClients  # noqa: PLC0415  made late
    from a2a_serverless.adapters.dynamodb_table import DynamoTable  # noqa: PLC0415  as above
    from a2a_serverless.wiring.webhooks import signing_keys  # noqa: PLC0415  as above

    return signing_keys(DynamoTable(AwsClients().dynamodb(), settings.tasks_table, SystemClock()))
