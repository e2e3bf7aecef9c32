"""Counters for a command: whoever runs it reads what it prints, and CloudWatch hears nothing of laptops."""


class UncountedMetrics:
    """Counters that count nothing."""

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        """Let it pass."""
