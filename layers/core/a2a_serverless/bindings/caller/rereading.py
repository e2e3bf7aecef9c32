"""An access document that is read again from time to time, so that keys are added and revoked in between."""

from collections.abc import Callable
from datetime import timedelta
from threading import Lock

from a2a_serverless.bindings.caller.access import Access
from a2a_serverless.bindings.caller.document import AccessDocumentError
from a2a_serverless.ports import Clock, Incidents
from a2a_serverless.ports.access import SecretValue, UnreadableValueError

READ_AGAIN = timedelta(minutes=5)
"""How late a change may be noticed."""

TRY_AGAIN = timedelta(minutes=1)
"""After a reading that failed."""


class RereadAccess:
    """Who may come in, by the last reading that made sense.

    Whoever comes first after five minutes reads; meanwhile others go by the last reading. Raises, where it
    is made, what reading raises: with no reading at all there is nobody to let in.
    """

    def __init__(
        self,
        value: SecretValue,
        understand: Callable[[str], Access],
        clock: Clock,
        incidents: Incidents,
    ) -> None:
        self._value = value
        self._understand = understand
        self._clock = clock
        self._incidents = incidents
        self._lock = Lock()
        self._text = value.read()
        self._access = understand(self._text)
        self._due = clock.now() + READ_AGAIN

    def __call__(self) -> Access:
        """Who may come in."""
        if self._clock.now() >= self._due and self._lock.acquire(blocking=False):
            try:
                self._read()
            finally:
                self._lock.release()
        return self._access

    def _read(self) -> None:
        now = self._clock.now()
        self._due = now + TRY_AGAIN
        try:
            text = self._value.read()
            if text != self._text:
                self._access = self._understand(text)
                self._text = text
        except (UnreadableValueError, AccessDocumentError) as error:
            self._incidents.report(error)
        else:
            self._due = now + READ_AGAIN
