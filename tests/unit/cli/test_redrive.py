"""`a2a-serverless push redrive`: the webhooks that are meant, and no others, get another chance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from a2a_serverless.adapters.sqs_pokes import QueueRefusedError
from a2a_serverless.ports.webhooks import Poke
from tests.fakes.ports import FakePokes
from tests.unit.cli.desk import OTHER_TASK, OWNER, TASK, Desk, members


@dataclass
class FullQueue(FakePokes):
    """A queue that takes one poke and then does what `then` says."""

    then: BaseException | None = None

    def send(self, pokes: Sequence[Poke], *, delay: float = 0.0) -> None:
        """Take the poke, if it is the first."""
        if self.sent and self.then is not None:
            raise self.then
        super().send(pokes, delay=delay)


def with_queue(desk: Desk, then: BaseException) -> None:
    assert desk.ports.webhooks is not None
    webhooks = replace(desk.ports.webhooks, pokes=FullQueue(desk.clock, then=then))
    desk.ports = replace(desk.ports, webhooks=webhooks)


def test_one_webhook_is_redriven_and_its_letter_taken_out(desk: Desk) -> None:
    key, other = desk.died(), desk.died("w-2")

    result = desk.run("push", "redrive", "--task", TASK, "--config", "w-1")

    assert result.exit_code == 0
    assert result.stdout == (
        f"redriven 1 of 1: task {TASK}, config w-1, owner {OWNER}\n"
        "1 webhook of agents redriven. 1 letter was taken out of the queue.\n"
    )
    assert result.stderr == ""
    assert desk.dead() == [other]
    assert [letter.key for letter in desk.letters.lying] == [other]
    assert desk.pokes.sent == [(Poke(key), 0.0)]


def test_a_task_alone_means_every_dead_webhook_of_it(desk: Desk) -> None:
    keys = [desk.died(), desk.died("w-2")]
    other = desk.died(task=OTHER_TASK)

    assert desk.read("push", "redrive", "--task", TASK) == {
        "deployment": "agents",
        "redriven": [members(key) for key in keys],
        "lettersRemoved": 2,
    }
    assert desk.dead() == [other]


def test_owner_and_tenant_tell_tasks_of_one_id_apart(desk: Desk) -> None:
    mine, theirs = desk.died(tenant="acme"), desk.died(tenant="acme", owner="somebody-else")

    unclear = desk.run("push", "redrive", "--task", TASK)

    assert (unclear.exit_code, unclear.stdout) == (2, "")
    assert unclear.stderr == (
        f"error: several tasks have the id {TASK}: say which by --tenant 'acme' --owner '{OWNER}',"
        " --tenant 'acme' --owner 'somebody-else'\n"
    )
    assert desk.dead() == [mine, theirs]
    assert desk.read("push", "redrive", "--task", TASK, "--owner", OWNER)["redriven"] == [members(mine)]
    assert desk.dead() == [theirs]


def test_what_is_named_in_full_is_looked_up_without_the_index(desk: Desk) -> None:
    key = desk.died(tenant="acme")
    named = ("--task", TASK, "--config", "w-1", "--tenant", "acme", "--owner", OWNER)

    assert desk.read("push", "redrive", *named)["redriven"] == [members(key)]


def test_everything_that_is_dead_is_redriven_with_a_count(desk: Desk) -> None:
    for number in range(12):
        desk.died(f"w-{number:02}")
    desk.registered("alive")

    *progress, last = desk.run("push", "redrive", "--all").stdout.splitlines()

    assert [line.partition(":")[0] for line in progress] == [f"redriven {n} of 12" for n in range(1, 13)]
    assert last == "12 webhooks of agents redriven. 12 letters were taken out of the queue."
    assert (desk.dead(), desk.letters.lying) == ([], [])


def test_when_nothing_is_dead_letters_that_nobody_needs_are_taken_out_all_the_same(desk: Desk) -> None:
    desk.store.revive(desk.died())

    result = desk.run("push", "redrive", "--all")

    assert result.exit_code == 3
    assert result.stdout == "No webhook of agents was dead. 1 letter was taken out of the queue.\n"
    assert desk.letters.lying == []
    assert desk.read("push", "redrive", "--all", status=3) == {
        "deployment": "agents",
        "redriven": [],
        "lettersRemoved": 0,
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--task", "unknown"), "no webhook of task unknown is dead"),
        (("--task", TASK, "--config", "other"), f"no webhook other of task {TASK} is dead"),
        (("--task", TASK, "--owner", "nobody"), f"no webhook of task {TASK} is dead"),
        (
            ("--task", TASK, "--config", "other", "--owner", OWNER),
            f"task {TASK} of that owner has no webhook other",
        ),
        (
            ("--task", TASK, "--config", "alive", "--owner", OWNER),
            f"webhook alive of task {TASK} is not dead",
        ),
    ],
)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_what_is_not_there_or_not_dead_is_said(
    desk: Desk, arguments: tuple[str, ...], words: str, form: tuple[str, ...]
) -> None:
    key = desk.died()
    desk.registered("alive")

    result = desk.run("push", "redrive", *arguments, *form)

    assert (result.exit_code, result.stdout, result.stderr) == (3, "", f"error: {words}\n")
    assert desk.dead() == [key]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give either --task or --all"),
        (("--task", TASK, "--all"), "give either --task or --all"),
        (("--config", "w-1"), "give either --task or --all"),
        (("--all", "--config", "w-1"), "--config, --tenant and --owner go with --task, not with --all"),
        (("--all", "--owner", OWNER), "--config, --tenant and --owner go with --task, not with --all"),
        (("--task",), "Option '--task' requires an argument"),
    ],
)
def test_a_choice_that_makes_no_sense_redrives_nothing(
    desk: Desk, arguments: tuple[str, ...], words: str
) -> None:
    key = desk.died()

    result = desk.run("push", "redrive", *arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {words}")
    assert desk.dead() == [key]
    assert desk.asked == []


def test_a_failure_on_the_way_tells_what_was_done_before_it(desk: Desk) -> None:
    key, *_ = [desk.died(f"w-{number}") for number in range(3)]
    with_queue(desk, QueueRefusedError("InternalError"))

    result = desk.run("push", "redrive", "--all")

    assert result.exit_code == 1
    assert result.stdout == f"redriven 1 of 3: task {TASK}, config {key.config_id}, owner {OWNER}\n"
    assert result.stderr == "error: AWS did not take everything: InternalError\n"


def test_a_program_learns_what_was_done_before_a_failure(desk: Desk) -> None:
    key, *_ = [desk.died(f"w-{number}") for number in range(3)]
    with_queue(desk, QueueRefusedError("InternalError"))

    assert desk.read("push", "redrive", "--all", status=1) == {
        "deployment": "agents",
        "redriven": [members(key)],
        "lettersRemoved": 0,
    }


def test_ctrl_c_leaves_with_what_was_done(desk: Desk) -> None:
    key, *_ = [desk.died(f"w-{number}") for number in range(3)]
    with_queue(desk, KeyboardInterrupt())

    result = desk.run("push", "redrive", "--all")

    assert result.exit_code == 130
    assert result.stdout == f"redriven 1 of 3: task {TASK}, config {key.config_id}, owner {OWNER}\n"
    assert result.stderr == "interrupted: what was printed is done\n"
