"""The environment of a function as one frozen value, read once when its process starts.

Nothing else in the package reads the environment. A variable that is missing or wrong fails the start of
the function under its name, not a request later; values are never repeated in the message, since some of
them are secret.
"""

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from a2a_serverless.ports.contents import ContentLinks
from a2a_serverless.ports.limits import OperationClass, RateLimit
from a2a_serverless.protocol.extensions import Extension, PermissionMode
from a2a_serverless.protocol.scalars import Timestamp
from a2a_serverless.settings.values import (
    Reference,
    Required,
    TokenHash,
    address,
    extensions,
    kept_value,
    key_name,
    kinds,
    kms_keys,
    media_types,
    none_when_empty,
    permission_mode,
    rates,
    required,
    switch,
    tokens,
)
from a2a_serverless.tasks.log import PushKind

__all__ = ["OPERATED", "OperatorSettings", "Settings", "SettingsError", "TokenHash"]


class SettingsError(Exception):
    """The environment does not describe a deployment; the message names every variable at fault."""


class Settings(BaseModel):
    """What a deployment says to its functions; each field is the variable of its name in capitals.

    Attributes:
        base_url: public address without a trailing slash; empty means the address a request came in by.
        agent, agent_profile, instant_answer: `module:attribute`; no profile means `profile` beside the agent.
        deployed_at: when this deployment was made, if it says.
        deduplication: whether a message id admits a message once.
        bearer_tokens: who may call, by token.
        credentials: where the access document lies that says who else may call, and for what; see
        `bindings/README.md`. Empty means there is none.
        anonymous: whether callers without a credential are served.
        local_principal: whom every caller without a credential is taken for; on one's own machine only.
        loopback_issuers: whether issuers of tokens may be on this machine; on one's own machine only.
        blocking_wait_seconds: longest wait of a SendMessage; a gateway that does not stream gives up at 29.
        streaming: whether answers leave piece by piece; needs a runtime loop and an integration that stream.
        stream_seconds: how long a stream stays open before it closes itself, to be gone on with.
        streams_per_caller: streams one caller may have open at once.
        rate_limits: how often one caller may call, by class of operations; what has no limit is not counted.
        audit: whether every call is written into the log.
        pokes_queue_url: the queue that wakes deliveries to webhooks; empty where none are delivered.
        dead_letters_queue_url: the queue of what could not be delivered.
        secrets_key: ARN or alias of the key that seals webhooks' secrets.
        webhook_events: what webhooks are told of.
        webhook_timeout_seconds: how long a webhook has to answer.
        webhook_first_delay_seconds, webhook_longest_delay_seconds: the pause before a second attempt, doubled
        for each further one up to the longest.
        webhook_attempts: attempts for one event before its webhook is given up; 0 for as many as the age
        allows. webhook_age_seconds: how long one event is tried.
        plain_http_webhooks: whether webhooks may be `http` addresses.
        loopback_webhooks: whether webhooks may point at this machine; for tests only.
        signing_key_days: how long a key signs webhooks before the next one does.
        event_bus: name or ARN of the EventBridge bus that is told of changes of state; empty for none.
        card_signing_keys: the keys in KMS that sign the card, the one that is to stay first; none leaves it
        unsigned. card_signing_secret, card_signing_kid: where a secret lies that signs it instead, and under
        which name verifiers know it.
        extended_card: `module:attribute` of what callers' own cards have more; empty for no such cards.
        content_links: when stored content is given by a link to the bucket. content_link_seconds: how long a
        link leads there; no longer than the function's own credentials, whatever is said here.
        input_media_types: media types that messages may hold beside those of the agent's profile.
        files: whether callers may upload files for the agent and name them in messages.
        permissions: who decides when the agent asks for permission.
        turn_extensions: what callers may be told beyond the specification; see `operations/README.md`.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    tasks_table: Required
    content_bucket: Required
    turn_state_machine_arn: Required
    agent: Annotated[Reference, AfterValidator(required)]
    agent_profile: Reference = ""
    instant_answer: Reference = ""
    base_url: Annotated[str, AfterValidator(address)] = ""
    deployed_at: Annotated[Timestamp | None, BeforeValidator(none_when_empty)] = None
    deduplication: Annotated[bool, switch("on", "off")] = True
    bearer_tokens: Annotated[tuple[TokenHash, ...], BeforeValidator(tokens)] = Field(default=(), repr=False)
    credentials: Annotated[str, AfterValidator(kept_value), Field(repr=False)] = ""
    anonymous: Annotated[bool, switch("allowed", "refused")] = False
    local_principal: str = ""
    loopback_issuers: Annotated[bool, switch("allowed", "refused")] = False
    retention_days: Annotated[int, Field(ge=1, le=3650)] = 30
    blocking_wait_seconds: Annotated[float, Field(ge=0, le=900)] = 25
    streaming: Annotated[bool, switch("on", "off")] = False
    stream_seconds: Annotated[float, Field(ge=1, le=880)] = 300
    streams_per_caller: Annotated[int, Field(ge=1, le=1000)] = 100
    rate_limits: Annotated[Mapping[OperationClass, RateLimit], BeforeValidator(rates)] = Field(
        default_factory=dict
    )
    audit: Annotated[bool, switch("on", "off")] = True
    pokes_queue_url: str = ""
    dead_letters_queue_url: str = ""
    secrets_key: str = ""
    webhook_events: Annotated[frozenset[PushKind], BeforeValidator(kinds)] = frozenset(
        {PushKind.STATES, PushKind.ARTIFACTS}
    )
    webhook_timeout_seconds: Annotated[float, Field(gt=0, le=30)] = 10
    webhook_first_delay_seconds: Annotated[float, Field(gt=0, le=900)] = 1
    webhook_longest_delay_seconds: Annotated[float, Field(gt=0, le=900)] = 900
    webhook_attempts: Annotated[int, Field(ge=0, le=1000)] = 0
    webhook_age_seconds: Annotated[float, Field(gt=0, le=604800)] = 86400
    plain_http_webhooks: Annotated[bool, switch("allowed", "refused")] = False
    loopback_webhooks: Annotated[bool, switch("allowed", "refused")] = False
    signing_key_days: Annotated[int, Field(ge=1, le=3650)] = 90
    event_bus: str = ""
    card_signing_keys: Annotated[tuple[str, ...], BeforeValidator(kms_keys)] = ()
    card_signing_secret: Annotated[str, AfterValidator(kept_value), Field(repr=False)] = ""
    card_signing_kid: Annotated[str, AfterValidator(key_name)] = ""
    extended_card: Reference = ""
    content_links: ContentLinks = ContentLinks.LARGE
    content_link_seconds: Annotated[int, Field(ge=1, le=43200)] = 300
    input_media_types: Annotated[tuple[str, ...], BeforeValidator(media_types)] = ()
    files: Annotated[bool, switch("on", "off")] = True
    permissions: Annotated[PermissionMode, BeforeValidator(permission_mode)] = PermissionMode.ASK
    turn_extensions: Annotated[frozenset[Extension], BeforeValidator(extensions)] = frozenset()
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO"
    powertools_service_name: str = "a2a-serverless"
    powertools_metrics_namespace: str = "A2AServerless"

    @property
    def retention(self) -> timedelta:
        """How long a task is kept after it was created."""
        return timedelta(days=self.retention_days)

    @property
    def blocking_wait(self) -> timedelta:
        """How long a blocking SendMessage waits."""
        return timedelta(seconds=self.blocking_wait_seconds)

    @property
    def stream_time(self) -> timedelta:
        """How long a stream stays open."""
        return timedelta(seconds=self.stream_seconds)

    @property
    def delivers(self) -> bool:
        """Whether there are webhooks."""
        return bool(self.pokes_queue_url)

    @property
    def webhook_age(self) -> timedelta:
        """How long one event is tried."""
        return timedelta(seconds=self.webhook_age_seconds)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the environment.

        Raises:
            SettingsError: a variable is missing or wrong, nobody would be let in, or webhooks, a signature or
            extended cards lack something.
        """
        settings = cls._read(environ)
        _check_cards(settings)
        named = settings.bearer_tokens or settings.credentials
        if not (named or settings.anonymous or settings.local_principal):
            raise SettingsError(
                "Nobody would be let in: give BEARER_TOKENS or CREDENTIALS,"
                " or say ANONYMOUS=allowed to let in everybody."
            )
        return settings

    @classmethod
    def _read(cls, environ: Mapping[str, str]) -> Self:
        given = {name: environ[name.upper()] for name in cls.model_fields if name.upper() in environ}
        try:
            settings = cls.model_validate(given)
        except ValidationError as error:
            raise SettingsError(_faults(error)) from None
        if settings.delivers and not (settings.dead_letters_queue_url and settings.secrets_key):
            raise SettingsError("Webhooks (POKES_QUEUE_URL) need DEAD_LETTERS_QUEUE_URL and SECRETS_KEY too.")
        return settings


OPERATED = (
    "TASKS_TABLE",
    "CONTENT_BUCKET",
    "TURN_STATE_MACHINE_ARN",
    "POKES_QUEUE_URL",
    "DEAD_LETTERS_QUEUE_URL",
    "SECRETS_KEY",
    "SIGNING_KEY_DAYS",
    "WEBHOOK_AGE_SECONDS",
)
"""The variables that an operator's command reads."""


class OperatorSettings(Settings):
    """What an operator's command knows of a deployment: it runs no agent, and lets nobody in.

    Without a table it is not said which deployment is meant.
    """

    tasks_table: str = ""
    content_bucket: str = ""
    turn_state_machine_arn: str = ""
    agent: str = ""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read of the environment what is about a deployment: the rest may be a person's own.

        Raises:
            SettingsError: a variable is wrong, or webhooks lack something.
        """
        return cls._read({name: environ[name] for name in OPERATED if name in environ})


def _check_cards(settings: Settings) -> None:
    if settings.card_signing_keys and settings.card_signing_secret:
        raise SettingsError("Give either CARD_SIGNING_KEYS or CARD_SIGNING_SECRET, not both.")
    if bool(settings.card_signing_secret) != bool(settings.card_signing_kid):
        raise SettingsError(
            "CARD_SIGNING_SECRET needs CARD_SIGNING_KID, the name of the secret, and vice versa."
        )
    if (settings.card_signing_keys or settings.card_signing_secret) and not settings.base_url:
        raise SettingsError("A card is signed for the address it was configured for: give BASE_URL.")
    if settings.extended_card and not (
        settings.bearer_tokens or settings.credentials or settings.local_principal
    ):
        raise SettingsError(
            "EXTENDED_CARD is for callers who say who they are: give BEARER_TOKENS or CREDENTIALS."
        )


def _faults(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    faults = (
        f"{str(each['loc'][0]).upper()} {'is missing' if each['type'] == 'missing' else each['msg']}"
        for each in found
    )
    return "The environment is not usable: " + "; ".join(faults) + "."
