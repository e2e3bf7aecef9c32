"""How a command gets at the agent it calls; what goes wrong on the way becomes a failure.

No message holds a secret: what was said by others is searched for those that are known. Loads what calls
agents: only commands that run import this.
"""

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import httpx

from a2a_serverless.cli.agent_choice import ChosenAgent
from a2a_serverless.cli.calling_options import Calling
from a2a_serverless.cli.card_places import STATUSES
from a2a_serverless.cli.credentials import credentials_of, header_value
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import shown
from a2a_serverless.client import (
    CardCache,
    Client,
    Discovered,
    MemoryCardCache,
    NoUsableInterfaceError,
    Options,
    StreamCutError,
    TimedOutError,
    Timeouts,
    Trust,
    UnavailableError,
    UnexpectedAnswerError,
    UnreachableError,
    UntrustedCardError,
    discover,
)
from a2a_serverless.client.card_verification import KeysOutOfReachError
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.errors import (
    A2AError,
    PermissionDeniedError,
    TaskNotFoundError,
    UnauthenticatedError,
)
from a2a_serverless.protocol.extensions import Extension

T = TypeVar("T")

OURS = frozenset(extension.uri for extension in Extension)
"""Extensions that are understood here, and opted into where a card announces them."""

SHORTEST_SECRET = 4
"""Characters of a secret that is looked for in what others say; a shorter one is found in any text."""


@dataclass(frozen=True)
class Agent:
    """An agent that can be called, as often as need be."""

    chosen: ChosenAgent
    options: Options
    trust: Trust | None
    tenant: str | None
    secrets: Sequence[str] = field(repr=False)
    verbose: bool
    cache: CardCache = field(default_factory=MemoryCardCache)

    @property
    def url(self) -> str:
        """Its address."""
        return self.chosen.url

    @property
    def typed(self) -> str:
        """Its address as it can be shown in a command line."""
        return "URL" if "?" in self.url else self.url

    @property
    def again(self) -> Sequence[str]:
        """The words of another command line that mean it."""
        named = ("--route-name", self.chosen.route) if self.chosen.route is not None else (self.typed,)
        return (*named, *self.chosen.options)

    async def discovered(self) -> Discovered:
        """Its card, verified where somebody is trusted.

        Raises:
            Failure: there is none.
        """
        try:
            found = await discover(self.url, options=self.options, trust=self.trust, cache=self.cache)
        except UnexpectedAnswerError as error:
            message = f"{self.typed} has no card: {shown(self.clean(str(error)))}"
            raise Failure(Exit.UNREACHABLE, message, "is an A2A agent there?") from error
        self.tell(f"card of {found.card.name} from {found.url}")
        return found

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """A client of it, which opts into what both sides understand."""
        card = _of_tenant((await self.discovered()).card, self.tenant)
        announced = [uri for each in card.capabilities.extensions if (uri := each.uri) and uri in OURS]
        wanted = dict.fromkeys([*announced, *(self.chosen.get("extensions") or ())])
        options = replace(self.options, extensions=list(wanted))
        async with Client(card, options, asked_from=self.url) as client:
            interface = client.chosen.interface
            self.tell(f"{interface.protocol_binding} {interface.protocol_version} at {interface.url}")
            yield client

    def tell(self, news: str) -> None:
        """Say what is done, where that is wanted."""
        if self.verbose:
            print(shown(self.clean(news)), file=sys.stderr)

    def clean(self, text: str) -> str:
        """The text without secrets of ours."""
        for secret in self.secrets:
            if len(secret) >= SHORTEST_SECRET:
                text = text.replace(secret, "[secret]")
        return text

    def run(self, work: Coroutine[Any, Any, T], *, limited: bool = True) -> T:
        """Do the work, in words where it fails; `limited` to the time that is to be waited at most.

        Raises:
            Failure: it did.
        """
        seconds = self.chosen.get("timeout") if limited else None

        async def limit() -> T:
            async with asyncio.timeout(seconds):
                return await work

        try:
            with in_words(self):
                return asyncio.run(limit())
        except TimeoutError as error:
            message = f"{self.typed} has not answered in {seconds:g} s"
            raise Failure(Exit.UNREACHABLE, message) from error


def connected(calling: Calling, chosen: ChosenAgent, secrets: Sequence[str] = ()) -> Agent:
    """How to call the agent that was chosen, as whoever calls; `secrets` are others that are sent to it.

    Raises:
        Failure: what is said of the caller or of trust makes no sense.
    """
    credentials, shown_to_it = credentials_of(chosen)
    for extension in chosen.get("extensions") or ():
        header_value("extension", extension)
    seconds = chosen.get("timeout")
    agent = Agent(
        chosen=chosen,
        options=Options(
            auth=credentials,
            credential_origins=calling.credential_origins,
            timeouts=Timeouts() if seconds is None else Timeouts(connect=min(5.0, seconds)),
            # Who tests a command stands in for the network.
            transport=calling.context.obj,
        ),
        trust=_trust(chosen),
        tenant=chosen.get("tenant"),
        secrets=[*shown_to_it, *secrets],
        verbose=calling.verbose,
    )
    agent.tell(f"agent {chosen.url} ({chosen.found_by})")
    return agent


def _trust(chosen: ChosenAgent) -> Trust | None:
    places, hosts = chosen.get("jwks") or (), chosen.get("trust_jku") or ()
    if not places and not hosts:
        if chosen.get("require_signature"):
            raise Failure(
                Exit.USAGE,
                "a signature is required, and nobody is trusted",
                "name keys with --jwks or --trust-jku",
            )
        return None
    try:
        from a2a_serverless.cli.card_verifying import key_set  # noqa: PLC0415  may not be installed
    except ModuleNotFoundError as missing:
        message = f"{missing.name} is not installed: pip install 'a2a-serverless[cli,signing]'"
        raise Failure(Exit.FAILED, message) from missing
    return Trust(keys=[key for place in places for key in key_set(place)], jku_hosts=hosts)


def _of_tenant(card: AgentCard, tenant: str | None) -> AgentCard:
    if tenant is None:
        return card
    interfaces = tuple(each.model_copy(update={"tenant": tenant}) for each in card.supported_interfaces)
    return card.model_copy(update={"supported_interfaces": interfaces})


@contextmanager
def in_words(agent: Agent) -> Iterator[None]:
    """Turn what the agent, or the way to it, says against something into a failure."""
    try:
        yield
    except A2AError as error:
        raise _refused(agent, error) from error
    except UntrustedCardError as error:
        raise Failure(STATUSES[error.verification.verdict], _said(agent, error)) from error
    except NoUsableInterfaceError as error:
        hint = "--credential-origin says where else than at the card credentials may be shown"
        raise Failure(Exit.FAILED, _said(agent, error), hint) from error
    except StreamCutError as error:
        hint = command("task subscribe", agent, error.task_id) if error.task_id else ""
        raise Failure(Exit.UNREACHABLE, _said(agent, error), hint) from error
    except (UnreachableError, TimedOutError, UnavailableError, KeysOutOfReachError) as error:
        raise Failure(Exit.UNREACHABLE, f"{agent.typed}: {_said(agent, error)}") from error
    except httpx.InvalidURL as error:
        raise Failure(Exit.FAILED, "an address that the agent gives is none") from error
    except UnexpectedAnswerError as error:
        raise Failure(Exit.FAILED, f"{agent.typed}: {_said(agent, error)}") from error


def command(name: str, agent: Agent, *words: str) -> str:
    """The command line that goes on with something at this agent."""
    return shown(f"a2a-serverless {name} {shlex.join([*agent.again, *words])}")


def _said(agent: Agent, error: Exception) -> str:
    return shown(agent.clean(str(error)))


def _refused(agent: Agent, error: A2AError) -> Failure:
    faults = "; ".join(f"{each.field or 'it'} {each.description}" for each in error.violations)
    text = shown(agent.clean(f"{error.message}: {faults}" if faults else error.message))
    match error:
        case UnauthenticatedError():
            hint = "who calls is said by --token, --basic-username or --api-key"
            return Failure(Exit.UNAUTHORIZED, text, hint)
        case PermissionDeniedError():
            return Failure(Exit.UNAUTHORIZED, text)
        case TaskNotFoundError():
            return Failure(
                Exit.NOTHING, text, "a task is shown to whoever began it; see `a2a-serverless task list`"
            )
    return Failure(Exit.FAILED, text)
