"""What of an agent's updates can be recorded: a deployer's code may yield anything."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pydantic import ValidationError

from a2a_serverless.protocol.objects import Part

ARTIFACT_ID = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9_.:-]{1,128}")
"""Also a step of an address, where a dot or two would mean another place."""


class InvalidUpdateError(Exception):
    """The agent yielded something that no task can hold; the text is for the deployer's log."""


def check_artifact_id(artifact_id: object) -> None:
    """Raise InvalidUpdateError for what no artifact can be called."""
    if not isinstance(artifact_id, str) or not ARTIFACT_ID.fullmatch(artifact_id):
        raise InvalidUpdateError("an artifact id is 1 to 128 characters of [A-Za-z0-9_.:-], not . or ..")


@contextmanager
def given_by_the_agent() -> Iterator[None]:
    """What pydantic refuses in here is an invalid update; the value itself stays out of the log.

    So is a value of a deployer's class that raises when it is looked at, whatever it raises.
    """
    try:
        yield
    except InvalidUpdateError:
        raise
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        reasons = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found)
        raise InvalidUpdateError("; ".join(reasons)) from None
    except Exception as error:
        raise InvalidUpdateError("a value raises when it is looked at") from error


def said(text: str | None, parts: object, media_type: str | None = None) -> tuple[Part, ...]:
    """What an update says, as parts; raises InvalidUpdateError for what is no content."""
    with given_by_the_agent():
        if not isinstance(parts, Sequence) or not all(isinstance(part, Part) for part in parts):
            raise InvalidUpdateError("parts must be a sequence of Part")
        return (*([Part(text=text, media_type=media_type)] if text else []), *parts)
