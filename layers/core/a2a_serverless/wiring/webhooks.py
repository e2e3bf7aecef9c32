"""What webhooks need, made real on AWS.

Every part is made, and its module loaded, when it is first used: most requests of the API concern no webhook,
and TLS, signatures and three more clients would double their cold start.
"""

from datetime import timedelta

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.ports import Clock, WebhookPorts
from a2a_serverless.ports.signing_keys import KeyPolicy, KeyPorts, SigningKeys
from a2a_serverless.ports.webhooks import (
    DeadLetters,
    Events,
    Hosts,
    Names,
    Pokes,
    Posts,
    Seals,
    Signatures,
    WebhookStore,
)
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.late import late

LATE_READERS = timedelta(days=1)
"""How much longer a key is published than a webhook may be tried: whoever verifies may do so later still."""


def webhook_ports(
    settings: Settings, table: DynamoTable, clients: AwsClients, clock: Clock
) -> WebhookPorts | None:
    """What webhooks need; None where none are delivered."""
    if not settings.delivers:
        return None
    seals = late(lambda: _seals(settings, clients))
    return WebhookPorts(
        store=late(lambda: _store(table)),
        pokes=late(lambda: _pokes(settings, clients)),
        letters=late(lambda: _letters(settings, clients)),
        seals=seals,
        names=late(_names),
        posts=late(_posts),
        hosts=late(lambda: _hosts(table)),
        signatures=late(lambda: _signatures(key_ports(settings, table, seals, clock))),
        events=late(lambda: _events(settings, clients)) if settings.event_bus else None,
    )


def signing_keys(table: DynamoTable) -> SigningKeys:
    """Where the pairs lie that sign webhooks."""
    from a2a_serverless.adapters.dynamodb_signing_keys import DynamoSigningKeys  # noqa: PLC0415  made late

    return DynamoSigningKeys(table)


def key_ports(settings: Settings, table: DynamoTable, seals: Seals, clock: Clock) -> KeyPorts:
    """What making and changing these pairs needs."""
    from a2a_serverless.adapters.p256_key_pairs import P256KeyPairs  # noqa: PLC0415  made late

    policy = KeyPolicy(
        lasts=timedelta(days=settings.signing_key_days), publish_after=settings.webhook_age + LATE_READERS
    )
    return KeyPorts(keys=signing_keys(table), pairs=P256KeyPairs(), seals=seals, clock=clock, policy=policy)


def _store(table: DynamoTable) -> WebhookStore:
    from a2a_serverless.adapters.dynamodb_webhooks import DynamoWebhooks  # noqa: PLC0415  made late

    return DynamoWebhooks(table)


def _pokes(settings: Settings, clients: AwsClients) -> Pokes:
    from a2a_serverless.adapters.sqs_pokes import SqsPokes  # noqa: PLC0415  made late

    return SqsPokes(clients.sqs(), settings.pokes_queue_url)


def _letters(settings: Settings, clients: AwsClients) -> DeadLetters:
    from a2a_serverless.adapters.sqs_letters import SqsLetters  # noqa: PLC0415  made late

    return SqsLetters(clients.sqs(), settings.dead_letters_queue_url)


def _seals(settings: Settings, clients: AwsClients) -> Seals:
    from a2a_serverless.adapters.kms_seals import KmsSeals  # noqa: PLC0415  made late

    return KmsSeals(clients.kms(), settings.secrets_key)


def _names() -> Names:
    from a2a_serverless.adapters.system_names import SystemNames  # noqa: PLC0415  made late

    return SystemNames()


def _posts() -> Posts:
    from a2a_serverless.adapters.https_posts import HttpsPosts  # noqa: PLC0415  made late

    return HttpsPosts()


def _hosts(table: DynamoTable) -> Hosts:
    from a2a_serverless.adapters.dynamodb_hosts import DynamoHosts  # noqa: PLC0415  made late

    return DynamoHosts(table)


def _signatures(keys: KeyPorts) -> Signatures:
    from a2a_serverless.adapters.jws_signatures import JwsSignatures  # noqa: PLC0415  made late

    return JwsSignatures(keys)


def _events(settings: Settings, clients: AwsClients) -> Events:
    from a2a_serverless.adapters.eventbridge_events import EventBridgeEvents  # noqa: PLC0415  made late

    return EventBridgeEvents(clients.events(), settings.event_bus)
