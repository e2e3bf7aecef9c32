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
        return getattr(made(self), name)


def late(make: Callable[[], T]) -> T:
    """What `make` makes, made when it is first used."""
    return cast("T", _Late(make))


def make_now(*parts: object) -> None:
    """Make these at once, where every invocation would: a function's start is the cheaper moment."""
    for part in parts:
        if isinstance(part, _Late):
            made(part)


def made(part: _Late) -> object:
    """The real thing; made by the first who asks, while the others wait."""
    with part._lock:  # noqa: SLF001  everything else about a part is asked of the real thing
        if part._made is None:  # noqa: SLF001  as above
            part._made = part._make()  # noqa: SLF001  as above
        return part._made  # noqa: SLF001  as above
