"""What signs cards, made real: keys in KMS or a shared secret, and the table that keeps signatures.

Loaded only where cards are signed; every part is made when the first card is.
"""

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.bindings.keys import KEYS_PATH
from a2a_serverless.ports.card_signing import CardKeys, CardSignatures, CardSigning
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.kept_values import kept_value
from a2a_serverless.wiring.late import late


def card_signing(settings: Settings, clients: AwsClients) -> CardSigning:
    """What signing takes, in a deployment that signs."""
    if settings.card_signing_keys:
        return CardSigning(
            keys=late(lambda: _pairs(settings, clients)),
            kept=late(lambda: _kept(settings, clients)),
            jku=settings.base_url + KEYS_PATH,
        )
    return CardSigning(keys=late(lambda: _secret(settings, clients)))


def _pairs(settings: Settings, clients: AwsClients) -> CardKeys:
    from a2a_serverless.adapters.kms_card_keys import KmsCardKeys  # noqa: PLC0415  made late

    return KmsCardKeys(clients.kms(), settings.card_signing_keys)


def _secret(settings: Settings, clients: AwsClients) -> CardKeys:
    from a2a_serverless.adapters.hmac_card_keys import HmacCardKeys  # noqa: PLC0415  made late

    return HmacCardKeys(settings.card_signing_kid, kept_value(settings.card_signing_secret, clients))


def _kept(settings: Settings, clients: AwsClients) -> CardSignatures:
    from a2a_serverless.adapters.dynamodb_card_signatures import (  # noqa: PLC0415  made late
        DynamoCardSignatures,
    )

    return DynamoCardSignatures(DynamoTable(clients.dynamodb(), settings.tasks_table, SystemClock()))
