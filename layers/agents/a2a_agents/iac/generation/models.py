"""Which model writes: found by the name that a deployment gives it.

`bedrock:<model id>` is a model of Amazon Bedrock. `module:attribute` is a model of the deployer's own, a
function that makes one, or an agent, for example one that a bridge made of a framework's: see `speaking`.
"""

import inspect
from importlib import import_module
from typing import TypeGuard

from a2a_agents.iac.generation.model import Model

BEDROCK = "bedrock:"


class UnusableModelError(Exception):
    """There is no such model; the text may be shown to callers."""


def model_named(name: str) -> Model:
    """The model of this name.

    Raises:
        UnusableModelError: there is none.
    """
    if not name:
        raise UnusableModelError("this deployment has no model configured")
    if name.startswith(BEDROCK):
        from a2a_agents.iac.generation.bedrock import bedrock_model  # noqa: PLC0415  loaded where it is used

        return bedrock_model(name.removeprefix(BEDROCK))
    found = _attribute(name)
    if not _answers(found) and inspect.isfunction(found) and not inspect.signature(found).parameters:
        found = found()
    if _answers(found):
        return found
    if callable(found):
        from a2a_agents.iac.generation.speaking import SpeakingModel  # noqa: PLC0415  as above

        return SpeakingModel(found, name)
    raise UnusableModelError("what is configured as its model is none")


def _answers(found: object) -> TypeGuard[Model]:
    return callable(getattr(found, "answer", None)) and isinstance(getattr(found, "name", None), str)


def _attribute(name: str) -> object:
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError, ValueError):
        # What is missing is the deployer's business, not the caller's.
        raise UnusableModelError("what is configured as its model is not there") from None
