"""Counters as CloudWatch metrics in embedded metric format: a log line each, written at once.

Written at once, because a counter may be raised outside any handler's decorator: in a turn's thread, in a
stream's generator, in a function about to be killed.
"""

from dataclasses import dataclass

from aws_lambda_powertools.metrics import MetricUnit, single_metric


@dataclass(frozen=True, slots=True)
class PowertoolsMetrics:
    """Counters under one namespace, each with the service as a dimension."""

    service: str
    namespace: str = "a2a_serverless"

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        """Add to a counter."""
        given = {"service": self.service, **dimensions}
        with single_metric(
            name=name,
            unit=MetricUnit.Count,
            value=value,
            namespace=self.namespace,
            default_dimensions=given,
        ):
            pass
