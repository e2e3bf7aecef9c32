"""Investigates damaged orders and decides on replacements: the agent of this repository's walk-through.

It owns private tools (orders, policy, inventory) that never show on the wire. When the policy wants
evidence the turn ends with a question, and nothing runs or costs until the answer comes; the conversation's
state remembers the case.
"""

import re
from collections.abc import AsyncIterator, Mapping

from a2a_agents.fulfilment import inventory, orders, policy
from a2a_serverless.agent import (
    AgentProfile,
    AgentSkill,
    ArtifactChunk,
    CardAdditions,
    InputRequired,
    Message,
    Rejected,
    Turn,
    Update,
    Working,
)

profile = AgentProfile(
    name="Fulfilment Agent",
    description="Investigates orders and delivery, and prepares replacement decisions.",
    skills=(
        AgentSkill(
            id="order_investigation",
            name="Order investigation",
            description="Looks into a damaged order, asks for evidence if need be, and decides.",
            tags=("orders", "delivery", "replacement"),
            examples=("Investigate damaged order ORD-1042 and prepare a replacement decision.",),
        ),
    ),
    input_modes=("text/plain", "application/json", "image/jpeg", "image/png"),
)

REPLACEMENT_POLICY = AgentSkill(
    id="replacement_policy",
    name="Replacement policy",
    description=(
        f"Within {policy.WINDOW_DAYS} days of its delivery a damaged order is replaced, or refunded where"
        f" there is no stock. From a price of {policy.PHOTO_FROM} on a photo must show the damage; sent with"
        " the order's number it saves a turn."
    ),
    tags=("policy", "replacement"),
    examples=("Investigate damaged order ORD-1042. See damage.jpg.",),
)


def extended_card(_: Mapping[str, str]) -> CardAdditions:
    """What customers' own agents are told and strangers are not: by which policy it decides."""
    return CardAdditions(skills=(REPLACEMENT_POLICY,))


ORDER_NUMBER = re.compile(r"\bORD-\d{4,8}\b")
EVIDENCE = re.compile(r"\b[\w.-]+\.(?:jpe?g|png|heic|webp)\b", re.IGNORECASE)


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """Find the order, check the policy, ask for evidence if it must be seen, then decide."""
    number = turn.state.get("order") or order_number(turn.message)
    if number is None:
        yield InputRequired("Which order is it about? Please give its number, such as ORD-1042.")
        return
    turn.state["order"] = number
    yield Working(f"Looking up order {number}")
    order = orders.lookup(number)
    if order is None:
        turn.state.pop("order")
        yield Rejected(f"There is no order {number}.")
        return
    evidence = turn.state.get("evidence") or evidence_in(turn.message)
    verdict = policy.check(order, evidence)
    if verdict is policy.Verdict.EVIDENCE_NEEDED:
        yield InputRequired("Please provide a photo showing the damaged item.")
        return
    turn.state["evidence"] = evidence
    yield ArtifactChunk(
        f"replacement-decision-{number.removeprefix('ORD-')}",
        decide(order, verdict),
        name="Replacement decision",
        last_chunk=True,
    )
    turn.state.clear()


def decide(order: orders.Order, verdict: policy.Verdict) -> str:
    """The decision in words, with stock set aside for a replacement."""
    if verdict is policy.Verdict.TOO_LATE:
        return f"Declined. Order {order.number} was delivered more than {policy.WINDOW_DAYS} days ago."
    reservation = inventory.reserve(order.sku, order.number)
    if reservation is None:
        return f"Approved. {order.sku} is out of stock; refund {order.price} {order.currency}."
    shipping = "priority" if order.priority else "standard"
    return f"Approved. Reserve {reservation.sku} and dispatch with {shipping} shipping."


def order_number(message: Message) -> str | None:
    """The first order number that the message mentions."""
    found = ORDER_NUMBER.search(" ".join(part.text or "" for part in message.parts))
    return found.group() if found else None


def evidence_in(message: Message) -> str | None:
    """The name of a photo that the message brings or refers to."""
    for part in message.parts:
        if (part.media_type or "").startswith("image/"):
            return part.filename or part.url or "photo"
        found = EVIDENCE.search(part.text or "")
        if found:
            return found.group()
    return None
