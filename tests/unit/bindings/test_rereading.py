"""An access document changes while a process lives: how soon that counts, and what if it cannot be read."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Barrier, Event

import pytest

from a2a_serverless.bindings.caller import Access, Admittance, Principal
from a2a_serverless.bindings.caller.document import AccessDocument, AccessDocumentError
from a2a_serverless.bindings.caller.refusals import UnknownCallerError
from a2a_serverless.bindings.caller.rereading import RereadAccess
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.ports.access import UnreadableValueError
from tests.fakes.world import FakeClock, FakeIncidents


def document(**tokens: str) -> str:
    entries = [
        {"name": name, "sha256": hashlib.sha256(secret.encode()).hexdigest()}
        for name, secret in tokens.items()
    ]
    return json.dumps({"bearer": entries})


def understood(text: str) -> Access:
    return AccessDocument.read(text).access((), lambda _: pytest.fail("nobody named an issuer"))


@dataclass
class Kept:
    """A deployment whose document is kept elsewhere."""

    text: str = field(default_factory=lambda: document(ada="first"))
    fault: Exception | None = None
    reads: int = 0
    clock: FakeClock = field(default_factory=FakeClock)
    incidents: FakeIncidents = field(default_factory=FakeIncidents)

    def read(self) -> str:
        """The document as it is now."""
        self.reads += 1
        if self.fault is not None:
            raise self.fault
        return self.text

    def access(self) -> RereadAccess:
        """Who may come in, from now on."""
        return RereadAccess(self, understood, self.clock, self.incidents)

    def later(self, **time: float) -> None:
        self.clock.moment += timedelta(**time)


def caller(access: RereadAccess, secret: str) -> Principal:
    request = HttpRequest("GET", "/", {"authorization": (f"Bearer {secret}",)})
    return Admittance(access=access).authenticate(request)


def turned_away(access: RereadAccess, secret: str) -> bool:
    with pytest.raises(UnknownCallerError):
        caller(access, secret)
    return True


def test_a_document_is_read_every_five_minutes_however_many_come() -> None:
    kept = Kept()
    access = kept.access()

    for _ in range(299):
        assert caller(access, "first").name == "ada"
        kept.later(seconds=1)
    assert kept.reads == 1
    kept.later(seconds=1)
    for _ in range(10):
        assert caller(access, "first").name == "ada"
    assert kept.reads == 2


def test_within_five_minutes_a_credential_is_replaced_and_its_principal_keeps_their_tasks() -> None:
    kept = Kept()
    access = kept.access()
    owner = caller(access, "first").caller(None, "").owner
    kept.text = document(ada="second")

    kept.later(minutes=5)

    assert caller(access, "second").caller(None, "").owner == owner
    assert turned_away(access, "first")


def test_a_document_that_has_not_changed_stays_what_it_was_made_into() -> None:
    kept = Kept()
    access = kept.access()
    before = access()

    kept.later(minutes=5)

    assert access() is before
    assert kept.reads == 2


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (document(ada="first"), UnreadableValueError("throttled")),
        ("", None),
        ('{"bearer":[{"name":"ada","sha256":"hunter2"}]}', None),
        ('{"unknown":1}', None),
    ],
)
def test_a_document_that_cannot_be_gone_by_leaves_the_last_one_and_is_reported(
    text: str, fault: Exception | None
) -> None:
    kept = Kept()
    access = kept.access()
    kept.text, kept.fault = text, fault

    kept.later(minutes=5)

    assert caller(access, "first").name == "ada"
    [(error, _)] = kept.incidents.reported
    assert isinstance(error, UnreadableValueError | AccessDocumentError)
    assert "hunter2" not in str(error)


def test_after_a_failure_it_is_tried_again_every_minute_until_it_succeeds() -> None:
    kept = Kept()
    access = kept.access()
    kept.fault = UnreadableValueError("throttled")
    kept.later(minutes=5)

    for _ in range(120):
        assert caller(access, "first").name == "ada"
        kept.later(seconds=1)
    assert kept.reads == 3
    kept.fault, kept.text = None, document(ada="second")
    assert caller(access, "second").name == "ada"
    kept.later(minutes=4)
    assert caller(access, "second").name == "ada"
    assert kept.reads == 4


def test_a_fault_of_our_own_is_not_hidden_behind_the_last_document() -> None:
    kept = Kept()
    access = kept.access()
    kept.fault = ZeroDivisionError()
    kept.later(minutes=5)

    with pytest.raises(ZeroDivisionError):
        access()
    assert caller(access, "first").name == "ada"


@pytest.mark.parametrize(
    ("text", "fault", "kind"),
    [("", UnreadableValueError("denied"), UnreadableValueError), ("{", None, AccessDocumentError)],
)
def test_without_a_first_document_nothing_starts(text: str, fault: Exception | None, kind: type) -> None:
    with pytest.raises(kind):
        Kept(text=text, fault=fault).access()


def test_while_one_reads_the_others_go_by_the_last_document() -> None:
    kept = Kept()
    access = kept.access()
    reading, others_are_done = Barrier(2), Event()

    def slowly() -> str:
        reading.wait(5)
        others_are_done.wait(5)
        return document(ada="second")

    kept.read = slowly  # type: ignore[method-assign]
    kept.later(minutes=5)
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(access)
        reading.wait(5)
        assert caller(access, "first").name == "ada"
        others_are_done.set()
        first.result()
    assert caller(access, "second").name == "ada"
