"""The service parameters of the protocol, A2A-Version and A2A-Extensions (specification 3.2.6, 3.6, 4.6).

Only their names and how their values are read; a binding knows where they arrive (headers, query).
"""

import re

from a2a_serverless.protocol.errors import VersionNotSupportedError

VERSION = "A2A-Version"
EXTENSIONS = "A2A-Extensions"
LEGACY_EXTENSIONS = "X-A2A-Extensions"
"""How version 0.3 spelled it; still sent, so it is still read."""

SERVED_VERSIONS = ("1.0",)
VERSION_WHEN_ABSENT = "0.3"
VERSION_PATTERN = re.compile(r"([0-9]{1,4}\.[0-9]{1,4})(\.[0-9]{1,9})?")


def negotiate(version: str | None) -> str:
    """The version to serve, as Major.Minor, for the one that was asked for.

    Absent or empty means 0.3, and a patch number is ignored (3.6). Raises VersionNotSupportedError, whose
    metadata lists the versions served.
    """
    asked = (version or "").strip() or VERSION_WHEN_ABSENT
    parsed = VERSION_PATTERN.fullmatch(asked)
    if parsed is None or parsed[1] not in SERVED_VERSIONS:
        raise VersionNotSupportedError(metadata={"supportedVersions": ", ".join(SERVED_VERSIONS)})
    return parsed[1]


def parse_extensions(*values: str | None) -> tuple[str, ...]:
    """The extension URIs in any number of comma-separated values, in order, each once."""
    uris = (uri.strip() for value in values for uri in (value or "").split(","))
    return tuple(dict.fromkeys(uri for uri in uris if uri))
