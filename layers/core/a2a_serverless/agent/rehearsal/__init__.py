"""Rehearsing an agent: what it does with messages, as a deployment would let it, without one.

For an agent's own tests. A rehearsal keeps the rules that agents stumble over where it matters: a turn ends
with the first outcome, `state` is what JSON keeps of it, an agent that asks for permission or is resumed is
called again from its beginning, and files of a turn that crashed are gone. Knows no log and no AWS.

    def test_it_asks_for_the_number() -> None:
        happened = rehearse(agent, "My order is broken", "ORD-1042")

        assert happened.turns[0].state is TaskState.INPUT_REQUIRED
        assert happened.texts == {"decision": "Approved."}
"""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from a2a_serverless.agent.rehearsal.conversation import Conversation, Said, kept
from a2a_serverless.agent.rehearsal.decisions import Decisions, decider
from a2a_serverless.agent.rehearsal.told import Rehearsal, RehearsalError, RehearsedTurn
from a2a_serverless.agent.turn import Agent
from a2a_serverless.protocol.objects import TaskState

__all__ = ["Decisions", "Rehearsal", "RehearsalError", "RehearsedTurn", "Said", "TaskState", "rehearse"]


def rehearse(
    agent: Agent,
    *messages: Said,
    state: Mapping[str, Any] | None = None,
    decisions: Decisions | None = None,
    files: Mapping[str, bytes] | None = None,
    caller: Mapping[str, str] | None = None,
    accepted_output_modes: Sequence[str] = (),
    resume: bool = False,
    timeout: float = 30.0,
) -> Rehearsal:
    """Say these messages to an agent, one after the other in one conversation, and tell what happened.

    A message goes to the task that waits for one, and opens another where none does. `state` and `files` are
    what the conversation holds before. Without `decisions` a turn that asks for permission ends with the
    question; with them the caller decides at once. With `resume` checkpoints end the invocation, so that
    the agent shows whether it can go on from them. May be called from a running event loop.

    Raises:
        RehearsalError: the agent did what a deployment would refuse. TimeoutError: a turn took more than
        `timeout` seconds. What the agent raises, rises; in a deployment its task would have failed.
    """
    conversation = Conversation(
        agent,
        saved=kept(dict(state or {})),
        decide=decider(decisions),
        given={"caller": dict(caller or {}), "accepted_output_modes": tuple(accepted_output_modes)},
        resume=resume,
        seconds=timeout,
    )

    async def perform() -> Rehearsal:
        for name, content in (files or {}).items():
            await conversation.workspace.write(name, content)
        for said in messages:
            await conversation.hear(said)
        return conversation.told()

    if not messages:
        raise ValueError("say at least one message")
    # As in a deployment: in a thread and an event loop of its own.
    with ThreadPoolExecutor(1, "agent") as thread:
        return thread.submit(asyncio.run, perform()).result()
