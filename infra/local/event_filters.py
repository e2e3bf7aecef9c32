"""Which records an event source mapping sends on: filter patterns, as far as this repository uses them.

AWS: https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html. Pure. A pattern that says
more than "this member is one of these values" is refused rather than misread.
"""

from collections.abc import Mapping
from typing import Any

from infra.local.intrinsics import UnresolvableError

Pattern = Mapping[str, Any]
"""The shape of a record: each member a pattern of its own, or a list of the values it may have."""


def read_pattern(given: object) -> Pattern:
    """Return a pattern; raise UnresolvableError for one that uses what this file does not know."""
    if not isinstance(given, Mapping):
        raise UnresolvableError(f"filter {given!r}")
    for name, wanted in given.items():
        if name.startswith("$"):
            raise UnresolvableError(f"filter {name}")
        if not isinstance(wanted, list):
            read_pattern(wanted)
        elif not all(isinstance(value, str | int | float | None) for value in wanted):
            raise UnresolvableError(f"filter of {name}")
    return given


def matches(pattern: Pattern, record: object) -> bool:
    """Say whether a record has the pattern's shape; one that lacks a member has not."""
    if not isinstance(record, Mapping):
        return False
    return all(
        name in record
        and (record[name] in wanted if isinstance(wanted, list) else matches(wanted, record[name]))
        for name, wanted in pattern.items()
    )
