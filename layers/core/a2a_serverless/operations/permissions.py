"""Asking a caller for permission: the question, the decision that answers it, and what that allows.

A question is a settled status like any other; the log that holds it is its record. It is known by its
`inputId`: chosen at random, and ending in a digest of everything that is asked, so that a decision about one
question allows nothing else. A decision is a message, and a message that was refused leaves the question
standing. The shapes are told in `operations/README.md`.
"""

import hashlib
import json
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from a2a_serverless.agent import InputRequired, Permission
from a2a_serverless.protocol.errors import FieldViolation, InvalidParamsError
from a2a_serverless.protocol.extensions import ALLOW, DENY, PermissionMode
from a2a_serverless.protocol.objects import Message, Part
from a2a_serverless.tasks.fold import LoggedTask

KIND = "permission"
SCHEMA_VERSION = 1
MEMBERS = ("schemaVersion", "kind", "taskId", "inputId", "decision")
OWN = frozenset({"schemaVersion", "inputId", "decision"})

MOST_ASKED = 64 * 1024
"""Bytes of JSON that a question may hold."""


class UnaskableError(ValueError):
    """A permission that cannot be asked for; raised where the agent asks."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the caller: how it ends the turn, and by what its answer will name it."""

    input_id: str
    outcome: InputRequired


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a question, by its caller or by the deployment.

    It holds once it is `recorded`: until then nothing was allowed.
    """

    permission: Permission
    allowed: bool
    input_id: str | None = None
    recorded: "Future[None]" = field(default_factory=Future, compare=False, repr=False)

    def metadata(self) -> dict[str, Any]:
        """What the log keeps of it, and what callers who activated the extension are shown."""
        said: dict[str, Any] = {
            "schemaVersion": SCHEMA_VERSION,
            "kind": "permission_decision",
            "decision": ALLOW if self.allowed else DENY,
            "automatic": self.input_id is None,
            "tool": self.permission.tool,
            "title": self.permission.title,
            "target": self.permission.target,
        }
        return said if self.input_id is None else {**said, "inputId": self.input_id}


class Questions:
    """The questions of one segment of a turn, and the decision that its message brought, if it brought one.

    Asked from any thread. The decision is given out once: whoever asks the same again asks anew.
    """

    def __init__(self, mode: PermissionMode, task: LoggedTask, new_id: Callable[[], str]) -> None:
        self._mode = mode
        self._task = task
        self._new_id = new_id
        self._left = _answer(task)
        self._lock = threading.Lock()

    def ask(self, permission: Permission) -> Decision | Question:
        """What was decided about it, or the question to put to the caller.

        Raises:
            UnaskableError: it holds something that is not JSON, or too much of it.
        """
        asked = _asked(permission)
        if self._mode is not PermissionMode.ASK:
            return Decision(permission, allowed=self._mode is PermissionMode.ALLOW)
        answer = self._take(_digest(asked))
        if answer is not None:
            return Decision(permission, allowed=answer["decision"] == ALLOW, input_id=answer["inputId"])
        input_id = f"{self._new_id()}.{_digest(asked)}"
        return Question(input_id, _outcome(permission, self._envelope(asked, input_id)))

    def _take(self, digest: str) -> Mapping[str, Any] | None:
        with self._lock:
            if self._left is None or self._left["inputId"].rpartition(".")[2] != digest:
                return None
            answer, self._left = self._left, None
            return answer

    def _envelope(self, asked: Mapping[str, Any], input_id: str) -> dict[str, Any]:
        return {
            "schemaVersion": SCHEMA_VERSION,
            "kind": KIND,
            "inputId": input_id,
            "taskId": self._task.task_id,
            "contextId": self._task.context_id,
            **asked,
            "options": [ALLOW, DENY],
        }


def _asked(permission: Permission) -> dict[str, Any]:
    """Everything that is asked, as JSON holds it."""
    given = {
        "tool": permission.tool,
        "title": permission.title,
        "purpose": permission.purpose,
        "effect": permission.effect,
        "target": permission.target,
        "arguments": dict(permission.arguments or {}),
        "readOnly": permission.read_only,
    }
    try:
        text = json.dumps(given, allow_nan=False)
        asked: dict[str, Any] = Part(data=json.loads(text)).data
    except (TypeError, ValueError, RecursionError) as error:
        raise UnaskableError("a permission is asked for with what JSON can hold") from error
    if len(text) > MOST_ASKED:
        raise UnaskableError("a permission holds at most 64 KB; name what is bigger by its digest")
    return asked


def _digest(asked: Mapping[str, Any]) -> str:
    canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return urlsafe_b64encode(hashlib.sha256(canonical.encode()).digest()).rstrip(b"=").decode()


def _outcome(permission: Permission, envelope: Mapping[str, Any]) -> InputRequired:
    """The question for people, and beside it the one for programs."""
    lines = (
        f"Permission needed: {permission.title}",
        f"Tool: {permission.tool}",
        permission.target and f"Target: {permission.target}",
        permission.purpose and f"Purpose: {permission.purpose}",
        permission.effect and f"Effect: {permission.effect}",
        "This changes nothing." if permission.read_only else "",
    )
    part = Part(data=envelope, media_type="application/json")
    return InputRequired("\n".join(line for line in lines if line), [part])


# --- the answer --------------------------------------------------


def is_decision(message: Message) -> bool:
    """Whether a message means to decide about a permission, rightly or not."""
    return any(_decides(part) for part in message.parts)


def _decides(part: Part) -> bool:
    """Data of that kind is nobody else's once it has another member of a decision."""
    given = part.data
    return isinstance(given, Mapping) and given.get("kind") == KIND and not OWN.isdisjoint(given)


def unfit(task: LoggedTask | None, message: Message) -> InvalidParamsError | None:
    """Why a message that means to decide cannot: None when it can, and for every other message.

    `task` is the task it goes to, None for a new one. Any other message to a task that waits for a decision
    is a message: its agent runs, and asks again if it still wants to. It never allows anything.
    """
    if not is_decision(message):
        return None
    if task is None or task.asked is None:
        return _refused("message", "permission_resume_invalid: the task waits for no decision")
    if len(message.parts) != 1:
        return _refused("message.parts", "input_response_mismatch: must be exactly one data part")
    part = message.parts[0]
    at = "message.parts[0]"
    if part.media_type not in (None, "application/json"):
        return _refused(f"{at}.mediaType", "input_response_mismatch: must be application/json")
    return _mismatch(f"{at}.data", part.data, task)


def _mismatch(at: str, given: Mapping[str, Any], task: LoggedTask) -> InvalidParamsError | None:
    if set(given) != set(MEMBERS):
        return _refused(at, f"input_response_mismatch: must have exactly {', '.join(MEMBERS)}")
    if given["schemaVersion"] is True or given["schemaVersion"] != SCHEMA_VERSION:
        return _refused(f"{at}.schemaVersion", "input_response_mismatch: must be 1")
    if given["taskId"] != task.task_id:
        return _refused(f"{at}.taskId", "input_response_mismatch: must be the task that the message goes to")
    if given["inputId"] != task.asked:
        return _refused(
            f"{at}.inputId", "permission_resume_invalid: is not the question that the task waits with"
        )
    if given["decision"] not in (ALLOW, DENY):
        return _refused(f"{at}.decision", "Permission decision must be allow_once or deny.")
    return None


def _refused(member: str, text: str) -> InvalidParamsError:
    return InvalidParamsError(text, violations=[FieldViolation(member, text)])


def _answer(task: LoggedTask) -> Mapping[str, Any] | None:
    """The decision that started this turn, judged again by the log alone."""
    message = task.history[-1]
    before = task.model_copy(update={"asked": task.answers})
    if not is_decision(message) or unfit(before, message) is not None:
        return None
    answer: Mapping[str, Any] = message.parts[0].data
    return answer
