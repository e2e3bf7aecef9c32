"""What a caller wants done with which stack, read from a message.

A data part says it in so many members and is read as it stands; a text is looked at with patterns and nothing
cleverer, so that the same words always mean the same. What is not said is not guessed: the skill asks for it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Self
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from a2a_agents.iac.operations.regions import is_region, region_in
from a2a_serverless.agent import Message, Part

MOST_TEXT = 8000
"""Characters of a message's text that are looked at for what it means."""


class Action(StrEnum):
    """What can be done."""

    CREATE = "create"
    UPDATE = "update"
    CONTINUE = "continue"
    DELETE = "delete"
    DIAGNOSE = "diagnose"
    FOLLOW = "follow"
    LIST = "list"


CHANGES = frozenset({Action.CREATE, Action.UPDATE, Action.CONTINUE, Action.DELETE})
"""What changes something in the cloud."""


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


FENCED = re.compile(
    r"^[ \t]*(```+|~~~+)[^\n]*\n(?P<text>.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
BARE = re.compile(
    r"^[ \t]*(?:\{\s*\"|---\s*$|\"?(?:ROSTemplateFormatVersion|Transform|Resources|Parameters)\"?\s*:)",
    re.MULTILINE,
)


def _text(text: str, media_type: str) -> Heard:
    """A text: words around a template, a template, or just words."""
    if media_type.partition(";")[0].strip() in TEMPLATES:
        return Heard(brought=text)
    fenced = FENCED.search(text)
    if fenced is not None:
        words, brought = text[: fenced.start()] + "\n" + text[fenced.end() :], fenced["text"]
    elif (bare := BARE.search(text)) is not None:
        words, brought = text[: bare.start()], text[bare.start() :]
    else:
        words, brought = text, None
    words = words[:MOST_TEXT]
    parameters = dict(_parameters(words))
    plain = PARAMETER.sub(" ", words)
    actions = tuple(_actions(plain))
    action = actions[0] if len(actions) == 1 else None
    return Heard(
        wish=Wish(
            action=action,
            stack=_stack(plain),
            region=region_in(words),
            template=None if brought else _template(words),
            retain=_retained(plain),
        ),
        parameters=parameters,
        brought=brought,
        several=() if action else actions,
    )


TEMPLATES = frozenset({"text/yaml", "application/yaml", "application/x-yaml", "application/json"})

PARAMETER = re.compile(
    r"(?<![\w/?&.:=-])(?P<name>[A-Za-z][\w.:-]{0,127})=(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s,;\"']+)"
)


def _parameters(words: str) -> Iterator[tuple[str, str]]:
    for found in PARAMETER.finditer(words):
        value = found["value"]
        if value[0] in "\"'":
            yield found["name"], value[1:-1]
        else:
            # The full stop of the sentence is not the value's.
            yield found["name"], value.removesuffix(".") or value


NAME = r"[A-Za-z][A-Za-z0-9_-]{0,254}"
NO_NAMES = frozenset(
    """
    a again all an and any as at be by called complete created creation deleted deletion does every existing
    failed fails for from has have in is it its list my named new not now of on operation or our out ros run
    stack stacks state status that the there these this to under until up update updated was were what which
    why will with without your
    """.split()  # noqa: SIM905  can be read so
)
NAMED = re.compile(
    rf"\bstack\s+(?:(?:named|called|id|with\s+the\s+name|creation\s+of)\s+)?[\"'`“]?({NAME})", re.IGNORECASE
)
BEFORE = re.compile(rf"(?<![\w-])[\"'`“]?({NAME})[\"'`”]?\s+stack\b", re.IGNORECASE)
QUOTED = re.compile(rf"[\"'`“]({NAME})[\"'`”]")
ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
CHINESE = re.compile(rf"资源栈\s*[\"“]?({NAME})")


def _stack(words: str) -> str | None:
    """The stack that words name: by its id, after the word "stack", or before it."""
    if (by_id := ID.search(words)) is not None:
        return by_id.group()
    for pattern in (NAMED, CHINESE, BEFORE):
        for found in pattern.finditer(words):
            name = found[1].rstrip("-_")
            if name.lower() not in NO_NAMES and not is_region(name) and not _is_verb(name):
                return name
    if re.search(r"\bstack\b", words, re.IGNORECASE) and (quoted := QUOTED.search(words)) is not None:
        return quoted[1]
    return None


FROM = re.compile(
    r"file:///(?P<url>[^\s\"'`<>]+)|(?<![\w/.-])(?P<name>[\w./-]+\.(?:ya?ml|json|template))\b", re.IGNORECASE
)


def _template(words: str) -> str | None:
    found = FROM.search(words)
    if found is None:
        return None
    return (found["url"] or found["name"]).rstrip(".,;:!?)")


RETAINED = re.compile(
    rf"\b(?:retain|keep)(?:ing)?\s+(?:the\s+)?(?:resources?\s+)?({NAME}(?:(?:\s*,\s*|\s+and\s+){NAME})*)"
)


def _retained(words: str) -> tuple[str, ...]:
    found = RETAINED.search(words)
    if found is None:
        return ()
    names = re.split(r"\s*,\s*|\s+and\s+", found[1])
    return tuple(name for name in names if name.lower() not in NO_NAMES)


WORDS: Sequence[tuple[Action, str, str]] = (
    (
        Action.CONTINUE,
        r"continu(?:e|es|ing)|resum(?:e|ing)|retry|repair|go(?:es)?\s+on|carry\s+on",
        "继续|修复|重试",
    ),
    (Action.DELETE, r"delet(?:e|es|ing)|remov(?:e|ing)|destroy(?:ing)?|tear(?:ing)?\s+down", "删除|销毁"),
    (Action.UPDATE, r"updat(?:e|es|ing)|chang(?:e|ing)|modify(?:ing)?|upgrad(?:e|ing)", "更新|修改|变更"),
    (
        Action.CREATE,
        r"creat(?:e|es|ing|ion)|deploy(?:ing)?|launch(?:ing)?|provision(?:ing)?|set\s+up|spin\s+up",
        "创建|部署|新建",
    ),
    (Action.LIST, r"list|(?:which|what|show|all)(?:\s+\w+){0,2}\s+stacks", "列出|有哪些"),
    (
        Action.FOLLOW,
        r"status|state|show|describe|watch|follow(?:ing)?|progress|how\s+is|look\s+at",
        "状态|查看|进度",
    ),
)
"""By which words an action is meant."""

WHY = (r"why|diagnos\w*|troubleshoot\w*|root\s+cause|what\s+(?:went|is|was)\s+wrong", "诊断|为什么|排查")
"""Words that mean a diagnosis whatever else is said: an update that failed is not to be done again."""
FAILED = (r"fail\w*|errors?|broken", "失败|错误")
"""Words that mean a diagnosis where nothing else is said."""


def _pattern(english: str, chinese: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{english})(?![\w-])|{chinese}", re.IGNORECASE)


VERBS = tuple((action, _pattern(english, chinese)) for action, english, chinese in WORDS)


def _actions(words: str) -> list[Action]:
    """The actions that words mean: one, or none, or those between which they do not decide."""
    if _pattern(*WHY).search(words):
        return [Action.DIAGNOSE]
    meant = [action for action, pattern in VERBS if pattern.search(words)]
    changes = [action for action in meant if action in CHANGES]
    if set(changes) == {Action.CONTINUE, Action.CREATE}:
        return [Action.CONTINUE]
    if changes or meant:
        return changes or meant[:1]
    return [Action.DIAGNOSE] if _pattern(*FAILED).search(words) else []


def _is_verb(word: str) -> bool:
    return any(pattern.fullmatch(word) for _, pattern in VERBS)
