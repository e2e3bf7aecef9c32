"""Where a function's processes write: a file, or the terminal by way of a pipe."""

import os
import threading
from pathlib import Path

from infra.local.console import Console


class FunctionLog:
    """The log of one function, in `folder` if there is one, else on the console."""

    def __init__(self, name: str, folder: Path | None, console: Console) -> None:
        self._name = name
        self._folder = folder
        self._console = console

    def open(self) -> int:
        """Return a descriptor to write to, which the caller closes once a process has it."""
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{self._name}.log"
            return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        reading, writing = os.pipe()
        threading.Thread(target=self._read, args=(reading,), name=f"{self._name}-log", daemon=True).start()
        return writing

    def _read(self, descriptor: int) -> None:
        with open(descriptor, "rb") as lines:
            for line in lines:
                # Inside an event the runtime parts lines by carriage returns, as Lambda wants it.
                for part in line.decode(errors="replace").rstrip("\r\n").split("\r"):
                    self._console.log(self._name, part)
