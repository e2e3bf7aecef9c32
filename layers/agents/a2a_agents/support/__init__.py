"""The other half of this repository's walk-through: talks with customers and lets fulfilment decide.

It owns the conversation; what fulfilment asks it asks on, and what fulfilment makes it hands over. Where
fulfilment is served is said by A2A_FULFILMENT_URL, see `peer`. Light, as a profile must be: what calls
other agents is loaded with the first turn.
"""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from a2a_serverless.agent import (
    AgentProfile,
    AgentSkill,
    Completed,
    InputRequired,
    Part,
    Rejected,
    Turn,
    Update,
    Working,
)

profile = AgentProfile(
    name="Support Agent",
    description="Helps customers whose order arrived damaged, and has fulfilment decide about a replacement.",
    skills=(
        AgentSkill(
            id="damaged_order",
            name="Damaged order",
            description="Takes a complaint, gathers what fulfilment wants to see, and tells what is decided.",
            tags=("support", "orders", "replacement"),
            examples=("My order ORD-1042 arrived damaged.",),
        ),
    ),
    input_modes=("text/plain", "image/jpeg", "image/png"),
)

ORDER_NUMBER = re.compile(r"\bORD-\d{4,8}\b")


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """Find out which order it is about, have fulfilment decide, and say where the decision is."""
    from a2a_agents.support.peer import fulfilment  # noqa: PLC0415  functions that run no turn do without

    peer = fulfilment()
    answers = peer.awaits_answer(turn)
    number = (None if answers else order_number(turn.message.parts)) or turn.state.get("order")
    if number is None:
        yield InputRequired("I am sorry to hear that. Which order is it? Its number looks like ORD-1042.")
        return
    if turn.state.get("order") != number:
        turn.state["order"] = number
        yield Working(f"Asking fulfilment about order {number}")
    said = turn.message.parts if answers else request(number, turn.message.parts)
    async with aclosing(peer.delegate(turn, said)) as updates:
        async for update in updates:
            if isinstance(update, Completed | Rejected):
                turn.state.pop("order")
            yield decided(number) if isinstance(update, Completed) else update


def decided(number: str) -> Completed:
    """What the customer is told when fulfilment has decided."""
    return Completed(f"Thank you for your patience. Here is what we decided about order {number}.")


def request(number: str, parts: Sequence[Part]) -> Sequence[Part]:
    """What fulfilment is asked to do, and what the customer sent along."""
    asked = Part(text=f"Investigate damaged order {number} and prepare a replacement decision.")
    return (asked, *(part for part in parts if part.text is None))


def order_number(parts: Sequence[Part]) -> str | None:
    """The first order number that is mentioned."""
    found = ORDER_NUMBER.search(" ".join(part.text or "" for part in parts))
    return found.group() if found else None
