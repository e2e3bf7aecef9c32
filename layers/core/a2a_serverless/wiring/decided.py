"""What the settings decide, in the words of the operations and the bindings."""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from a2a_serverless.agent import AgentProfile
from a2a_serverless.bindings.caller import Access, Admittance, Token
from a2a_serverless.ports import FilePolicy, LinkPolicy, Policy, WebhookPolicy
from a2a_serverless.protocol.extensions import Extension
from a2a_serverless.settings import Settings

if TYPE_CHECKING:
    from a2a_serverless.adapters.aws_clients import AwsClients

LEASE = 3
"""How long whoever delivers is trusted to live, in times that a receiver may take: one for the receiver, the
others for names, keys and the table. Shorter than that and a slow receiver would be told twice."""


def policy(settings: Settings, described: AgentProfile | None = None) -> Policy:
    """What this deployment decided, and what its agent takes."""
    return Policy(
        retention=settings.retention,
        blocking_wait=settings.blocking_wait,
        deduplicate=settings.deduplication,
        streams_per_caller=settings.streams_per_caller,
        rate_limits=settings.rate_limits,
        capabilities=_capabilities(settings),
        permissions=settings.permissions,
        extensions=_extensions(settings),
        input_modes=tuple(described.input_modes) if described else (),
        files=FilePolicy(uploads=settings.files),
        links=LinkPolicy(settings.content_links, lasts=timedelta(seconds=settings.content_link_seconds)),
        webhooks=WebhookPolicy(
            kinds=settings.webhook_events,
            timeout=settings.webhook_timeout_seconds,
            lease=timedelta(seconds=LEASE * settings.webhook_timeout_seconds),
            first_delay=settings.webhook_first_delay_seconds,
            longest_delay=settings.webhook_longest_delay_seconds,
            attempts=settings.webhook_attempts,
            age=settings.webhook_age,
            plain_http=settings.plain_http_webhooks,
            loopback=settings.loopback_webhooks,
        ),
    )


def _capabilities(settings: Settings) -> frozenset[str]:
    """What works in this deployment of what the specification leaves open."""
    works = {
        "streaming": settings.streaming,
        "push_notifications": settings.delivers,
        "extended_agent_card": bool(settings.extended_card),
    }
    return frozenset(name for name, here in works.items() if here)


def _extensions(settings: Settings) -> frozenset[Extension]:
    """What callers may be told beyond the specification; updates reach nobody where nothing streams."""
    told = settings.turn_extensions
    asked = {Extension.PERMISSIONS, Extension.FILES} if settings.files else {Extension.PERMISSIONS}
    return (told if settings.streaming else told & {Extension.ARTIFACTS}) | asked


def admittance(settings: Settings, clients: "AwsClients | None" = None) -> Admittance:
    """Who is let in, and under which address.

    Raises:
        SettingsError: the access document cannot be read, or cannot be gone by.
    """
    return Admittance(
        tokens=tuple(Token(name, sha256) for name, sha256 in settings.bearer_tokens),
        access=_access(settings, clients) if settings.credentials else None,
        anonymous=settings.anonymous,
        local_principal=settings.local_principal,
        base_url=settings.base_url,
    )


def _access(settings: Settings, clients: "AwsClients | None") -> Callable[[], Access]:
    # Nothing of what reads an access document is loaded where there is none.
    from a2a_serverless.wiring.access import access  # noqa: PLC0415

    return access(settings, clients)
