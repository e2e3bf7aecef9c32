"""The state of one LangGraph thread, taken out of its checkpointer as JSON and put back into another's.

Kept are the newest checkpoint of the graph and of the graphs within it that keep a state, with what was
written but not yet taken in: all that a run needs to go on. The messages of the graph's state lie apart
from the rest, so that old ones can be dropped. Values are written by the framework's own serializer.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.memory import InMemorySaver

THREAD = "conversation"
MESSAGES = "messages"
"""The member of a graph's state that holds its messages, by the framework's convention."""


class Thread:
    """A checkpointer with one thread."""

    def __init__(self) -> None:
        self.saver = InMemorySaver()
        self.config: RunnableConfig = {"configurable": {"thread_id": THREAD}}

    def fill(
        self, kept: Sequence[Mapping[str, Any]], messages: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        """Put back what was kept, with these messages if they lie apart."""
        for each in kept:
            checkpoint = cast("Checkpoint", self.loaded(each["checkpoint"]))
            if messages is not None and each["namespace"] == "":
                checkpoint["channel_values"][MESSAGES] = [self.loaded(message) for message in messages]
            at: RunnableConfig = {"configurable": {"thread_id": THREAD, "checkpoint_ns": each["namespace"]}}
            versions = checkpoint["channel_versions"]
            put = self.saver.put(at, checkpoint, self.loaded(each["metadata"]), versions)
            for task_id, writes in each["writes"].items():
                self.saver.put_writes(
                    put, [(channel, self.loaded(value)) for channel, value in writes], task_id
                )

    def stopped(self) -> list[dict[str, Any]]:
        """Everything, for a run that goes on."""
        return list(self._newest())

    def over(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The messages, and what else is kept from run to run."""
        rest, messages = [], []
        for each in self._newest():
            if ":" in each["namespace"]:
                continue  # a graph within that lived for one task only
            if each["namespace"] == "":
                checkpoint = self.loaded(each["checkpoint"])
                found = checkpoint["channel_values"].get(MESSAGES)
                if isinstance(found, list) and all(isinstance(message, BaseMessage) for message in found):
                    messages = [
                        {**self._dumped(message), "begins": isinstance(message, HumanMessage)}
                        for message in found
                    ]
                    checkpoint["channel_values"][MESSAGES] = []
                each["checkpoint"] = self._dumped(checkpoint)
            rest.append(each)
        return messages, rest

    def _newest(self) -> Iterator[dict[str, Any]]:
        seen: set[str] = set()
        for saved in self.saver.list(self.config):  # newest first
            namespace = saved.config["configurable"]["checkpoint_ns"]
            if namespace in seen:
                continue
            seen.add(namespace)
            writes: dict[str, list[Any]] = {}
            for task_id, channel, value in saved.pending_writes or ():
                writes.setdefault(task_id, []).append([channel, self._dumped(value)])
            yield {
                "namespace": namespace,
                "checkpoint": self._dumped(saved.checkpoint),
                "metadata": self._dumped(saved.metadata),
                "writes": writes,
            }

    def _dumped(self, value: Any) -> dict[str, str]:  # noqa: ANN401  whatever a graph holds
        kind, content = self.saver.serde.dumps_typed(value)
        return {"kind": kind, "content": base64.b64encode(content).decode()}

    def loaded(self, dumped: Mapping[str, str]) -> Any:  # noqa: ANN401  as above
        """A value as it was."""
        return self.saver.serde.loads_typed((dumped["kind"], base64.b64decode(dumped["content"])))
