"""The environment as a type: read once, refused by name."""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest

from a2a_serverless.ports import ContentLinks, LinkPolicy
from a2a_serverless.ports.limits import OperationClass, RateLimit
from a2a_serverless.protocol.extensions import Extension, PermissionMode
from a2a_serverless.settings import OperatorSettings, Settings, SettingsError
from a2a_serverless.tasks.log import PushKind
from a2a_serverless.wiring.decided import policy

DIGEST = hashlib.sha256(b"secret").hexdigest()
LEAST = {
    "TASKS_TABLE": "tasks",
    "CONTENT_BUCKET": "content",
    "TURN_STATE_MACHINE_ARN": "arn:aws:states:eu-central-1:123456789012:stateMachine:a-turn",
    "AGENT": "a2a_agents.echo:agent",
    "ANONYMOUS": "allowed",
}
ALL = {
    **LEAST,
    "BASE_URL": "https://agent.example/a/",
    "AGENT_PROFILE": "my.profile:profile",
    "INSTANT_ANSWER": "my.agent:answer",
    "DEPLOYED_AT": "2026-11-30T12:00:00Z",
    "DEDUPLICATION": "off",
    "BEARER_TOKENS": f"alice:{DIGEST}, alice:{DIGEST},bob.b:{DIGEST}",
    "CREDENTIALS": "secretsmanager:a2a/callers",
    "ANONYMOUS": "refused",
    "LOCAL_PRINCIPAL": "me",
    "LOOPBACK_ISSUERS": "allowed",
    "RETENTION_DAYS": "7",
    "BLOCKING_WAIT_SECONDS": "10",
    "STREAMING": "on",
    "STREAM_SECONDS": "60",
    "STREAMS_PER_CALLER": "5",
    "AUDIT": "off",
    "RATE_LIMITS": "send=10/60s burst 20, read=100/60s",
    "POKES_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/123456789012/pokes",
    "DEAD_LETTERS_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/123456789012/letters",
    "SECRETS_KEY": "arn:aws:kms:eu-central-1:123456789012:key/a-key",
    "WEBHOOK_EVENTS": "states, progress",
    "WEBHOOK_TIMEOUT_SECONDS": "5",
    "WEBHOOK_FIRST_DELAY_SECONDS": "2",
    "WEBHOOK_LONGEST_DELAY_SECONDS": "60",
    "WEBHOOK_ATTEMPTS": "5",
    "WEBHOOK_AGE_SECONDS": "3600",
    "PLAIN_HTTP_WEBHOOKS": "allowed",
    "LOOPBACK_WEBHOOKS": "allowed",
    "SIGNING_KEY_DAYS": "30",
    "EVENT_BUS": "tasks",
    "CARD_SIGNING_KEYS": "alias/new, arn:aws:kms:eu-central-1:123456789012:key/mrk-1a",
    "EXTENDED_CARD": "my.profile:extended_card",
    "CONTENT_LINKS": "always",
    "CONTENT_LINK_SECONDS": "60",
    "PERMISSIONS": "deny",
    "TURN_EXTENSIONS": "tools, usage",
    "LOG_LEVEL": "DEBUG",
    "POWERTOOLS_SERVICE_NAME": "my-agent",
    "POWERTOOLS_METRICS_NAMESPACE": "Mine",
    "PATH": "/usr/bin",
}


def test_the_environment_of_a_function_is_read_whole() -> None:
    settings = Settings.from_environment(ALL)

    assert settings.base_url == "https://agent.example/a"
    assert settings.deployed_at == datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    assert (settings.deduplication, settings.anonymous, settings.loopback_webhooks) == (False, False, True)
    assert [name for name, _ in settings.bearer_tokens] == ["alice", "alice", "bob.b"]
    assert {sha256.hex() for _, sha256 in settings.bearer_tokens} == {DIGEST}
    assert (settings.retention, settings.blocking_wait) == (timedelta(days=7), timedelta(seconds=10))
    assert (settings.streaming, settings.stream_time) == (True, timedelta(seconds=60))
    assert settings.streams_per_caller == 5
    assert not settings.audit
    minute = timedelta(minutes=1)
    assert settings.rate_limits == {
        OperationClass.SEND: RateLimit(10, minute, 20),
        OperationClass.READ: RateLimit(100, minute, 100),
    }
    assert settings.log_level == "DEBUG"


def test_what_webhooks_are_told_and_how_they_are_tried_is_read() -> None:
    settings = Settings.from_environment(ALL)

    assert settings.delivers
    assert settings.webhook_events == {PushKind.STATES, PushKind.PROGRESS}
    assert settings.webhook_timeout_seconds == 5
    assert (settings.webhook_first_delay_seconds, settings.webhook_longest_delay_seconds) == (2, 60)
    assert (settings.webhook_attempts, settings.webhook_age) == (5, timedelta(hours=1))
    assert settings.plain_http_webhooks
    assert settings.signing_key_days == 30
    assert settings.event_bus == "tasks"


def test_there_are_no_webhooks_unless_somebody_says_where_they_are_woken() -> None:
    settings = Settings.from_environment({**LEAST, "POKES_QUEUE_URL": ""})

    assert not settings.delivers
    assert settings.webhook_events == {PushKind.STATES, PushKind.ARTIFACTS}
    assert (settings.webhook_attempts, settings.webhook_age) == (0, timedelta(days=1))
    assert settings.signing_key_days == 90


@pytest.mark.parametrize("name", ["DEAD_LETTERS_QUEUE_URL", "SECRETS_KEY"])
def test_webhooks_without_what_they_need_are_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_environment({**ALL, name: ""})


@pytest.mark.parametrize("kinds", ["", "everything", "states,deltas"])
def test_webhooks_are_told_only_of_what_there_is(kinds: str) -> None:
    with pytest.raises(SettingsError, match="WEBHOOK_EVENTS must be a comma list of states, artifacts"):
        Settings.from_environment({**ALL, "WEBHOOK_EVENTS": kinds})


def test_when_callers_are_sent_to_s3_is_read() -> None:
    some, none = Settings.from_environment(ALL), Settings.from_environment(LEAST)

    assert policy(some).links == LinkPolicy(ContentLinks.ALWAYS, lasts=timedelta(minutes=1))
    assert policy(none).links == LinkPolicy(ContentLinks.LARGE, lasts=timedelta(minutes=5))


def test_who_decides_about_permissions_and_what_callers_are_told_besides_is_read() -> None:
    settings = Settings.from_environment(ALL)

    assert settings.permissions is PermissionMode.DENY
    assert settings.turn_extensions == {Extension.TOOLS, Extension.USAGE}
    none = Settings.from_environment({**LEAST, "TURN_EXTENSIONS": ""})
    assert (none.permissions, none.turn_extensions) == (PermissionMode.ASK, frozenset())


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("PERMISSIONS", "never", "PERMISSIONS must be ask, allow, deny"),
        (
            "TURN_EXTENSIONS",
            "tools,files",
            "TURN_EXTENSIONS must be a comma list of artifacts, thinking, tools",
        ),
        ("TURN_EXTENSIONS", "tools,", "TURN_EXTENSIONS must be a comma list"),
    ],
)
def test_nothing_else_is_told_and_nobody_else_decides(name: str, value: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        Settings.from_environment({**ALL, name: value})


def test_what_signs_and_extends_a_card_is_read() -> None:
    settings = Settings.from_environment(ALL)

    assert settings.card_signing_keys == ("alias/new", "arn:aws:kms:eu-central-1:123456789012:key/mrk-1a")
    assert settings.extended_card == "my.profile:extended_card"
    none = Settings.from_environment(LEAST)
    assert (none.card_signing_keys, none.card_signing_secret, none.extended_card) == ((), "", "")


SECRET = {"CARD_SIGNING_SECRET": "ssm:/card", "CARD_SIGNING_KID": "default"}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"BASE_URL": "", "CARD_SIGNING_KEYS": "alias/card"}, "BASE_URL"),
        ({"BASE_URL": "", "CARD_SIGNING_KEYS": "", **SECRET}, "BASE_URL"),
        (SECRET, "either CARD_SIGNING_KEYS or CARD_SIGNING_SECRET"),
        ({"CARD_SIGNING_KEYS": "", **SECRET, "CARD_SIGNING_KID": ""}, "CARD_SIGNING_KID"),
        ({"CARD_SIGNING_KEYS": "", "CARD_SIGNING_KID": "default"}, "CARD_SIGNING_SECRET"),
        (
            {"BEARER_TOKENS": "", "CREDENTIALS": "", "LOCAL_PRINCIPAL": "", "ANONYMOUS": "allowed"},
            "EXTENDED_CARD",
        ),
    ],
)
def test_a_card_that_lacks_what_it_needs_keeps_a_function_from_starting(
    changed: dict[str, str], named: str
) -> None:
    with pytest.raises(SettingsError, match=named):
        Settings.from_environment({**ALL, **changed})


def test_what_has_a_plain_default_may_be_left_out_or_empty() -> None:
    empty = {
        "BASE_URL": "",
        "DEPLOYED_AT": "",
        "BEARER_TOKENS": "",
        "CREDENTIALS": "",
        "AGENT_PROFILE": "",
        "RATE_LIMITS": "",
        "LOCAL_PRINCIPAL": "",
        "CARD_SIGNING_KEYS": "",
        "CARD_SIGNING_SECRET": "",
        "CARD_SIGNING_KID": "",
        "EXTENDED_CARD": "",
    }

    assert Settings.from_environment({**LEAST, **empty}) == Settings.from_environment(LEAST)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("", ()),
        ("image/png", ("image/png",)),
        ("image/png, audio/*,application/vnd.x+json", ("image/png", "audio/*", "application/vnd.x+json")),
        ("*/*", ("*/*",)),
    ],
)
def test_media_types_that_messages_may_hold_besides_are_read(given: str, read: tuple[str, ...]) -> None:
    assert Settings.from_environment({**LEAST, "INPUT_MEDIA_TYPES": given}).input_media_types == read


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INPUT_MEDIA_TYPES", "image"),
        ("INPUT_MEDIA_TYPES", "*/png"),
        ("INPUT_MEDIA_TYPES", ","),
        ("FILES", "yes"),
    ],
)
def test_what_is_no_media_type_and_no_switch_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_environment({**LEAST, name: value})


def test_files_are_taken_unless_they_are_switched_off() -> None:
    assert Settings.from_environment(LEAST).files
    assert not Settings.from_environment({**LEAST, "FILES": "off"}).files


def test_nothing_streams_unless_told_to() -> None:
    settings = Settings.from_environment(LEAST)

    assert (settings.streaming, settings.stream_time) == (False, timedelta(seconds=300))
    assert (settings.streams_per_caller, settings.rate_limits, settings.audit) == (100, {}, True)
    assert Settings.from_environment({**LEAST, "STREAMING": "off"}) == settings


@pytest.mark.parametrize("name", ["TASKS_TABLE", "CONTENT_BUCKET", "TURN_STATE_MACHINE_ARN", "AGENT"])
def test_a_missing_variable_is_refused_by_name(name: str) -> None:
    left = {key: value for key, value in LEAST.items() if key != name}

    with pytest.raises(SettingsError, match=f"{name} is missing"):
        Settings.from_environment(left)
    with pytest.raises(SettingsError, match=f"{name} must not be empty"):
        Settings.from_environment({**LEAST, name: ""})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AGENT", "a2a_agents.echo"),
        ("AGENT", "a2a-agents:agent"),
        ("AGENT_PROFILE", "profile"),
        ("INSTANT_ANSWER", "a.b:c:d"),
        ("EXTENDED_CARD", "extended"),
        ("CARD_SIGNING_KEYS", "alias/card,"),
        ("CARD_SIGNING_KEYS", "alias/card key"),
        ("CARD_SIGNING_SECRET", "hunter2hunter2hunter2hunter2hunter2"),
        ("CARD_SIGNING_KID", "a key"),
        ("BASE_URL", "agent.example"),
        ("BASE_URL", "ftp://agent.example"),
        ("BASE_URL", "https://user:secret@agent.example"),
        ("BASE_URL", "https://agent.example/?x=1"),
        ("BASE_URL", "https://agent.example/#x"),
        ("BASE_URL", "https://[secret"),
        ("DEPLOYED_AT", "yesterday"),
        ("DEPLOYED_AT", "1700000000"),
        ("DEPLOYED_AT", "2026-11-30T12:00:00"),
        ("DEDUPLICATION", "true"),
        ("ANONYMOUS", "yes"),
        ("CREDENTIALS", "callers"),
        ("CREDENTIALS", "ssm:"),
        ("CREDENTIALS", "inline: "),
        ("CREDENTIALS", "SSM:/callers"),
        ("CREDENTIALS", "file:/callers"),
        ("LOOPBACK_ISSUERS", "yes"),
        ("LOOPBACK_WEBHOOKS", ""),
        ("RETENTION_DAYS", "0"),
        ("RETENTION_DAYS", "a week"),
        ("BLOCKING_WAIT_SECONDS", "-1"),
        ("BLOCKING_WAIT_SECONDS", "nan"),
        ("BLOCKING_WAIT_SECONDS", "901"),
        ("STREAMING", "true"),
        ("STREAMING", "ON"),
        ("STREAMING", ""),
        ("STREAM_SECONDS", "0"),
        ("STREAM_SECONDS", "881"),
        ("STREAM_SECONDS", "nan"),
        ("CONTENT_LINKS", "sometimes"),
        ("CONTENT_LINK_SECONDS", "0"),
        ("CONTENT_LINK_SECONDS", "43201"),
        ("STREAMS_PER_CALLER", "0"),
        ("STREAMS_PER_CALLER", "1001"),
        ("STREAMS_PER_CALLER", "many"),
        ("AUDIT", "true"),
        ("RATE_LIMITS", "10/60s"),
        ("RATE_LIMITS", "send=10"),
        ("RATE_LIMITS", "send=10/60"),
        ("RATE_LIMITS", "send=0/60s"),
        ("RATE_LIMITS", "send=10/0s"),
        ("RATE_LIMITS", "send=10/60s burst 0"),
        ("RATE_LIMITS", "send=-1/60s"),
        ("RATE_LIMITS", "send=1.5/60s"),
        ("RATE_LIMITS", "send=\N{FULLWIDTH DIGIT ONE}/60s"),
        ("RATE_LIMITS", "stream=10/60s"),
        ("RATE_LIMITS", "SEND=10/60s"),
        ("RATE_LIMITS", "send=10/60s,"),
        ("RATE_LIMITS", "send=10/60s,send=10/60s"),
        ("SIGNING_KEY_DAYS", "0"),
        ("SIGNING_KEY_DAYS", "3651"),
        ("LOG_LEVEL", "chatty"),
        ("BEARER_TOKENS", "alice:secret"),
        ("BEARER_TOKENS", f"alice:{DIGEST},"),
        ("BEARER_TOKENS", f"alice:{DIGEST.upper()}"),
        ("BEARER_TOKENS", f"älice:{DIGEST}"),
    ],
)
def test_a_variable_that_cannot_be_is_refused_by_name_without_its_value(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name) as refused:
        Settings.from_environment({**LEAST, name: value})

    if "secret" in value:
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ("read=1/1s, burst 3", r"entry 2 must be send\|read\|write=CALLS/SECONDSs\[ burst CALLS\]"),
        ("read=1/1s,read=2/1s", "entry 2 limits read again"),
    ],
)
def test_which_entry_of_the_rate_limits_is_wrong_and_what_it_should_be_is_said(
    limits: str, words: str
) -> None:
    with pytest.raises(SettingsError, match=f"RATE_LIMITS {words}"):
        Settings.from_environment({**LEAST, "RATE_LIMITS": limits})


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(SettingsError, match=r"TASKS_TABLE is missing.*LOG_LEVEL"):
        Settings.from_environment({"LOG_LEVEL": "chatty"})


@pytest.mark.parametrize(
    "door",
    [{}, {"ANONYMOUS": "refused"}, {"BEARER_TOKENS": "", "LOCAL_PRINCIPAL": "", "ANONYMOUS": "refused"}],
)
def test_a_deployment_that_would_let_nobody_in_does_not_start(door: dict[str, str]) -> None:
    left = {key: value for key, value in LEAST.items() if key != "ANONYMOUS"}

    with pytest.raises(SettingsError, match="BEARER_TOKENS or CREDENTIALS"):
        Settings.from_environment({**left, **door})


def test_an_access_document_is_a_way_in() -> None:
    left = {key: value for key, value in LEAST.items() if key != "ANONYMOUS"}

    for where in ("secretsmanager:a2a/callers", "ssm:/a2a/callers", 'inline:{"bearer":[]}'):
        settings = Settings.from_environment({**left, "CREDENTIALS": where})
        assert settings.credentials == where
        assert "callers" not in repr(settings)
        assert not settings.loopback_issuers


def test_tokens_do_not_show_in_the_representation_of_the_settings() -> None:
    settings = Settings.from_environment(ALL)

    assert "alice" not in repr(settings)
    with pytest.raises(ValueError, match="frozen"):
        settings.agent = "another:agent"  # type: ignore[misc]


def test_an_operator_needs_to_know_of_no_agent_and_lets_nobody_in() -> None:
    """What else the environment holds may be a person's own, under a name that a function knows as well."""
    about = {
        name: value
        for name, value in ALL.items()
        if "QUEUE" in name or name in ("TASKS_TABLE", "SECRETS_KEY")
    }

    settings = OperatorSettings.from_environment({**about, "LOG_LEVEL": "chatty", "SIGNING_KEY_DAYS": "30"})

    assert (settings.tasks_table, settings.delivers, settings.signing_key_days) == ("tasks", True, 30)
    assert OperatorSettings.from_environment({}).tasks_table == ""


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"SIGNING_KEY_DAYS": "soon"}, "SIGNING_KEY_DAYS"),
        ({"POKES_QUEUE_URL": "https://queue"}, "DEAD_LETTERS_QUEUE_URL and SECRETS_KEY"),
    ],
)
def test_what_an_operator_is_told_wrongly_is_named(environment: dict[str, str], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        OperatorSettings.from_environment(environment)
