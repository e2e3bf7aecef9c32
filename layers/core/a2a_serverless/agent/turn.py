"""The turn an agent is given: the message, what came before it, and what it may ask of its host.

Knows nothing of logs or AWS, so that an agent runs and is tested anywhere.
"""

from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from a2a_serverless.agent.attachments import Attachment, attached
from a2a_serverless.agent.parts import Opens, nothing_put_away, opened
from a2a_serverless.agent.permissions import Permission
from a2a_serverless.agent.updates import Update
from a2a_serverless.agent.workspace import MemoryWorkspace, Workspace
from a2a_serverless.protocol.objects import Artifact, Message, Part, Task


class Host(Protocol):
    """What a turn asks of whoever runs it."""

    def remaining_seconds(self) -> float:
        """Seconds left before this invocation must have ended."""

    async def checkpoint(self, resume_after: float) -> None:
        """See `Turn.checkpoint`."""

    async def ask_permission(self, permission: Permission) -> bool:
        """See `Turn.ask_permission`."""


@dataclass
class Turn:
    """One turn of a task, as given to the agent.

    Attributes:
        message: the message that started the turn; its raw content arrives as bytes. A file that it names
        does so too if it is small (4 MiB, all of them together), and is a part with its `url` if it is not.
        task_id, context_id: which task, in which conversation.
        history: earlier messages of the task, oldest first, without `message`.
        artifacts: what earlier turns produced, fetched when it is looked at. What one of them holds beyond
        4 MB is given by parts with a `url`, whose bytes `open` brings.
        state: anything JSON can hold, kept in the conversation from turn to turn; change it in place.
        caller: verified claims about who sent the message.
        accepted_output_modes: media types the caller would like.
        workspace: the files of the conversation, those that the message names among them.
        attachments: what the message brought as bytes or as files, each with what is known of it; of any
        size, for its bytes are fetched when they are asked for.
        segment: 1, and one more after every checkpoint that ended an invocation.
        earlier_tasks: the tasks of the conversation before this one, ten of them at most and the latest last,
        with what was said and what they produced; fetched when they are looked at.
        put_away: how the host opens what is too big to be handed over; agents call `open`.
    """

    message: Message
    task_id: str
    context_id: str
    host: Host
    history: Sequence[Message] = ()
    artifacts: Sequence[Artifact] = ()
    state: MutableMapping[str, Any] = field(default_factory=dict)
    caller: Mapping[str, str] = field(default_factory=dict)
    accepted_output_modes: Sequence[str] = ()
    workspace: Workspace = field(default_factory=MemoryWorkspace)
    attachments: Sequence[Attachment] = ()
    segment: int = 1
    earlier_tasks: Sequence[Task] = ()
    put_away: Opens = field(default=nothing_put_away, repr=False)

    def __post_init__(self) -> None:
        """Without a host that knows better, what the message holds is what came along."""
        self.attachments = self.attachments or attached(self.message, self.workspace)

    def remaining_seconds(self) -> float:
        """Seconds until this invocation is cut off; a longer turn calls `checkpoint` on the way."""
        return self.host.remaining_seconds()

    def open(self, part: Part) -> AsyncIterator[bytes]:
        """The bytes of a part in pieces, of whatever size: its own, of the file it names, or of an artifact.

        Raises:
            FileNotFoundError: they are gone. ValueError: they lie elsewhere. Either when begun.
        """
        return opened(part, self.workspace, self.put_away)

    async def checkpoint(self, resume_after: float = 0.0) -> None:
        """A place to go on from. Returns at once while there is time left.

        When time runs short, or `resume_after` asks to be woken in so many seconds, `state` is saved, this
        invocation ends here, and the agent is called again from its beginning with that state. Nothing is
        paid for in between, and a turn may go on for days.
        """
        await self.host.checkpoint(resume_after)

    async def ask_permission(self, permission: Permission) -> bool:
        """Whether the caller allows it; returns once the caller has decided.

        Where nothing was decided yet the turn ends with the question (INPUT_REQUIRED); the caller's decision
        starts the next turn, the agent is called from its beginning with `state` as it was left, comes here
        again and gets the answer. `message` is the decision then: keep in `state` what led here, and, since a
        decision holds for this question and once, what was done.
        """
        return await self.host.ask_permission(permission)


Agent = Callable[[Turn], AsyncIterator[Update]]
"""The function a deployer writes."""
