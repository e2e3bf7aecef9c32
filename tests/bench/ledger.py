"""Every request that a side of the deployment sends to AWS, counted where botocore sends it.

Nothing is counted by hand: a handler before each sending and one after each answer. Each request may be held
up for some milliseconds, since one to an emulator on loopback takes less than one to AWS.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSPreparedRequest
from botocore.handlers import BUILTIN_HANDLERS

from tests.bench.capacity import Table, Units


@dataclass(frozen=True)
class Sent:
    """One request."""

    phase: str
    service: str
    operation: str
    about: str
    units: Units

    @property
    def name(self) -> str:
        """Operation and what it is about."""
        return f"{self.operation} {self.about}".strip()


@dataclass
class Ledger:
    """The requests of one side; `phase` is whatever that side is doing."""

    table: Table
    seconds_each: float = 0.0
    phase: str = ""
    sent: list[Sent] = field(default_factory=list)
    _attempts: threading.local = field(default_factory=threading.local)

    @contextmanager
    def watching_new_sessions(self) -> Iterator[None]:
        """Watch the clients of every session that is made in this block, whenever they are made."""
        handlers: list[Any] = [("before-send", self._before), ("after-call", self._after)]
        BUILTIN_HANDLERS.extend(handlers)
        try:
            yield
        finally:
            for handler in handlers:
                BUILTIN_HANDLERS.remove(handler)

    def enter(self, phase: str) -> None:
        """What is sent from now on belongs to this phase."""
        self.phase = phase

    def _before(self, request: AWSPreparedRequest, **_: Any) -> None:
        """Note an attempt (the SDK may make several of one call), and hold it up."""
        self._attempts.bodies = [*getattr(self._attempts, "bodies", ()), request.body]
        if self.seconds_each:
            time.sleep(self.seconds_each)

    def _after(self, http_response: Any, parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
        bodies, self._attempts.bodies = self._attempts.bodies, []
        service, operation = str(model.service_model.service_name), str(model.name)
        for body in bodies:
            about, units = "", Units()
            if service == "dynamodb":
                request = json.loads(body)
                units = self.table.bill(operation, request, parsed, refused=http_response.status_code != 200)
                about = _about(request)
            self.sent.append(Sent(self.phase, service, operation, about, units))


def _about(request: Mapping[str, Any]) -> str:
    """The kind of item a request is about."""
    if "RequestItems" in request:
        ((_, asked),) = request["RequestItems"].items()
        return f"of {len(asked['Keys'])} keys"
    if "IndexName" in request:
        return f"{request['IndexName']}{' (count)' if request.get('Select') == 'COUNT' else ''}"
    place = request.get("Item") or request["Key"]
    return " ".join(str(place[key]["S"]).partition("#")[0] for key in ("pk", "sk")).lower()


def tally(sent: Iterable[Sent], by: Callable[[Sent], str]) -> dict[str, int]:
    """How many requests of each kind."""
    return dict(Counter(map(by, sent)))


def by_phase(sent: Iterable[Sent]) -> dict[str, dict[str, int]]:
    """How many of each operation, phase by phase in their order."""
    requests = list(sent)
    phases = dict.fromkeys(each.phase for each in requests)
    return {
        phase: tally((each for each in requests if each.phase == phase), by=lambda each: each.name)
        for phase in phases
    }
