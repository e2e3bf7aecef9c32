"""Loading what takes long, beside the turn: a short invocation may end meanwhile, and the next goes on.

A module that is imported by the agent itself holds up its turn until the function's time is up; where it
takes longer than that, no turn would ever get further. A thread of its own goes on while the process lives.
"""

import asyncio
import threading
from importlib import import_module
from types import ModuleType

from a2a_serverless.agent import Turn

LOOK_SECONDS = 0.02


class Loading:
    """One module on its way."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None
        self._error: Exception | None = None
        self._done = threading.Event()
        threading.Thread(target=self._load, name=f"loading {name}", daemon=True).start()

    @property
    def done(self) -> bool:
        """Whether it is there, or will never be."""
        return self._done.is_set()

    def module(self) -> ModuleType:
        """The module, once it is done; raises what its import raised."""
        if self._error is not None:
            raise self._error
        if self._module is None:
            raise ImportError(self._name)
        return self._module

    def _load(self) -> None:
        try:
            self._module = import_module(self._name)
        except Exception as error:  # noqa: BLE001  raised again where the module is wanted
            self._error = error
        finally:
            self._done.set()


_LOADED: dict[str, Loading] = {}


async def loaded(turn: Turn, name: str) -> ModuleType:
    """The module of this name; the turn may be checkpointed while it is loaded.

    Raises:
        Exception: whatever its import raises, each time it is asked for.
    """
    loading = _LOADED.get(name) or _LOADED.setdefault(name, Loading(name))
    while not loading.done:
        await asyncio.sleep(LOOK_SECONDS)
        await turn.checkpoint()
    return loading.module()
