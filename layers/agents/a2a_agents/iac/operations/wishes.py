"""What a caller wants done with which stack, read from a message.

A data part says it in so many members and is read as it stands; a text is looked at with patterns and nothing
cleverer, so that the same words always mean the same. What is not said is not guessed: the skill asks for it.
"""

import json
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from a2a_agents.iac.operations import words
from a2a_agents.iac.operations.actions import Action, actions
from a2a_agents.iac.operations.regions import is_region, region_in
from a2a_serverless.agent import Message, Part

MOST_TEXT = 8000
"""Characters of a message's text that are looked at for what it means."""


class UnreadableWishError(Exception):
    """A data part says something that makes no sense; the text is for the caller."""


class Wish(BaseModel):
    """What is wanted, as far as it was said. `template` is the name of a file of the workspace."""

    model_config = ConfigDict(frozen=True)

    action: Action | None = None
    stack: str | None = Field(default=None, max_length=255, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")
    region: str | None = None
    template: str | None = Field(default=None, min_length=1, max_length=512)
    retain: tuple[str, ...] = ()
    timeout_minutes: int | None = Field(default=None, ge=10, le=1440)

    def and_then(self, later: Self) -> Self:
        """This wish with what was said later."""
        said = {name: getattr(later, name) for name in type(later).model_fields if getattr(later, name)}
        return self.model_copy(update=said)


class Heard(BaseModel):
    """What one message says: a wish, parameters, and a template that it brings."""

    model_config = ConfigDict(frozen=True)

    wish: Wish = Wish()
    parameters: dict[str, str] = Field(default_factory=dict, repr=False)
    brought: str | None = Field(default=None, repr=False)
    several: tuple[Action, ...] = ()
    """The actions that are meant when it is not clear which."""


def heard(message: Message, files: Mapping[int, str] | None = None) -> Heard:
    """What a message says. `files` names the parts, by number, that are files of the conversation.

    Raises:
        UnreadableWishError: a data part is wrong.
    """
    found = Heard()
    for number, part in enumerate(message.parts):
        name = (files or {}).get(number)
        said = _part(part) if name is None else Heard(wish=Wish(template=name))
        found = Heard(
            wish=found.wish.and_then(said.wish),
            parameters={**found.parameters, **said.parameters},
            brought=said.brought or found.brought,
            several=said.several or found.several,
        )
    return found


def is_decision(message: Message) -> bool:
    """Whether a message is the answer to a question for permission, which is not this skill's to read."""
    return any(
        isinstance(part.data, Mapping) and part.data.get("kind") == "permission" for part in message.parts
    )


def _part(part: Part) -> Heard:
    match part.which():
        case "data":
            return _data(part.data)
        case "url":
            return Heard(wish=Wish(template=_file(part.url or "")))
        case "raw":
            return Heard(brought=_decoded(part.raw or b""))
        case _:
            return _text(part.text or "", part.media_type or "")


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise UnreadableWishError("A template is text in UTF-8; what was sent is not.") from None


def _file(url: str) -> str:
    name = unquote(url.removeprefix("file:///"))
    if not url.startswith("file:///") or not name:
        raise UnreadableWishError(
            "Templates are read from files of this conversation (file:///name), not from other addresses."
        )
    return name


MEMBERS = {
    "action": "action",
    "stack": "stack",
    "stackName": "stack",
    "stackId": "stack",
    "region": "region",
    "regionId": "region",
    "retain": "retain",
    "timeoutInMinutes": "timeout_minutes",
}


def _data(data: object) -> Heard:
    """A data part: the members above, `template` (a file, or the template itself) and `parameters`."""
    if not isinstance(data, Mapping) or not data.keys() & {*MEMBERS, "template", "parameters"}:
        return Heard(brought=json.dumps(data)) if _is_template(data) else Heard()
    said: dict[str, Any] = {MEMBERS[name]: value for name, value in data.items() if name in MEMBERS}
    template, brought = data.get("template"), None
    if isinstance(template, Mapping):
        brought = json.dumps(template)
    elif isinstance(template, str) and ("\n" in template or template.lstrip().startswith("{")):
        brought = template
    elif isinstance(template, str):
        said["template"] = _file(template) if "://" in template else template
    given = data.get("parameters") or {}
    if not isinstance(given, Mapping):
        raise UnreadableWishError("`parameters` is an object of names and values.")
    if said.get("region") and not (isinstance(said["region"], str) and is_region(said["region"])):
        raise UnreadableWishError("`region` is a region's id, such as cn-hangzhou.")
    try:
        wish = Wish.model_validate(said)
    except ValidationError as error:
        names = sorted({str(one["loc"][0]) for one in error.errors(include_input=False)})
        raise UnreadableWishError(f"This makes no sense: {', '.join(names)}.") from None
    return Heard(
        wish=wish, parameters={str(name): _given(value) for name, value in given.items()}, brought=brought
    )


def _is_template(data: object) -> bool:
    return isinstance(data, Mapping) and "Resources" in data


def _given(value: object) -> str:
    """A parameter's value as ROS takes it: text, or JSON in a text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


TEMPLATES = frozenset({"text/yaml", "application/yaml", "application/x-yaml", "application/json"})


def _text(text: str, media_type: str) -> Heard:
    """A text: words around a template, a template, or just words."""
    if media_type.partition(";")[0].strip() in TEMPLATES:
        return Heard(brought=text)
    said, brought = words.apart(text)
    said = said[:MOST_TEXT]
    plain = words.PARAMETER.sub(" ", said)
    meant = tuple(actions(plain))
    action = meant[0] if len(meant) == 1 else None
    return Heard(
        wish=Wish(
            action=action,
            stack=words.stack(plain),
            region=region_in(said),
            template=None if brought else words.template(said),
            retain=words.retained(plain),
        ),
        parameters=dict(words.parameters(said)),
        brought=brought,
        several=() if action else meant,
    )
