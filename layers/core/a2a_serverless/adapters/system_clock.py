"""The machine's clock."""

import time
from datetime import UTC, datetime


class SystemClock:
    """The present moment in UTC, and waiting in earnest."""

    def now(self) -> datetime:
        """The present moment."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        time.sleep(seconds)
