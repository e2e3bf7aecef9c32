"""Hearing what a message adds to the wish that a task is about; asks where that stays unclear.

Parameters are read anew from the task's messages in every invocation, because those that are not to be echoed
may be kept nowhere else.
"""

import re
from contextlib import suppress
from urllib.parse import unquote

from a2a_agents.iac.operations.actions import Action
from a2a_agents.iac.operations.endings import Ends
from a2a_agents.iac.operations.memory import Memory
from a2a_agents.iac.operations.template import MOST_BYTES
from a2a_agents.iac.operations.wishes import (
    Heard,
    UnreadableWishError,
    Wish,
    heard,
    is_decision,
)
from a2a_serverless.agent import Failed, InputRequired, Message, Rejected, Turn
from a2a_serverless.protocol.objects import Role

YES = frozenset({"yes", "y", "ok", "okay", "do", "please", "please do", "do it", "yes please", "好", "是"})
NO = frozenset({"no", "n", "stop", "leave it", "never mind", "cancel", "no thanks", "不", "否", "取消"})

ONE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,254}")

FILE = "file:///"
"""How the source of an attachment begins that is a file of the conversation."""

REPAIR, STACK = "repair", "stack"
"""Questions whose answer may be a bare word."""


def parameters(turn: Turn) -> list[tuple[str, str]]:
    """The parameters that the caller has given in this task, in order: of one name the last counts."""
    given: list[tuple[str, str]] = []
    for message in (*turn.history, turn.message):
        if message.role is Role.USER and not is_decision(message):
            # One that made no sense was said to when it came.
            with suppress(UnreadableWishError):
                given += heard(message).parameters.items()
    return given


async def hear(turn: Turn, memory: Memory) -> None:
    """Take up what the turn's message says, once however often the turn is resumed.

    Raises:
        Ends: it is not clear, or the caller wants nothing more. UnreadableWishError: see `wishes.heard`.
    """
    message = turn.message
    if memory.heard == message.message_id:
        return
    memory.heard = message.message_id
    if is_decision(message):
        return
    files = {
        attachment.part: unquote(attachment.source.removeprefix(FILE))
        for attachment in turn.attachments
        if attachment.source.startswith(FILE)
    }
    said = heard(message, files)
    if memory.plan is not None and _bare(message).lower() in NO:
        stack = memory.plan.stack
        memory.done()
        raise Ends(Rejected(f"Not allowed: nothing was changed on stack {stack}."))
    wish = _answered(memory, _bare(message), said)
    if said.several and wish.action is None:
        meant = " or ".join(action.value for action in said.several)
        raise Ends(InputRequired(f"One thing at a time: {meant}?"))
    if said.brought is not None:
        wish = wish.model_copy(update={"template": await _put(turn, said.brought)})
    if wish != Wish() or said.parameters:
        memory.plan, memory.ongoing, memory.allowed, memory.tried = None, None, "", False
    memory.wish = memory.wish.and_then(wish)
    memory.asked = ""
    memory.region = wish.region or memory.region


def _bare(message: Message) -> str:
    return " ".join(part.text for part in message.parts if part.text).strip().strip("\"'`.!")


def _answered(memory: Memory, word: str, said: Heard) -> Wish:
    """What a message says, as the answer to what was asked."""
    wish = said.wish
    if memory.asked == STACK and not wish.stack and ONE_NAME.fullmatch(word):
        return wish.model_copy(update={"stack": word, "action": None})
    if memory.asked != REPAIR:
        goes_on = wish.action is Action.CONTINUE and not wish.stack and memory.wish.action is not None
        # "Go on", said to a task that waits for something, means what the task is about.
        return wish.model_copy(update={"action": None}) if goes_on else wish
    if word.lower() in NO:
        stack = memory.stack
        memory.done()
        memory.asked = ""
        raise Ends(Failed(f"Stack {stack} could not be created. What was created of it stays."))
    if wish.action is None and (word.lower() in YES or said.brought or said.parameters or wish.template):
        wish = wish.model_copy(update={"action": Action.CONTINUE})
    return wish if wish.stack else wish.model_copy(update={"stack": memory.stack})


async def _put(turn: Turn, text: str) -> str:
    """Keep a template that a message brought as a file of the conversation; returns the file's name."""
    if len(text.encode()) > MOST_BYTES:
        raise Ends(InputRequired(f"The template is too large: ROS takes {MOST_BYTES} bytes."))
    name = f"stacks/{turn.task_id}.template"
    await turn.workspace.write(name, text.encode(), "text/plain")
    return name
