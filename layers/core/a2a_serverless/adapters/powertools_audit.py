"""Calls as structured log lines, one each, beside those of failures and under the same error ids."""

from dataclasses import dataclass

from aws_lambda_powertools import Logger

from a2a_serverless.ports.audit import Call

MESSAGE = "A2A call"
"""The message of every such line, by which they are found."""


@dataclass(frozen=True, slots=True)
class PowertoolsAudit:
    """Calls in the function's log. What is not known of one is not in its line."""

    logger: Logger

    def record(self, call: Call) -> None:
        """Write the call down."""
        members = {
            "binding": call.binding,
            "operation": call.operation,
            "outcome": call.outcome,
            "http_status": call.http_status,
            "duration_ms": round(call.duration.total_seconds() * 1000),
            "principal": call.principal,
            "owner": call.owner,
            "credentials": call.credentials,
            "tenant": call.tenant,
            "task": call.task,
            "context": call.context,
            "message_id": call.message_id,
            "frames": call.frames,
            "error_id": call.error_id,
            "request_id": call.request_id or None,
        }
        known = {name: value for name, value in members.items() if value is not None}
        self.logger.info(MESSAGE, extra=known)
