"""The composition root: settings in, everything a function needs out. The one module that knows all others.

What every request needs is made at once; what only some need (S3, Step Functions, the logger, metrics) when
it is first used, since making it costs more than most cold starts can spare. Everything is made once per
process.
"""

from collections.abc import Callable
from importlib import import_module
from threading import Lock
from typing import Any, TypeVar, cast

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.dynamodb_admissions import DynamoAdmissions
from a2a_serverless.adapters.dynamodb_contexts import DynamoContexts
from a2a_serverless.adapters.dynamodb_due import DynamoDue
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.adapters.dynamodb_tasks import DynamoTasks
from a2a_serverless.adapters.s3_contents import S3Contents
from a2a_serverless.adapters.stepfunctions_executions import StepFunctionsExecutions
from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.adapters.uuid_identifiers import UuidIdentifiers
from a2a_serverless.agent import Agent, AgentProfile
from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.bindings.card import CardDesk, CardSource
from a2a_serverless.bindings.service import Endpoint
from a2a_serverless.ports import Answer, Identifiers, Incidents, Metrics, Policy, Ports
from a2a_serverless.settings import Settings, SettingsError

T = TypeVar("T")


# --- what the functions are given -------------------------------------------------


def endpoint(settings: Settings) -> Endpoint:
    """What a binding answers from."""
    return Endpoint(
        ports(settings, policy(settings, profile(settings)), answer(settings)), admittance(settings)
    )


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


def ports(settings: Settings, decided: Policy | None = None, instant: Answer | None = None) -> Ports:
    """The ports made real on AWS. Without a policy of its own, one that knows nothing of the agent."""
    clock, identifiers, clients = SystemClock(), UuidIdentifiers(), AwsClients()
    table = DynamoTable(clients.dynamodb(), settings.tasks_table, clock)
    contents = S3Contents(late(clients.s3), settings.content_bucket)
    return Ports(
        tasks=DynamoTasks(table, contents, identifiers),
        admissions=DynamoAdmissions(table, contents, identifiers),
        contexts=DynamoContexts(table),
        executions=StepFunctionsExecutions(late(clients.stepfunctions), settings.turn_state_machine_arn),
        contents=contents,
        due=DynamoDue(table),
        incidents=late(lambda: _incidents(settings, identifiers)),
        metrics=late(lambda: _metrics(settings)),
        clock=clock,
        identifiers=identifiers,
        policy=decided or policy(settings),
        answer=instant,
    )


def policy(settings: Settings, described: AgentProfile | None = None) -> Policy:
    """What this deployment decided, and what its agent takes."""
    return Policy(
        retention=settings.retention,
        blocking_wait=settings.blocking_wait,
        deduplicate=settings.deduplication,
        input_modes=tuple(described.input_modes) if described else (),
    )


def admittance(settings: Settings) -> Admittance:
    """Who is let in, and under which address."""
    return Admittance(
        tokens=tuple(Token(name, sha256) for name, sha256 in settings.bearer_tokens),
        anonymous=settings.anonymous,
        local_principal=settings.local_principal,
        base_url=settings.base_url,
    )


# --- what a deployer names -------------------------------------------------


def agent(settings: Settings) -> Agent:
    """The agent itself; only the function that runs turns asks for it.

    Raises:
        SettingsError: there is none under its name.
    """
    found: Agent = _callable("AGENT", settings.agent)
    return found


def profile(settings: Settings) -> AgentProfile:
    """What the agent says about itself.

    Raises:
        SettingsError: there is none under its name.
    """
    reference = settings.agent_profile or f"{settings.agent.partition(':')[0]}:profile"
    found = _named("AGENT_PROFILE", reference)
    if not isinstance(found, AgentProfile):
        raise SettingsError(f"AGENT_PROFILE: {reference} is no AgentProfile")
    return found


def answer(settings: Settings) -> Answer | None:
    """The agent's instant answer, if the deployment wants one.

    Raises:
        SettingsError: there is none under its name.
    """
    if not settings.instant_answer:
        return None
    found: Answer = _callable("INSTANT_ANSWER", settings.instant_answer)
    return found


def _callable(variable: str, reference: str) -> Any:  # noqa: ANN401  known to be callable and no more
    found = _named(variable, reference)
    if not callable(found):
        raise SettingsError(f"{variable}: {reference} is not a function")
    return found


def _named(variable: str, reference: str) -> object:
    module_name, _, attribute = reference.partition(":")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there; what it imports is not
        raise SettingsError(f"{variable}: there is no module {error.name}") from error
    if not hasattr(module, attribute):
        raise SettingsError(f"{variable}: {module_name} has no {attribute}")
    return getattr(module, attribute)


# --- what is made when it is first used -------------------------------------------------


class _Late:
    """Stands for something until it is used, and passes everything on from then on."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._made: object = None
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the real thing has
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return getattr(self._made, name)


def late(make: Callable[[], T]) -> T:
    """What `make` makes, made when it is first used."""
    return cast("T", _Late(make))


def _incidents(settings: Settings, identifiers: Identifiers) -> Incidents:
    # Powertools costs a tenth of a second to load, and an API function that meets no error never needs it.
    from aws_lambda_powertools import Logger  # noqa: PLC0415

    from a2a_serverless.adapters.powertools_incidents import PowertoolsIncidents  # noqa: PLC0415

    logger = Logger(service=settings.powertools_service_name, level=settings.log_level)
    return PowertoolsIncidents(logger, identifiers)


def _metrics(settings: Settings) -> Metrics:
    from a2a_serverless.adapters.powertools_metrics import PowertoolsMetrics  # noqa: PLC0415  as above

    return PowertoolsMetrics(settings.powertools_service_name, settings.powertools_metrics_namespace)
