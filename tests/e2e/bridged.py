"""Agents of frameworks as a deployment serves them; the first word that a conversation hears says which.

Their models are scripts: they say how much of the conversation they have heard.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from strands import Agent, tool
from strands.vended_interventions.hitl import HumanInTheLoop

from a2a_serverless.agent import AgentProfile, AgentSkill, Turn, Update
from a2a_serverless.frameworks import langgraph, strands
from tests.fakes.strands_model import Block, Scripted, call

profile = AgentProfile(
    name="Bridges",
    description="Agents of several frameworks.",
    skills=(AgentSkill(id="bridge", name="Bridge", description="Whichever is named.", tags=("test",)),),
    input_modes=("*/*",),
    output_modes=("*/*",),
)


@tool
def delete(name: str) -> str:
    """Delete it."""
    return f"{name} deleted by {os.getpid()}"


@tool
async def labour(port: int) -> str:
    """Work for ever, and report to the port as long as there is work."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(json.dumps({"pid": os.getpid()}).encode() + b"\n.")
        await writer.drain()
        await asyncio.Event().wait()
    finally:
        writer.close()
    return "never"


def says(messages: Sequence[Mapping[str, Any]]) -> list[str | Block]:
    """Call the tool that is named; else say what was heard."""
    last = messages[-1]["content"]
    if results := [block["toolResult"]["content"][0]["text"] for block in last if "toolResult" in block]:
        return [f"Done: {results[0]}"]
    said = [block for message in messages if message["role"] == "user" for block in message["content"]]
    order = " ".join(block["text"] for block in last if "text" in block).split()
    if "delete" in order:
        return ["I delete it.", call("delete", name=order[-1])]
    if "work" in order:
        return [call("labour", port=int(order[-1]))]
    images = sum(len(block["image"]["source"]["bytes"]) for block in said if "image" in block)
    return [f"I heard {sum('text' in block for block in said)} texts ", f"and saw {images} bytes of images."]


def careful(_: Turn) -> Agent:
    approval = HumanInTheLoop(allowed_tools=["labour"])
    return Agent(model=Scripted(says), tools=[delete, labour], interventions=[approval])


def listen(state: MessagesState) -> dict[str, Any]:
    heard = [message.text for message in state["messages"] if isinstance(message, HumanMessage)]
    if "ask" not in heard[-1]:
        return {"messages": [AIMessage(f"Heard: {' | '.join(heard)}")]}
    told = interrupt({"question": "Where to?", "choices": ["Rome", "Oslo"]})
    return {"messages": [AIMessage(f"{told}, said {os.getpid()}")]}


def graph(_: Turn) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("listen", listen)
    builder.add_edge(START, "listen")
    return builder.compile()


BRIDGES = {"strands": strands.agent(careful), "langgraph": langgraph.agent(graph)}


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """Serve the conversation by the framework that it began with."""
    named = (turn.message.parts[0].text or "").partition(" ")[0]
    bridge = BRIDGES[turn.state.setdefault("bridge", named)]
    async for update in bridge(turn):
        yield update
