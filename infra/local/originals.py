"""The stack's side of processes that are copied: one ancestor, an original for each function, their copies.

The ancestor has loaded what the functions have in common and is copied once for each function; that original
loads the function's own and is copied for each environment. Linux only. Knows no pool and no handler.
"""

import ast
import contextlib
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from infra.local.copies import Copied, GoneError, Line
from infra.local.copy_protocol import ROOM

LAMBDAS_OWN: Final = ("AWS_LAMBDA_", "LAMBDA_", "_HANDLER")
"""Variables by which a function's process is known; none that is copied must be taken for one."""

SPARE_BYTES: Final = 4096

PATIENCE_SECONDS: Final = 2.0
"""How long a process may take to bury its copies."""


class Ancestor:
    """The process that has loaded `modules`, started with the variables that all functions have alike.

    Raises:
        CannotCopyError: One of the modules does what a copy would not survive.
    """

    def __init__(self, variables: Sequence[Mapping[str, str]], modules: Sequence[str]) -> None:
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-P", "-m", "infra.local.forking", str(theirs.fileno())],
                env={**shared(variables), ROOM: "x" * room(variables)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._line = Line(control, {"modules": modules}, self._process.wait)

    @property
    def gone(self) -> bool:
        """Whether it has ended."""
        return self._line.gone

    def copy(self, folder: Path, sink: int, control: int) -> Copied:
        """Make an original whose working directory and log these are, at the other end of `control`."""
        return self._line.copy({"folder": str(folder)}, sink, control)

    def retire(self) -> None:
        """Make no more originals."""
        self._line.retire()

    def close(self) -> None:
        """End it; its originals have ended, or end with it."""
        self.retire()
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Ancestry:
    """The ancestor there is: made when it is wanted, and made again when it is gone or out of date."""

    def __init__(self, new_ancestor: Callable[[], Ancestor]) -> None:
        self._new_ancestor = new_ancestor
        self._ancestor: Ancestor | None = None
        self._lock = threading.Lock()

    def copy(self, folder: Path, sink: int, control: int) -> Copied:
        """Make an original, see `Ancestor.copy`; raise CannotCopyError when there can be none."""
        try:
            return self._current().copy(folder, sink, control)
        except GoneError:
            # It ended a moment ago, and is known to have by now.
            return self._current().copy(folder, sink, control)

    def _current(self) -> Ancestor:
        with self._lock:
            if self._ancestor is None or self._ancestor.gone:
                self._ancestor = self._new_ancestor()
            return self._ancestor

    def renew(self) -> None:
        """Load everything again before the next original is made."""
        with self._lock:
            ancestor, self._ancestor = self._ancestor, None
        if ancestor is not None:
            ancestor.retire()

    def close(self) -> None:
        """End the ancestor."""
        with self._lock:
            ancestor, self._ancestor = self._ancestor, None
        if ancestor is not None:
            ancestor.close()


class Original:
    """One function's process that is copied, and its copies.

    Raises:
        CannotCopyError: The handler's module cannot be loaded, or does what a copy would not survive.
    """

    def __init__(self, ancestry: Ancestry, variables: Mapping[str, str], folder: Path, sink: int) -> None:
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, contextlib.ExitStack() as failing:
            failing.enter_context(control)
            self._process = ancestry.copy(folder, sink, theirs.fileno())
            failing.pop_all()
        self._line = Line(control, variables, self._process.wait)

    @property
    def gone(self) -> bool:
        """Whether it has ended."""
        return self._line.gone

    def copy(self, address: str, sink: int) -> Copied:
        """Make a copy; raise GoneError when the original is gone."""
        return self._line.copy({"address": address}, sink)

    def retire(self) -> None:
        """Make no more copies; it ends when the last of those there are does."""
        self._line.retire()

    def close(self) -> None:
        """End all its copies, and it when it has buried them."""
        for copy in self._line.copies():
            copy.kill()
        self.retire()
        if not self._process.ends_within(PATIENCE_SECONDS):
            self._process.kill()
            self._process.wait()


def shared(variables: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return what all functions have alike, without what makes a process known as a function's."""
    first, *others = variables
    return {
        name: value
        for name, value in first.items()
        if not name.startswith(LAMBDAS_OWN) and all(each.get(name) == value for each in others)
    }


def room(variables: Sequence[Mapping[str, str]]) -> int:
    """Return the characters that the largest environment may need, and some to spare."""
    sizes = (sum(len(name) + len(value) + 2 for name, value in each.items()) for each in variables)
    return max(sizes) + SPARE_BYTES


def common_imports(handlers: Sequence[Path]) -> Sequence[str]:
    """Return the modules that the sources of at least two handlers import, in the order they do."""
    found: Counter[str] = Counter()
    for handler in handlers:
        found.update(dict.fromkeys(imports(handler)).keys())
    return [module for module, times in found.items() if times > 1]


def imports(source: Path) -> Iterator[str]:
    """Yield what a module imports at its top; nothing where it cannot be read."""
    try:
        tree = ast.parse(source.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for statement in tree.body:
        match statement:
            case ast.Import(names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield module
                yield from (f"{module}.{each.name}" for each in names)
