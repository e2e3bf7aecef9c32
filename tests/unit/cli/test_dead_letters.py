"""`a2a-serverless push dead-letters`: what was given up, in full, for people and for programs."""

from datetime import timedelta

import pytest

from tests.unit.cli.desk import OTHER_TASK, OWNER, TASK, Desk, members, printed

NARROW = {"TTY_COMPATIBLE": "1", "TERM": "dumb"}
"""A terminal of 80 columns that knows no colours."""


def test_a_dead_webhook_is_listed_with_all_that_is_known_of_it(desk: Desk) -> None:
    key = desk.died()
    now = desk.clock.now()

    assert desk.read("push", "dead-letters") == {
        "deployment": "agents",
        "webhooks": [
            {
                **members(key),
                "host": "hooks.example:443",
                "undeliveredSince": printed(now - timedelta(hours=1)),
                "attempts": 8,
                "reason": "answered 410",
                "diedAt": printed(now),
            }
        ],
        "more": False,
        "letters": 1,
    }


def test_a_person_sees_a_line_for_each_the_longest_dead_first(desk: Desk) -> None:
    desk.died()
    desk.died("w-2", OTHER_TASK, reason="no answer")

    result = desk.run("push", "dead-letters")

    assert result.exit_code == 0
    assert result.stdout == (
        "task                                  config  owner                                        host"
        "               undelivered since     attempts  reason        died at\n"
        f"{TASK}  w-1     {OWNER}  hooks.example:443  2026-11-30T11:01:00Z  8         answered 410"
        "  2026-11-30T12:01:00Z\n"
        f"{OTHER_TASK}  w-2     {OWNER}  hooks.example:443  2026-11-30T11:02:00Z  8         no answer"
        "     2026-11-30T12:02:00Z\n"
        "2 dead webhooks of agents. 2 letters lie in the queue.\n"
    )
    assert result.stderr == ""


def test_a_url_is_not_shown_beyond_its_host(desk: Desk) -> None:
    desk.died()

    shown = desk.run("push", "dead-letters").output + desk.run("push", "dead-letters", "--json").output

    assert "hunter2" not in shown
    assert "sealed" not in shown


def test_tenants_are_shown_where_somebody_has_one(desk: Desk) -> None:
    desk.died(tenant="acme")
    desk.died("w-2")

    head, *_ = desk.run("push", "dead-letters").stdout.splitlines()

    assert head.split()[:4] == ["task", "config", "tenant", "owner"]


def test_on_a_narrow_terminal_each_webhook_is_a_block_and_nothing_is_cut_off(desk: Desk) -> None:
    desk.died("w-" + "x" * 100)

    result = desk.run("push", "dead-letters", environment=NARROW)

    assert result.stdout == (
        f"task               {TASK}\n"
        f"config             w-{'x' * 100}\n"
        f"owner              {OWNER}\n"
        "host               hooks.example:443\n"
        "undelivered since  2026-11-30T11:01:00Z\n"
        "attempts           8\n"
        "reason             answered 410\n"
        "died at            2026-11-30T12:01:00Z\n"
        "\n"
        "1 dead webhook of agents. 1 letter lies in the queue.\n"
    )


def test_what_would_move_the_cursor_or_change_colours_is_spelled_out(desk: Desk) -> None:
    desk.died(reason="\x1b[31m[bold]red[/bold]\rgone")

    for environment in ({}, NARROW):
        shown = desk.run("push", "dead-letters", environment=environment).stdout

        assert r"\x1b[31m[bold]red[/bold]\x0dgone" in shown
        assert "\x1b" not in shown


def test_no_more_are_shown_than_asked_for_and_that_there_are_more_is_said(desk: Desk) -> None:
    keys = [desk.died(f"w-{number}") for number in range(3)]

    told = desk.read("push", "dead-letters", "--limit", "2")

    assert [(each["config"], told["more"]) for each in told["webhooks"]] == [("w-0", True), ("w-1", True)]
    assert desk.read("push", "dead-letters", "--limit", "3")["more"] is False
    *_, last = desk.run("push", "dead-letters", "--limit", "2").stdout.splitlines()
    assert last == "The 2 longest dead webhooks of agents; --limit shows more. 3 letters lie in the queue."
    assert desk.dead() == keys


def test_that_none_is_dead_is_said_and_is_no_failure(desk: Desk) -> None:
    desk.registered()

    result = desk.run("push", "dead-letters")

    assert (result.exit_code, result.stdout) == (0, "No webhook of agents is dead.\n")
    assert desk.read("push", "dead-letters") == {
        "deployment": "agents",
        "webhooks": [],
        "more": False,
        "letters": 0,
    }


def test_letters_that_keep_the_alarm_on_though_nothing_is_dead_are_told_of(desk: Desk) -> None:
    desk.store.revive(desk.died())

    assert desk.run("push", "dead-letters").stdout == (
        "No webhook of agents is dead, but 1 letter lies in the queue: `a2a-serverless push redrive --all`"
        " takes out those that nobody needs any more.\n"
    )


@pytest.mark.parametrize("limit", ["0", "10001", "-1", "many", "1.5"])
def test_a_limit_that_makes_no_sense_is_refused(desk: Desk, limit: str) -> None:
    result = desk.run("push", "dead-letters", "--limit", limit)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: Invalid value for '--limit': ")
    assert result.stderr.endswith("(see `a2a-serverless push dead-letters --help`)\n")
