"""Which agent a message is for, and what is said where that is not clear."""

import pytest

from a2a_serverless.client.routes import (
    AmbiguousRouteError,
    Choice,
    Route,
    RouteFormError,
    UnknownRouteError,
    Wanted,
    choose,
    parse_route,
)

ORDERS = Route("orders", "https://orders.example", ["order_investigation"], ["orders", "delivery"])
SUPPORT = Route("support", "https://support.example", ["chat"], ["help", "delivery"])
STACKS = Route("stack-keeper", "https://stacks.example", ["chat"], ["ros"])
ROUTES = [ORDERS, SUPPORT, STACKS]


@pytest.mark.parametrize(
    ("wanted", "choice"),
    [
        (Wanted(name="support"), Choice(SUPPORT, "name support")),
        (Wanted(name="support", prompt="orders and ros"), Choice(SUPPORT, "name support")),
        (Wanted(skill="order_investigation"), Choice(ORDERS, "skill order_investigation")),
        (Wanted(tag="ros"), Choice(STACKS, "tag ros")),
        (Wanted(prompt="Delete my ROS stack."), Choice(STACKS, "the words ros, stack")),
        (Wanted(prompt="Where is orders?"), Choice(ORDERS, "the words orders")),
        (Wanted(skill="chat", prompt="Help!"), Choice(SUPPORT, "skill chat and the words help")),
        (Wanted(skill="chat", tag="ros"), Choice(STACKS, "skill chat and tag ros")),
    ],
)
def test_what_is_wanted_finds_its_route(wanted: Wanted, choice: Choice) -> None:
    assert choose(ROUTES, wanted) == choice


@pytest.mark.parametrize(
    ("wanted", "words", "candidates"),
    [
        (Wanted(skill="chat"), "several routes are meant by skill chat", ("support", "stack-keeper")),
        (Wanted(tag="delivery"), "several routes are meant by tag delivery", ("orders", "support")),
        (
            Wanted(prompt="The delivery is late"),
            "several routes are meant by the words delivery",
            ("orders", "support"),
        ),
        (
            Wanted(skill="chat", prompt="Nothing that helps"),
            "several routes are meant by skill chat",
            ("support", "stack-keeper"),
        ),
    ],
)
def test_where_several_are_meant_they_are_named(
    wanted: Wanted, words: str, candidates: tuple[str, ...]
) -> None:
    with pytest.raises(AmbiguousRouteError, match=words) as raised:
        choose(ROUTES, wanted)

    assert raised.value.candidates == candidates


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Wanted(name="order"), "no route has the name order"),
        (Wanted(skill="Chat"), "no route has the skill Chat"),
        (Wanted(tag="other"), "no route has the tag other"),
        (Wanted(name="orders", skill="chat"), "no route has the skill chat"),
        (Wanted(prompt="Good morning"), "no route is known by the words of the message"),
        (Wanted(), "no route is known by the words of the message"),
    ],
)
def test_where_none_is_meant_the_known_ones_are_named(wanted: Wanted, words: str) -> None:
    with pytest.raises(UnknownRouteError, match=words) as raised:
        choose(ROUTES, wanted)

    assert raised.value.candidates == ("orders", "support", "stack-keeper")


def test_of_two_routes_with_one_name_the_first_counts() -> None:
    nearer = Route("orders", "https://nearer.example")

    assert choose([nearer, *ROUTES], Wanted(name="orders")).route is nearer


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("orders=https://orders.example", Route("orders", "https://orders.example")),
        (
            "orders=http://127.0.0.1:1/a?b=c; skills=a, b ;tags=x",
            Route("orders", "http://127.0.0.1:1/a?b=c", ("a", "b"), ("x",)),
        ),
        ("orders=https://orders.example;skills=", Route("orders", "https://orders.example")),
    ],
)
def test_a_route_is_read_as_it_is_written(text: str, route: Route) -> None:
    assert parse_route(text) == route


@pytest.mark.parametrize(
    "text",
    [
        "",
        "orders",
        "=https://orders.example",
        "orders=orders.example",
        "orders=https://orders.example;order",
        "orders=https://orders.example;skill=a",
        "orders=https://orders.example;tags=a;tags=b",
    ],
)
def test_what_is_no_route_is_refused(text: str) -> None:
    with pytest.raises(RouteFormError):
        parse_route(text)
