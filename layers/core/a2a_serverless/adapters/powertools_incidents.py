"""Failures as structured log lines, found again by the id that the caller was given."""

from dataclasses import dataclass

from aws_lambda_powertools import Logger

from a2a_serverless.ports import Identifiers


@dataclass(frozen=True, slots=True)
class PowertoolsIncidents:
    """Incidents in the function's log: one line of JSON each, with the traceback and the facts given."""

    logger: Logger
    identifiers: Identifiers

    def report(self, error: BaseException, **facts: str) -> str:
        """Log the error with these facts; returns the id that finds the log line."""
        error_id = self.identifiers.new()
        self.logger.error(
            "An operation failed.",
            exc_info=(type(error), error, error.__traceback__),
            extra={"error_id": error_id, "error_type": type(error).__qualname__, "facts": facts},
        )
        return error_id
