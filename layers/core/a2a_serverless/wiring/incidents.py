"""Where the story of a failure goes, made real: Powertools' logger."""

from a2a_serverless.ports import Identifiers, Incidents
from a2a_serverless.settings import Settings


def incidents(settings: Settings, identifiers: Identifiers) -> Incidents:
    """Where failures are logged. Make it late: an API function that meets no error never needs it."""
    # Powertools costs a tenth of a second to load.
    from aws_lambda_powertools import Logger  # noqa: PLC0415

    from a2a_serverless.adapters.powertools_incidents import PowertoolsIncidents  # noqa: PLC0415

    logger = Logger(service=settings.powertools_service_name, level=settings.log_level)
    return PowertoolsIncidents(logger, identifiers)
