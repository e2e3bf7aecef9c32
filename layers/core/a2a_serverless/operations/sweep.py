"""The sweeper: finishes what a crash left between two steps.

It reads the index of what must not be forgotten and nothing else, then looks at the truth and does what
whoever died would have done next. Sweeping twice, late, or beside living processes changes nothing.
"""

from dataclasses import replace
from datetime import datetime

from a2a_serverless.operations.admit import finish
from a2a_serverless.operations.heads import head_of
from a2a_serverless.operations.lagging import look_after_webhooks
from a2a_serverless.operations.turns import fail_turn
from a2a_serverless.ports import AdmissionKey, AdmissionStatus, Due, Ports, TurnKey
from a2a_serverless.protocol.errors import A2AError
from a2a_serverless.tasks.log import TaskKey

AT_ONCE = 200
"""Entries asked for in one go."""


def sweep(ports: Ports, until: datetime | None = None) -> int:
    """Look at everything due, or at what there is time for until then; returns how many entries it was.

    Without a time it is one go of at most `AT_ONCE`. What is left is swept a minute later. An entry that
    fails is reported and left for then: it must not keep others from being seen.
    """
    seen: set[AdmissionKey | TaskKey] = set()
    while fresh := _fresh(ports, seen):
        for entry in fresh:
            if until is not None and ports.clock.now() >= until:
                break
            _look_after(ports, entry)
            seen.add(entry.what)
        if until is None or ports.clock.now() >= until or len(fresh) < AT_ONCE:
            break
    if seen:
        ports.metrics.count("Swept", len(seen))
    return len(seen)


def _fresh(ports: Ports, seen: set[AdmissionKey | TaskKey]) -> list[Due]:
    """What is due and was not seen yet; the index may still show what was."""
    return [
        entry for entry in ports.due.due(ports.clock.now(), AT_ONCE + len(seen)) if entry.what not in seen
    ]


def _look_after(ports: Ports, entry: Due) -> None:
    try:
        if isinstance(entry.what, AdmissionKey):
            _finish_admission(ports, entry.what)
        else:
            _look_at(ports, entry.what)
    except Exception as error:  # noqa: BLE001  see `sweep`
        ports.incidents.report(error, swept=str(entry.what))
        ports.metrics.count("SweepFailed")


def _finish_admission(ports: Ports, key: AdmissionKey) -> None:
    record = ports.admissions.read(key)
    if record is None or record.status is AdmissionStatus.DONE:
        return
    try:
        finish(ports, record)
    except A2AError:
        # Refused for good: its position is void and the record is gone. The client is free to send it again.
        return


def _look_at(ports: Ports, key: TaskKey) -> None:
    task = ports.tasks.load(key)
    if not task.exists:
        return
    again = look_after_webhooks(ports, task, key)
    if task.open_turn is None:
        ports.tasks.write_head(key, replace(head_of(ports.policy, task), webhooks_due_at=again), repair=True)
        return
    turn = TurnKey(key, task.open_turn)
    match ports.executions.describe(turn):
        case None:
            ports.executions.start(turn)
        case "ended" if fail_turn(ports, turn, at=task.position + 1):
            return
    ports.tasks.mark_due(key, ports.clock.now() + ports.policy.due_after)
