"""The warehouse: a private tool of the fulfilment agent, over a small fixed data set.

A reservation is named by the order it is for, so asking twice for one order sets aside one item.
"""

from dataclasses import dataclass

STOCK = {"SKU-RED-42": 7, "SKU-MUG-07": 120, "SKU-LAMP-3": 2, "SKU-BLUE-9": 0}


@dataclass(frozen=True)
class Reservation:
    """One item set aside."""

    number: str
    sku: str


def reserve(sku: str, order: str) -> Reservation | None:
    """Set one item aside for the order; None when none is left."""
    if STOCK.get(sku, 0) < 1:
        return None
    return Reservation(number=f"RSV-{order}", sku=sku)
