"""What is made when it is first used, because making it costs more than most cold starts can spare."""

from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar, cast

T = TypeVar("T")


class _Late:
    """Stands for something until it is used, and passes everything on from then on."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._made: object = None
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the real thing has
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return getattr(self._made, name)


def late(make: Callable[[], T]) -> T:
    """What `make` makes, made when it is first used."""
    return cast("T", _Late(make))
