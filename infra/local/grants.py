"""What a role grants, and what of a call it does not: IAM, as far as the template's policies go.

Allow statements on actions and resources, with the few conditions those policies have. Pure; knows neither
template nor emulator.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Self

from infra.local.intrinsics import UnresolvableError


@dataclass(frozen=True)
class Call:
    """One call of AWS: an action, on resources, and the partition keys it is about if it is about items."""

    action: str
    resources: tuple[str, ...]
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grant:
    """One statement of a policy, read."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def declared(cls, statement: Mapping[str, Any]) -> Self:
        """Read a resolved statement.

        Raises:
            UnresolvableError: It denies, or depends on something that is not known here.
        """
        conditions = statement.get("Condition", {})
        if statement["Effect"] != "Allow":
            raise UnresolvableError(f"a statement that is no Allow: {statement.get('Sid', '')}")
        for operator, asked in conditions.items():
            for key in asked:
                if (operator, key) not in CONDITIONS:
                    raise UnresolvableError(f"condition {operator} on {key}")
        return cls(several(statement["Action"]), several(statement["Resource"]), conditions)

    def covers(self, call: Call, resource: str) -> bool:
        """Say whether it allows the call on one of its resources."""
        return (
            any(matches(action, call.action) for action in self.actions)
            and any(matches(granted, resource) for granted in self.resources)
            and all(
                CONDITIONS[operator, key](call, several(wanted))
                for operator, asked in self.conditions.items()
                for key, wanted in asked.items()
            )
        )


def lacking(grants: Sequence[Grant], call: Call) -> str | None:
    """Return the first resource on which the call is not granted; None when all of it is."""
    for resource in call.resources:
        if not any(grant.covers(call, resource) for grant in grants):
            return resource
    return None


def several(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - a policy says one or several
    """Return one or several as several."""
    return (value,) if isinstance(value, str) else tuple(value)


@lru_cache(maxsize=1024)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def matches(pattern: str, text: str) -> bool:
    """Say whether a text is of a pattern with IAM's `*` and `?`."""
    return _pattern(pattern).fullmatch(text) is not None


def _about_keys(call: Call, wanted: Iterable[str]) -> bool:
    patterns = tuple(wanted)
    return bool(call.keys) and all(any(matches(each, key) for each in patterns) for key in call.keys)


def _through_a_service(_: Call, __: Iterable[str]) -> bool:
    """No function calls KMS through another service: that service does."""
    return False


CONDITIONS: Final[Mapping[tuple[str, str], Callable[[Call, Iterable[str]], bool]]] = {
    ("ForAllValues:StringEquals", "dynamodb:LeadingKeys"): _about_keys,
    ("ForAllValues:StringLike", "dynamodb:LeadingKeys"): _about_keys,
    ("StringEquals", "kms:ViaService"): _through_a_service,
}
"""The conditions that the template's policies have."""
