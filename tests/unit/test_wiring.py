"""The composition root: what a deployer names is found or refused in words, and nothing is made too early."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.dynamodb_signing_keys import DynamoSigningKeys
from a2a_serverless.adapters.dynamodb_streams import DynamoStreamPlaces
from a2a_serverless.adapters.stepfunctions_executions import StepFunctionsExecutions
from a2a_serverless.bindings.extensions import announced
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.ports import Caller
from a2a_serverless.ports.signing_keys import KeyPolicy
from a2a_serverless.settings import Settings, SettingsError
from a2a_serverless.tasks.log import PushKind
from a2a_serverless.wiring import api, decided, deployer
from a2a_serverless.wiring.card import card_desk, key_desk, signing
from a2a_serverless.wiring.kept_values import kept_value
from a2a_serverless.wiring.late import late, make_now
from a2a_serverless.wiring.webhooks import key_ports
from tests.fakes.ports import FakeClock, FakeSeals
from tests.unit.adapters.client import table

DEPLOYER = """
from a2a_serverless.agent import AgentProfile, AgentSkill, CardAdditions, Completed

profile = AgentProfile(
    name="Mine", description="Does things.", input_modes=("text/plain", "image/png"),
    skills=(AgentSkill(id="s", name="S", description="Something.", tags=("t",)),),
)

async def agent(turn):
    yield Completed("done")

def answer(message):
    return None

def extended_card(claims):
    return CardAdditions(description=f"For {claims['sub']}.")

nothing = 7
"""


@pytest.fixture
def deployed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules of a deployer's: an agent, a profile apart, one that needs what is not there, a broken one."""
    (tmp_path / "deployers_agent.py").write_text(DEPLOYER)
    (tmp_path / "deployers_profile.py").write_text(DEPLOYER)
    (tmp_path / "needy_agent.py").write_text("import no_such_package_at_all\n")
    (tmp_path / "broken_agent.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")


def settings(**changed: object) -> Settings:
    return Settings.model_validate(
        {
            "tasks_table": "tasks",
            "content_bucket": "content",
            "turn_state_machine_arn": "arn:aws:states:eu-central-1:123456789012:stateMachine:a-turn",
            "agent": "deployers_agent:agent",
            "local_principal": "me",
            **changed,
        }
    )


@pytest.mark.usefixtures("deployed")
def test_an_agent_is_found_with_the_profile_beside_it() -> None:
    assert deployer.profile(settings()).name == "Mine"
    assert callable(deployer.agent(settings()))
    assert deployer.answer(settings()) is None
    assert callable(deployer.answer(settings(instant_answer="deployers_agent:answer")))


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"agent": "no_such_module:agent"}, "AGENT: there is no module no_such_module"),
        ({"agent": "deployers_agent.inner:agent"}, "AGENT: there is no module deployers_agent.inner"),
        ({"agent": "deployers_agent:other"}, "AGENT: deployers_agent has no other"),
        ({"agent": "deployers_agent:nothing"}, "AGENT: deployers_agent:nothing is not a function"),
        (
            {"agent_profile": "deployers_agent:agent"},
            "AGENT_PROFILE: deployers_agent:agent is no AgentProfile",
        ),
        (
            {"instant_answer": "deployers_agent:nothing"},
            "INSTANT_ANSWER: deployers_agent:nothing is not a function",
        ),
        ({"extended_card": "deployers_agent:none"}, "EXTENDED_CARD: deployers_agent has no none"),
        (
            {"extended_card": "deployers_agent:nothing"},
            "EXTENDED_CARD: deployers_agent:nothing is not a function",
        ),
    ],
)
def test_what_is_not_there_is_refused_in_words(changed: dict[str, str], words: str) -> None:
    def everything(given: Settings) -> None:
        deployer.agent(given)
        deployer.profile(given)
        deployer.answer(given)
        deployer.extended_card(given)

    with pytest.raises(SettingsError, match=words):
        everything(settings(**changed))


@pytest.mark.usefixtures("deployed")
def test_a_fault_inside_the_deployers_module_is_its_own() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package_at_all"):
        deployer.agent(settings(agent="needy_agent:agent"))
    with pytest.raises(ZeroDivisionError):
        deployer.agent(settings(agent="broken_agent:agent"))


@pytest.mark.usefixtures("deployed")
def test_a_deployment_takes_media_types_besides_and_says_so() -> None:
    added = settings(input_media_types="audio/wav,text/plain")

    assert deployer.profile(added).input_modes == ("text/plain", "image/png", "audio/wav")
    card = json.loads(card_desk(added).answer(HttpRequest("GET", "/", origin="https://agent.example")).body)
    assert card["defaultInputModes"] == ["text/plain", "image/png", "audio/wav"]


@pytest.mark.parametrize("files", ["on", "off"])
def test_files_are_announced_exactly_when_they_are_taken(files: str) -> None:
    policy = decided.policy(settings(files=files))

    told = {
        each.uri: each.params for each in announced(policy.extensions, policy.permissions, policy.files)
    }.get("urn:a2a-serverless:files:v1")
    taken = {
        "path": "/contexts/{contextId}/files",
        "maxFileBytes": 25 * 1024 * 1024,
        "maxFiles": 1000,
        "uploadSeconds": 900,
    }
    assert told == (taken if files == "on" else None)
    assert policy.files.uploads is (files == "on")


@pytest.mark.parametrize(
    ("streaming", "told"),
    [
        (True, {"artifacts", "files", "permissions", "thinking", "tools", "usage"}),
        (False, {"artifacts", "files", "permissions"}),
    ],
)
def test_what_only_streams_tell_is_announced_only_where_there_are_streams(
    *, streaming: bool, told: set[str]
) -> None:
    policy = decided.policy(
        settings(streaming=streaming, permissions="deny", turn_extensions="tools,usage,thinking,artifacts")
    )

    found = {each.uri: each.params for each in announced(policy.extensions, policy.permissions, policy.files)}
    assert set(found) == {f"urn:a2a-serverless:{name}:v1" for name in told}
    assert found["urn:a2a-serverless:permissions:v1"]["mode"] == "deny"


@pytest.mark.usefixtures("deployed")
def test_an_endpoint_takes_what_the_profile_takes_and_lets_in_whom_the_settings_let_in() -> None:
    endpoint = api.endpoint(settings(deduplication=False, retention_days=7, base_url="https://agent.example"))

    assert endpoint.ports.policy.input_modes == ("text/plain", "image/png")
    assert (endpoint.ports.policy.deduplicate, endpoint.ports.policy.retention.days) == (False, 7)
    assert endpoint.admittance.authenticate(HttpRequest("GET", "/")).name == "me"
    assert endpoint.admittance.base_url == "https://agent.example"
    assert isinstance(endpoint.ports.executions, StepFunctionsExecutions)


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("streaming", [True, False])
def test_streaming_is_declared_and_served_exactly_when_it_is_on(*, streaming: bool) -> None:
    given = settings(streaming=streaming, stream_seconds=60, streams_per_caller=5)
    endpoint = api.endpoint(given)

    assert endpoint.streaming is streaming
    assert endpoint.stream_time == timedelta(seconds=60)
    assert endpoint.ports.policy.streams_per_caller == 5
    assert isinstance(endpoint.ports.streams, DynamoStreamPlaces)
    assert ("streaming" in endpoint.ports.policy.capabilities) is streaming
    card = json.loads(card_desk(given).answer(HttpRequest("GET", "/", origin="https://agent.example")).body)
    assert card["capabilities"].get("streaming", False) is streaming


def test_what_is_late_can_be_made_ahead_of_its_use() -> None:
    made: list[str] = []

    make_now(late(lambda: made.append("it")), None, "made long ago")

    assert made == ["it"]


WEBHOOKS = {
    "pokes_queue_url": "https://sqs.eu-central-1.amazonaws.com/123456789012/pokes",
    "dead_letters_queue_url": "https://sqs.eu-central-1.amazonaws.com/123456789012/letters",
    "secrets_key": "alias/secrets",
}


@pytest.mark.usefixtures("deployed")
def test_webhooks_are_declared_exactly_where_they_are_delivered() -> None:
    without, with_them = settings(), settings(**WEBHOOKS)

    for given, there in ((without, False), (with_them, True)):
        ports = api.endpoint(given).ports
        card = json.loads(
            card_desk(given).answer(HttpRequest("GET", "/", origin="https://agent.example")).body
        )
        assert (ports.webhooks is not None) is there
        assert ("push_notifications" in ports.policy.capabilities) is there
        assert card["capabilities"].get("pushNotifications", False) is there
        assert (key_desk(given) is not None) is there


@pytest.mark.usefixtures("deployed")
def test_what_was_decided_about_webhooks_reaches_the_operations() -> None:
    policy = decided.policy(
        settings(
            webhook_events="states",
            webhook_timeout_seconds=3,
            webhook_first_delay_seconds=2,
            webhook_longest_delay_seconds=60,
            webhook_attempts=5,
            webhook_age_seconds=600,
            plain_http_webhooks=True,
            loopback_webhooks=True,
        )
    ).webhooks

    assert policy.kinds == {PushKind.STATES}
    assert (policy.timeout, policy.first_delay, policy.longest_delay) == (3, 2, 60)
    assert policy.lease == timedelta(seconds=9)
    assert (policy.attempts, policy.age) == (5, timedelta(minutes=10))
    assert (policy.plain_http, policy.loopback) == (True, True)


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("bus", ["", "tasks"])
def test_an_event_bus_is_told_of_tasks_only_where_one_was_named(bus: str) -> None:
    webhooks = api.endpoint(settings(**WEBHOOKS, event_bus=bus)).ports.webhooks

    assert webhooks is not None
    assert (webhooks.events is not None) is bool(bus)


@pytest.mark.usefixtures("deployed")
def test_each_thing_that_webhooks_need_is_the_one_of_aws() -> None:
    webhooks = api.endpoint(settings(**WEBHOOKS, event_bus="tasks")).ports.webhooks

    assert webhooks is not None
    assert webhooks.pokes.queue_url == WEBHOOKS["pokes_queue_url"]  # type: ignore[attr-defined]
    assert webhooks.letters.queue_url == WEBHOOKS["dead_letters_queue_url"]  # type: ignore[attr-defined]
    assert webhooks.events.bus == "tasks"  # type: ignore[union-attr]
    assert webhooks.store.table.name == webhooks.hosts.table.name == "tasks"  # type: ignore[attr-defined]
    assert callable(webhooks.seals.seal)
    assert callable(webhooks.names.addresses)
    assert callable(webhooks.posts.post)
    assert callable(webhooks.signatures.sign)  # type: ignore[union-attr]


def test_keys_last_as_long_as_was_decided_and_are_shown_for_a_day_longer_than_webhooks_are_tried() -> None:
    given = settings(**WEBHOOKS, signing_key_days=30, webhook_age_seconds=3600)
    rows, _ = table()
    seals, clock = FakeSeals(), FakeClock()

    keys = key_ports(given, rows, seals, clock)

    assert keys.keys == DynamoSigningKeys(rows, "webhooks")
    assert (keys.seals, keys.clock) == (seals, clock)
    assert keys.policy == KeyPolicy(
        lasts=timedelta(days=30), publish_ahead=timedelta(hours=1), publish_after=timedelta(hours=25)
    )


SIGNED = {"base_url": "https://agent.example/prod", "card_signing_keys": "alias/new,alias/old"}
SHARED = {
    "base_url": "https://agent.example",
    "card_signing_secret": "inline:a secret of at least thirty-two bytes",
    "card_signing_kid": "default",
}


@pytest.mark.usefixtures("deployed")
def test_a_card_is_signed_by_the_keys_that_were_named_and_says_where_they_are_shown() -> None:
    signs = signing(settings(**SIGNED))

    assert signs is not None
    assert signs.jku == "https://agent.example/prod/.well-known/jwks.json"
    assert signs.keys._key_ids == ("alias/new", "alias/old")  # type: ignore[attr-defined]
    assert callable(signs.kept.keep)  # type: ignore[union-attr]
    assert signing(settings()) is None


@pytest.mark.usefixtures("deployed")
def test_callers_have_cards_of_their_own_exactly_where_the_deployment_names_what_they_say() -> None:
    without, with_them = settings(), settings(extended_card="deployers_agent:extended_card", **SHARED)

    for given, there in ((without, False), (with_them, True)):
        endpoint = api.endpoint(given)
        public = json.loads(
            card_desk(given, signing(given)).answer(HttpRequest("GET", "/", origin="https://a.example")).body
        )
        assert ("extended_agent_card" in endpoint.ports.policy.capabilities) is there
        assert (endpoint.callers_card is not None) is there
        assert public["capabilities"].get("extendedAgentCard", False) is there

    caller = Caller("", "o", "me", "https://agent.example", claims={"sub": "me"})
    card = endpoint.callers_card(caller)  # type: ignore[misc]
    assert (card.description, len(card.signatures)) == ("For me.", 1)


@pytest.mark.usefixtures("deployed")
def test_a_card_is_signed_by_the_secret_that_was_named_and_nothing_is_kept_of_it() -> None:
    given = settings(**SHARED)
    signs = signing(given)

    card = json.loads(card_desk(given, signs).answer(HttpRequest("GET", "/")).body)

    assert signs is not None
    assert (signs.kept, signs.jku) == (None, "")
    assert card["signatures"]


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize(
    ("given", "shown"),
    [({}, False), (WEBHOOKS, True), (SIGNED, True), ({**SIGNED, **WEBHOOKS}, True), (SHARED, False)],
    ids=["nothing", "webhooks", "the card", "both", "a secret"],
)
def test_public_keys_are_shown_where_pairs_sign_something(given: dict[str, str], *, shown: bool) -> None:
    made = settings(**given)

    assert (key_desk(made, signing(made)) is not None) is shown


@pytest.mark.parametrize(
    ("reference", "client"), [("ssm:/card", "ssm"), ("secretsmanager:card", "secretsmanager")]
)
def test_a_value_is_read_where_its_reference_says(
    reference: str, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = AwsClients()
    monkeypatch.setattr(clients, client, lambda: client)

    value: Any = kept_value(reference, clients)

    assert value._client == client
    assert reference.endswith(getattr(value, "_name", None) or value._secret)
    assert kept_value("inline:a:b", clients).read() == "a:b"


def test_what_is_late_is_made_once_when_it_is_used() -> None:
    made: list[str] = []

    def make() -> str:
        made.append("it")
        return "value"

    made_late = late(make)
    assert made == []

    assert (made_late.upper(), made_late.title()) == ("VALUE", "Value")
    assert made == ["it"]


IMPORTS = """
import sys
sys.path.insert(0, "functions/{}")
import app
print(*sorted(sys.modules))
"""
WEB = {"fastapi", "mangum", "starlette"}
NEEDLESS = {"boto3", "moto", "werkzeug"}
AGENT = {"deployers_agent"}
POWERTOOLS = {"aws_lambda_powertools"}
CIPHERS = {"cryptography", "jwt"}
FRAMEWORKS = {
    "a2a",
    "a2a_serverless.frameworks",
    "agents",
    "langchain_core",
    "langgraph",
    "openai",
    "pydantic_ai",
    "strands",
}


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize(
    ("function", "needed", "unwanted"),
    [
        ("jsonrpc", {"deployers_profile"}, WEB | NEEDLESS | AGENT | POWERTOOLS | CIPHERS),
        ("http_json", {"deployers_profile"}, WEB | NEEDLESS | AGENT | POWERTOOLS | CIPHERS),
        (
            "card",
            {"deployers_profile"} | WEB,
            NEEDLESS | AGENT | POWERTOOLS | CIPHERS | {"botocore", "rfc8785"},
        ),
        ("turn", AGENT | POWERTOOLS, WEB | NEEDLESS),
        ("sweep", POWERTOOLS, WEB | NEEDLESS | AGENT | {"deployers_profile"} | CIPHERS),
        ("fanout", POWERTOOLS, WEB | NEEDLESS | AGENT | {"deployers_profile"} | CIPHERS),
        ("push", POWERTOOLS | CIPHERS, WEB | NEEDLESS | AGENT | {"deployers_profile"}),
    ],
)
def test_a_function_loads_what_it_needs_and_nothing_that_only_others_do(
    function: str, needed: set[str], unwanted: set[str], tmp_path: Path
) -> None:
    root = Path(__file__).parents[2]
    environment = {
        "PYTHONPATH": f"{root / 'layers/core'}:{tmp_path}",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "TASKS_TABLE": "tasks",
        "CONTENT_BUCKET": "content",
        "TURN_STATE_MACHINE_ARN": "arn:aws:states:eu-central-1:123456789012:stateMachine:a-turn",
        "AGENT": "deployers_agent:agent",
        "AGENT_PROFILE": "deployers_profile:profile",
        "ANONYMOUS": "allowed",
        **{name.upper(): value for name, value in WEBHOOKS.items()},
    }
    program = IMPORTS.format(function)

    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=root, env=environment, capture_output=True, text=True, check=True
    )

    modules = set(ended.stdout.split())
    loaded = {name.partition(".")[0] for name in modules}
    assert (needed - loaded, unwanted & loaded) == (set(), set())
    # A bridge and its framework come with the agent that uses them, and this one does not.
    assert FRAMEWORKS & (loaded | modules) == set()
