"""What a deployer names by `module:attribute`: found, or refused in words that name the variable at fault."""

from dataclasses import replace
from importlib import import_module
from typing import Any

from a2a_serverless.agent import Agent, AgentProfile, ExtendedCard
from a2a_serverless.ports import Answer
from a2a_serverless.settings import Settings, SettingsError


def agent(settings: Settings) -> Agent:
    """The agent itself; only the function that runs turns asks for it.

    Raises:
        SettingsError: there is none under its name.
    """
    found: Agent = _callable("AGENT", settings.agent)
    return found


def profile(settings: Settings) -> AgentProfile:
    """What the agent says about itself, and what this deployment lets messages hold besides.

    Raises:
        SettingsError: there is none under its name.
    """
    reference = settings.agent_profile or f"{settings.agent.partition(':')[0]}:profile"
    found = _named("AGENT_PROFILE", reference)
    if not isinstance(found, AgentProfile):
        raise SettingsError(f"AGENT_PROFILE: {reference} is no AgentProfile")
    return replace(found, input_modes=tuple(dict.fromkeys((*found.input_modes, *settings.input_media_types))))


def answer(settings: Settings) -> Answer | None:
    """The agent's instant answer, if the deployment wants one.

    Raises:
        SettingsError: there is none under its name.
    """
    if not settings.instant_answer:
        return None
    found: Answer = _callable("INSTANT_ANSWER", settings.instant_answer)
    return found


def extended_card(settings: Settings) -> ExtendedCard | None:
    """What callers' own cards have more, if the deployment gives them some.

    Raises:
        SettingsError: there is none under its name.
    """
    if not settings.extended_card:
        return None
    found: ExtendedCard = _callable("EXTENDED_CARD", settings.extended_card)
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
