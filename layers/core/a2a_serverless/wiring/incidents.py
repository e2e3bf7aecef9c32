"""Where the story of a failure goes, made real: Powertools' logger."""

from a2a_serverless.ports import Identifiers, Incidents
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.logs import logger


def incidents(settings: Settings, identifiers: Identifiers) -> Incidents:
    """Where failures are logged. Make it late: an API function that meets no error never needs it."""
    from a2a_serverless.adapters.powertools_incidents import PowertoolsIncidents  # noqa: PLC0415  made late

    return PowertoolsIncidents(logger(settings), identifiers)
