"""`a2a-serverless route …`: which agent a message is for, and the routes that are kept in a file."""

from pathlib import Path

from tests.unit.cli.caller import Caller

ORDERS = "orders=https://orders.example;skills=order_investigation;tags=delivery,orders"
SUPPORT = 'support=https://support.example/?a="$b";tags=help'


def test_the_route_a_message_would_take_is_told_with_why(caller: Caller) -> None:
    typed = ("--route", ORDERS, "--route", SUPPORT)

    ended = caller.run("route", "preview", *typed, "Where", "is my delivery?")
    told = caller.read("route", "preview", *typed, "--skill", "order_investigation")

    assert (ended.exit_code, ended.stdout) == (
        0,
        "orders  https://orders.example\nby the words delivery (as typed or kept)\n",
    )
    assert told == {
        "name": "orders",
        "url": "https://orders.example",
        "skills": ["order_investigation"],
        "tags": ["delivery", "orders"],
        "by": "skill order_investigation",
        "place": "as typed or kept",
    }


def test_without_a_message_all_routes_are_listed(caller: Caller) -> None:
    assert caller.run("route", "preview").stdout == "No route.\n"

    ended = caller.run("route", "preview", "--route", ORDERS)

    assert ended.stdout.splitlines() == [
        "route   address                 skills               tags",
        "orders  https://orders.example  order_investigation  delivery, orders",
    ]


def test_where_none_or_several_are_meant_they_are_named(caller: Caller) -> None:
    typed = ("--route", ORDERS, "--route", SUPPORT)

    none = caller.run("route", "preview", *typed, "Hello")
    several = caller.run("route", "preview", *typed, "help with my orders")

    assert (none.exit_code, several.exit_code) == (3, 2)
    assert none.stderr.splitlines()[1] == "hint: known routes: orders, support"
    assert several.stderr.splitlines()[1] == "hint: candidates: orders, support"


def test_routes_are_kept_replaced_and_taken_out(caller: Caller, tmp_path: Path) -> None:
    kept = tmp_path / "own" / "a2a-serverless" / "routes.toml"

    first = caller.run("route", "save", "--route", ORDERS, "--route", SUPPORT)
    caller.run("route", "save", "--route", "orders=https://new.example")

    assert first.stdout.splitlines()[-1] == f"kept in {kept}"
    assert [each["url"] for each in caller.read("route", "preview")["routes"]] == [
        'https://support.example/?a="$b"',
        "https://new.example",
    ]
    assert caller.run("route", "save", "--remove", "support").exit_code == 0
    assert [each["name"] for each in caller.read("route", "preview")["routes"]] == ["orders"]
    assert caller.run("call", "Hello", "--route-name", "orders").exit_code == 0
    assert caller.paper.cards_asked[0].url.host == "new.example"


def test_routes_may_be_kept_elsewhere(caller: Caller, tmp_path: Path) -> None:
    told = caller.read("route", "save", "--routes", "team.toml", "--route", ORDERS)

    assert (told["place"], [each["name"] for each in told["routes"]]) == ("team.toml", ["orders"])
    assert caller.read("route", "preview")["routes"] == []
    found = caller.run("route", "preview", "delivery", environment={"A2A_ROUTES": "team.toml"})
    assert found.stdout.startswith("orders  ")
    assert {file.name for file in tmp_path.iterdir()} == {"team.toml"}


def test_what_makes_no_sense_keeps_nothing(caller: Caller, tmp_path: Path) -> None:
    for arguments, status, words in (
        ((), 2, "say what to keep"),
        (("--route", "orders"), 2, "a route is written as"),
        (("--route", "a=https://me:hunter2@a.example"), 2, "the address holds credentials"),
        (("--remove", "orders"), 3, "no route orders is kept there"),
        (("--routes", "registry:../x", "--route", ORDERS), 2, "is no name of a registry"),
    ):
        ended = caller.run("route", "save", *arguments)

        assert (ended.exit_code, list(tmp_path.iterdir())) == (status, [])
        assert words in ended.stderr
        assert "hunter2" not in ended.output
