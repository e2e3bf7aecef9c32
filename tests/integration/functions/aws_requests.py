"""What the functions ask of AWS, noted where botocore is told to: everything, by whichever client."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from botocore.handlers import BUILTIN_HANDLERS

ITEM = ("pk", "sk")


@dataclass
class AwsRequests:
    """Every request of clients whose session was made while this watched, in the order they were made."""

    made: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """Service and operation, and the parameters."""

    @contextmanager
    def watching_new_sessions(self) -> Iterator[None]:
        """Watch the sessions that are made in this block, for as long as they last."""
        handler: Any = ("before-parameter-build", self._note)
        BUILTIN_HANDLERS.append(handler)
        try:
            yield
        finally:
            BUILTIN_HANDLERS.remove(handler)

    def _note(self, params: Mapping[str, Any], model: Any, **_: Any) -> None:
        self.made.append((f"{model.service_model.service_name}:{model.name}", dict(params)))

    def taken(self) -> list[tuple[str, Mapping[str, Any]]]:
        """What was asked since this was last looked at."""
        taken, self.made = self.made, []
        return taken
