"""The replacement policy: a private tool of the fulfilment agent, pure rules over an order."""

from enum import Enum, auto

from a2a_agents.fulfilment.orders import Order

WINDOW_DAYS = 30
"""How long after its delivery an order can be replaced."""

PHOTO_FROM = 50
"""The price from which damage must be seen."""


class Verdict(Enum):
    """What the policy says of a damaged order."""

    APPROVED = auto()
    EVIDENCE_NEEDED = auto()
    TOO_LATE = auto()


def check(order: Order, evidence: str | None) -> Verdict:
    """Judge the order: too old, in need of a photo, or approved."""
    if order.days > WINDOW_DAYS:
        return Verdict.TOO_LATE
    if order.price >= PHOTO_FROM and evidence is None:
        return Verdict.EVIDENCE_NEEDED
    return Verdict.APPROVED
