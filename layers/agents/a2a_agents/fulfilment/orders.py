"""The order book: a private tool of the fulfilment agent, over a small fixed data set."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Order:
    """One delivered order. `price` is in whole units of `currency`; `days` counts since the delivery."""

    number: str
    sku: str
    price: int
    currency: str
    days: int
    priority: bool


ORDERS = {
    order.number: order
    for order in (
        Order("ORD-1042", "SKU-RED-42", price=129, currency="EUR", days=3, priority=True),
        Order("ORD-1043", "SKU-MUG-07", price=12, currency="EUR", days=5, priority=False),
        Order("ORD-1044", "SKU-LAMP-3", price=89, currency="EUR", days=64, priority=False),
        Order("ORD-1045", "SKU-BLUE-9", price=240, currency="EUR", days=1, priority=True),
    )
}


def lookup(number: str) -> Order | None:
    """The order with this number, if there is one."""
    return ORDERS.get(number)
