"""The function's log, made real: Powertools' logger, whose every line goes through the same net.

Make it late in what answers callers: Powertools costs a tenth of a second to load.
"""

from typing import TYPE_CHECKING

from a2a_serverless.ports.audit import Audit
from a2a_serverless.settings import Settings

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger


def logger(settings: Settings) -> "Logger":
    """Where a function logs what happens to it."""
    from aws_lambda_powertools import Logger  # noqa: PLC0415  made late

    from a2a_serverless.adapters.log_lines import printed  # noqa: PLC0415  as above

    # The trace is in every line as text. As a list besides it would double the line, and lose that of an
    # exception which cannot be printed.
    return Logger(
        service=settings.powertools_service_name,
        level=settings.log_level,
        json_serializer=printed,
        serialize_stacktrace=False,
    )


def audit(settings: Settings) -> Audit:
    """Where calls are logged, however little else is."""
    from aws_lambda_powertools import Logger  # noqa: PLC0415  made late

    from a2a_serverless.adapters.log_lines import printed  # noqa: PLC0415  as above
    from a2a_serverless.adapters.powertools_audit import PowertoolsAudit  # noqa: PLC0415  as above

    # Of a name of its own, since its level is its own; the service it names is the same all the same.
    calls = Logger(
        service=f"calls of {settings.powertools_service_name}", level="INFO", json_serializer=printed
    )
    calls.append_keys(service=settings.powertools_service_name, location=None)
    return PowertoolsAudit(calls)
