"""The environment of a function as one frozen value, read once when its process starts.

Nothing else in the package reads the environment. A variable that is missing or wrong fails the start of
the function under its name, not a request later; values are never repeated in the message, since some of
them are secret.
"""

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from a2a_serverless.ports.limits import OperationClass, RateLimit
from a2a_serverless.protocol.scalars import Timestamp
from a2a_serverless.tasks.log import PushKind

REFERENCE = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*")
KEPT_VALUE = re.compile(r"(secretsmanager|ssm|inline):(?=\S)")
TOKEN = re.compile(r"([A-Za-z0-9_.-]{1,64}):([0-9a-f]{64})")
RATE = re.compile(r"([a-z]+)=([1-9]\d{0,6})/([1-9]\d{0,4})s(?: burst ([1-9]\d{0,6}))?", re.ASCII)
KMS_KEY = re.compile(r"[A-Za-z0-9:/_-]{1,2048}")
KEY_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


class SettingsError(Exception):
    """The environment does not describe a deployment; the message names every variable at fault."""


class TokenHash(NamedTuple):
    """Whose bearer token it is, and the SHA-256 of the token."""

    name: str
    sha256: bytes


def _wrong(text: str) -> PydanticCustomError:
    return PydanticCustomError("setting", "{text}", {"text": text})


def _switch(on: str, off: str) -> BeforeValidator:
    def read(value: object) -> object:
        if value not in (on, off, True, False):
            raise _wrong(f"must be {on} or {off}")
        return value in (on, True)

    return BeforeValidator(read)


def _reference(text: str) -> str:
    if text and not REFERENCE.fullmatch(text):
        raise _wrong("must be module:attribute")
    return text


def _required(text: str) -> str:
    if not text:
        raise _wrong("must not be empty")
    return text


def _address(text: str) -> str:
    """An absolute URL that paths can be put behind; an empty one is left to the request's own address."""
    try:
        parts = urlsplit(text)
    except ValueError:
        raise _wrong("must be a URL") from None
    whole = parts.scheme in ("http", "https") and parts.hostname and not parts.username
    if text and (not whole or "?" in text or "#" in text):
        raise _wrong("must be an absolute http or https URL without credentials, query or fragment")
    return text.rstrip("/")


def _kept_value(text: str) -> str:
    """Where a value lies: a secret, a parameter, or the text itself."""
    if text and not KEPT_VALUE.match(text):
        raise _wrong("must be secretsmanager:<name or ARN>, ssm:<name> or inline:<text>")
    return text


def _none_when_empty(value: object) -> object:
    return None if value == "" else value


def _tokens(text: str) -> tuple[TokenHash, ...]:
    """`name:sha256hex,...`; a name may come twice, so that a token can be replaced without a gap."""
    tokens = []
    for number, entry in enumerate(text.split(",") if text.strip() else (), start=1):
        found = TOKEN.fullmatch(entry.strip())
        if found is None:
            raise _wrong(f"entry {number} must be name:sha256 in lower-case hexadecimal")
        tokens.append(TokenHash(found[1], bytes.fromhex(found[2])))
    return tuple(tokens)


def _kms_keys(value: object) -> object:
    """`key,...`: ids, ARNs or aliases of keys in KMS."""
    if not isinstance(value, str):
        return value
    keys = tuple(key.strip() for key in value.split(",")) if value.strip() else ()
    if not all(map(KMS_KEY.fullmatch, keys)):
        raise _wrong("must be a comma list of ids, ARNs or aliases of KMS keys")
    return keys


def _key_name(text: str) -> str:
    if text and not KEY_NAME.fullmatch(text):
        raise _wrong("must be a name of letters, digits, dots, hyphens and underscores")
    return text


def _rates(value: object) -> object:
    """`send=10/60s burst 20,read=100/60s`: how often one caller may call what; by default all at once."""
    if not isinstance(value, str):
        return value
    limits: dict[OperationClass, RateLimit] = {}
    for number, entry in enumerate(value.split(",") if value.strip() else (), start=1):
        found = RATE.fullmatch(entry.strip())
        if found is None or found[1] not in set(OperationClass):
            raise _wrong(f"entry {number} must be {'|'.join(OperationClass)}=CALLS/SECONDSs[ burst CALLS]")
        operations = OperationClass(found[1])
        if operations in limits:
            raise _wrong(f"entry {number} limits {operations} again")
        period = timedelta(seconds=int(found[3]))
        limits[operations] = RateLimit(int(found[2]), period, burst=int(found[4] or found[2]))
    return limits


def _kinds(value: object) -> object:
    """`states,artifacts,...`: what webhooks are told of."""
    if not isinstance(value, str):
        return value
    kinds = [kind.strip() for kind in value.split(",")]
    if not set(kinds) <= set(PushKind):
        raise _wrong(f"must be a comma list of {', '.join(PushKind)}")
    return frozenset(map(PushKind, kinds))


Required = Annotated[str, AfterValidator(_required)]
Reference = Annotated[str, AfterValidator(_reference)]


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
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    tasks_table: Required
    content_bucket: Required
    turn_state_machine_arn: Required
    agent: Annotated[Reference, AfterValidator(_required)]
    agent_profile: Reference = ""
    instant_answer: Reference = ""
    base_url: Annotated[str, AfterValidator(_address)] = ""
    deployed_at: Annotated[Timestamp | None, BeforeValidator(_none_when_empty)] = None
    deduplication: Annotated[bool, _switch("on", "off")] = True
    bearer_tokens: Annotated[tuple[TokenHash, ...], BeforeValidator(_tokens)] = Field(default=(), repr=False)
    credentials: Annotated[str, AfterValidator(_kept_value), Field(repr=False)] = ""
    anonymous: Annotated[bool, _switch("allowed", "refused")] = False
    local_principal: str = ""
    loopback_issuers: Annotated[bool, _switch("allowed", "refused")] = False
    retention_days: Annotated[int, Field(ge=1, le=3650)] = 30
    blocking_wait_seconds: Annotated[float, Field(ge=0, le=900)] = 25
    streaming: Annotated[bool, _switch("on", "off")] = False
    stream_seconds: Annotated[float, Field(ge=1, le=880)] = 300
    streams_per_caller: Annotated[int, Field(ge=1, le=1000)] = 100
    rate_limits: Annotated[Mapping[OperationClass, RateLimit], BeforeValidator(_rates)] = Field(
        default_factory=dict
    )
    audit: Annotated[bool, _switch("on", "off")] = True
    pokes_queue_url: str = ""
    dead_letters_queue_url: str = ""
    secrets_key: str = ""
    webhook_events: Annotated[frozenset[PushKind], BeforeValidator(_kinds)] = frozenset(
        {PushKind.STATES, PushKind.ARTIFACTS}
    )
    webhook_timeout_seconds: Annotated[float, Field(gt=0, le=30)] = 10
    webhook_first_delay_seconds: Annotated[float, Field(gt=0, le=900)] = 1
    webhook_longest_delay_seconds: Annotated[float, Field(gt=0, le=900)] = 900
    webhook_attempts: Annotated[int, Field(ge=0, le=1000)] = 0
    webhook_age_seconds: Annotated[float, Field(gt=0, le=604800)] = 86400
    plain_http_webhooks: Annotated[bool, _switch("allowed", "refused")] = False
    loopback_webhooks: Annotated[bool, _switch("allowed", "refused")] = False
    signing_key_days: Annotated[int, Field(ge=1, le=3650)] = 90
    event_bus: str = ""
    card_signing_keys: Annotated[tuple[str, ...], BeforeValidator(_kms_keys)] = ()
    card_signing_secret: Annotated[str, AfterValidator(_kept_value), Field(repr=False)] = ""
    card_signing_kid: Annotated[str, AfterValidator(_key_name)] = ""
    extended_card: Reference = ""
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
