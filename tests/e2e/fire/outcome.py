"""What came of a storm, in figures, and everything that was wrong with it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tests.e2e.fire.records import Event, Records
from tests.e2e.fire.tasks import Task
from tests.e2e.fire.verdict import Hook


@dataclass
class Outcome:
    """`faults` is empty when every promise was kept; `seconds` is how long each part took."""

    records: Records = field(default_factory=Records)
    tasks: Sequence[Task] = ()
    kills: Mapping[str, int] = field(default_factory=dict)
    crashes: Mapping[str, int] = field(default_factory=dict)
    """Kills that met a process in the middle of an invocation."""
    dead: int = 0
    letters: int = 0
    redriven: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @property
    def hooks(self) -> list[tuple[Task, Hook]]:
        """Every webhook with its task."""
        return [(task, hook) for task in self.tasks for hook in task.hooks]

    def events(self) -> int:
        """How many deliveries were due."""
        return sum(len(hook.due(task.told())) for task, hook in self.hooks)

    def fates(self) -> Mapping[str, int]:
        """How many requests met with which fate."""
        return Counter(each.fate for each in self.records.arrivals)

    def duplicates(self) -> int:
        """How often a receiver took what it had."""
        taken = [(each.path, each.event_id) for each in self.records.arrivals if each.taken]
        return len(taken) - len(set(taken))

    def delays(self) -> list[float]:
        """Seconds from each change of state to its being taken, where nobody was gone."""
        taken: dict[Event, float] = {}
        for arrival in self.records.arrivals:
            if arrival.taken:
                taken.setdefault((arrival.path, arrival.event_id), arrival.at)
        return [
            taken[hook.path, each.event_id] - datetime.fromisoformat(each.since).timestamp()
            for task, hook in self.hooks
            if hook.takes is None
            for each in hook.due(task.told())
            if each.since is not None and (hook.path, each.event_id) in taken
        ]
