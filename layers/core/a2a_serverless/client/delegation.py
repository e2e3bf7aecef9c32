"""What a turn remembers of its conversation with another agent: a few lines of `turn.state`.

The conversation's ids, the message under way, and how far what came of it was told. Written so that a turn
which is called again from its beginning goes on where it was, and sends nothing twice. Knows no connection.
"""

import uuid
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from a2a_serverless.agent import AuthRequired, Completed, Failed, InputRequired, Outcome, Rejected, Turn
from a2a_serverless.protocol.objects import Part, Task

KEPT_UNDER = "remoteAgents"
"""The member of `turn.state` that holds all of it, by the agents' names."""

OUTCOMES: dict[str, type[Outcome]] = {
    kind.__name__: kind for kind in (Completed, InputRequired, AuthRequired, Failed, Rejected)
}


@dataclass(frozen=True, slots=True)
class Delegation:
    """One conversation of one turn with one agent; `step` tells what this turn asks of it apart."""

    turn: Turn
    name: str
    step: str

    @property
    def kept(self) -> MutableMapping[str, Any]:
        """What is remembered. Changed in place."""
        all_of_them: MutableMapping[str, Any] = self.turn.state.setdefault(KEPT_UNDER, {})
        kept: MutableMapping[str, Any] = all_of_them.setdefault(self.name, {})
        return kept

    @property
    def _now(self) -> str:
        return f"{self.turn.task_id}/{self.turn.message.message_id}"

    def outcome(self) -> Outcome | None:
        """How this step of this turn ended, if it has: the turn was called again for what came after."""
        done = self.kept.get("done", {})
        if done.get("turn") != self._now or self.step not in done.get("steps", {}):
            return None
        said = done["steps"][self.step]
        return OUTCOMES[said["outcome"]](said["text"] or "", tuple(map(Part.from_dict, said["parts"])))

    def begin(self) -> str:
        """The id to send this step's message under: the same where it may be out already."""
        kept = self.kept
        if kept.get("open", {}).get("step") == self.step:
            return str(kept["open"]["messageId"])
        sent = kept["sent"] = kept.get("sent", 0) + 1
        name = f"{self.turn.task_id}/{self.turn.message.message_id}/{self.name}/{self.step}/{sent}"
        message_id = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
        kept["open"] = {"step": self.step, "messageId": message_id}
        return message_id

    def place(self, *, context_id: str | None, task: Task | None, last_event_id: str | None) -> None:
        """Note how far was told. A task is noted whole only where its server gives no ids."""
        kept = self.kept
        if context_id is not None:
            kept["contextId"] = context_id
        if task is None or "open" not in kept:
            return
        kept["taskId"] = task.id
        place = {"lastEventId": last_event_id} if last_event_id else {"known": task.to_dict()}
        told = {name: kept["open"][name] for name in ("step", "messageId")}
        kept["open"] = {**told, **place}

    @property
    def is_followed(self) -> bool:
        """Whether a task came of the message, as far as is known."""
        opened = self.kept.get("open", {})
        return "lastEventId" in opened or "known" in opened

    @property
    def awaits_authorisation(self) -> bool:
        """Whether its task waits for something that may have happened meanwhile."""
        return self.kept.get("waits") == AuthRequired.__name__ and not self.is_followed

    def settle(self, outcome: Outcome) -> None:
        """Note how it ended: where the agent waits, the next message is the answer to its task."""
        kept = self.kept
        kept.pop("open", None)
        kept.pop("failures", None)
        kept.pop("sleeps", None)
        kept["waits"] = type(outcome).__name__ if isinstance(outcome, InputRequired | AuthRequired) else None
        if not kept["waits"]:
            kept["lastTaskId"] = kept.pop("taskId", kept.get("lastTaskId"))
            now = self._now
            done = kept.get("done", {})
            steps = done.get("steps", {}) if done.get("turn") == now else {}
            said = {
                "outcome": type(outcome).__name__,
                "text": outcome.text,
                "parts": [part.to_dict() for part in outcome.parts],
            }
            kept["done"] = {"turn": now, "steps": {**steps, self.step: said}}

    def failed(self) -> int:
        """Note one more failure to get through; gives how many there were in a row."""
        failures: int = self.kept.get("failures", 0) + 1
        self.kept["failures"] = failures
        return failures

    def got_through(self) -> None:
        """Note that the agent was heard."""
        self.kept.pop("failures", None)

    def sleep(self) -> int:
        """Note one more sleep; gives how many there were since the agent told something."""
        sleeps: int = self.kept.get("sleeps", 0)
        self.kept["sleeps"] = sleeps + 1
        return sleeps

    def woken(self) -> None:
        """Note that the agent told something."""
        self.kept.pop("sleeps", None)

    def forget(self) -> None:
        """Forget the task: it is gone, or nobody knows what became of it."""
        for name in ("taskId", "open", "waits", "failures", "sleeps"):
            self.kept.pop(name, None)
