"""Which operation an address and a verb mean: the routes of HTTP+JSON (specification 5.3, 11.3).

Every route also exists below `/{tenant}`; a route of its own always wins over a tenant's. An address ends
in a custom verb such as `:cancel` or it does not: `/tasks/x:cancel` is never the task "x:cancel". Segments
are decoded once, after they were told apart. Knows no request and no answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from a2a_serverless.protocol.operations import OPERATIONS, Operation


@dataclass(frozen=True, slots=True)
class Found:
    """The operations at an address, by verb, and the fields of their request that the address holds."""

    operations: Mapping[str, Operation]
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Route:
    path: str
    operations: Mapping[str, Operation]

    @property
    def segments(self) -> list[str]:
        return self.path.strip("/").split("/")

    def match(self, segments: Sequence[str]) -> dict[str, str] | None:
        """The fields the segments hold if they are this route's."""
        if len(segments) != len(self.segments):
            return None
        fields = {}
        for own, given in zip(self.segments, segments, strict=True):
            if not own.startswith("{"):
                if own != given:
                    return None
                continue
            name, _, verb = own.removeprefix("{").partition("}")
            value = given.removesuffix(verb)
            if not value or value.startswith(":") or len(value) + len(verb) != len(given):
                return None
            fields[name] = value
        return fields


def _routes() -> tuple[_Route, ...]:
    """One route per path, those that end in a verb first."""
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        for verb in operation.verbs:
            by_path.setdefault(operation.path, {})[verb] = operation
    routes = [_Route(path, operations) for path, operations in by_path.items()]
    return tuple(sorted(routes, key=lambda route: route.path.endswith("}")))


ROUTES = _routes()


def segments_of(path: str) -> list[str]:
    """The decoded segments of a path."""
    return [unquote(segment) for segment in path.removeprefix("/").split("/")]


def find(segments: Sequence[str]) -> Found | None:
    """What lies at these segments; None when nothing does."""
    for route in ROUTES:
        if (fields := route.match(segments)) is not None:
            return Found(route.operations, fields)
    tenant, *rest = segments
    for route in ROUTES if tenant else ():
        if (fields := route.match(rest)) is not None:
            return Found(route.operations, {"tenant": tenant, **fields})
    return None


def find_content(segments: Sequence[str]) -> tuple[str | None, str, Sequence[str]] | None:
    """Tenant, task id and place of the part at an address of the artifacts route; None when it is not one."""
    match segments:
        case ["artifacts", task_id, _, *_]:
            return None, task_id, segments[2:]
        case [tenant, "artifacts", task_id, _, *_] if tenant:
            return tenant, task_id, segments[3:]
    return None


def find_files(segments: Sequence[str]) -> tuple[str | None, str] | None:
    """Tenant and context at an address of the files route; None when it is not one."""
    match segments:
        case ["contexts", context_id, "files"] if context_id:
            return None, context_id
        case [tenant, "contexts", context_id, "files"] if tenant and context_id:
            return tenant, context_id
    return None


def find_tenant(segments: Sequence[str]) -> str | None:
    """Whose own address it is, below which their routes lie; None when it is longer or none."""
    match segments:
        case [tenant] if tenant:
            return tenant
    return None
