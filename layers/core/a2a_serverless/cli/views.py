"""How what happens to a task is shown while it does: as lines, as JSON, alive on a terminal, or not."""

import json
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from a2a_serverless.cli.output import readable, shown
from a2a_serverless.cli.wording import STATES, asides, of_part, said, title_of, words_of
from a2a_serverless.protocol.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from a2a_serverless.protocol.objects import Artifact, Part, Task, TaskState, TaskStatus
from a2a_serverless.tasks.lifecycle import WAITING

if TYPE_CHECKING:
    from rich.console import Group

Write = Callable[[str], None]


class View(Protocol):
    """Shows a stream as it comes."""

    shows_all: bool
    """Whether nothing is left to be printed in the end."""

    def tell(self, told: StreamResponse) -> None:
        """One thing that happened."""

    def close(self) -> None:
        """It is over, or interrupted."""


class NoView:
    """Shows nothing."""

    shows_all = False

    def tell(self, told: StreamResponse) -> None: ...

    def close(self) -> None: ...


class JsonView:
    """One JSON object a line, as the protocol has it."""

    shows_all = True

    def tell(self, told: StreamResponse) -> None:
        print(json.dumps(told.to_dict()), flush=True)

    def close(self) -> None: ...


class LinesView:
    """Line by line, as text: artifacts as their lines are whole."""

    shows_all = True

    def __init__(self, write: Write | None = None) -> None:
        self._write = write or _print
        self._artifact: str | None = None
        self._rest = ""
        self._last_word = ""

    def tell(self, told: StreamResponse) -> None:
        self._last_word = ""
        if told.task is not None:
            for line in _opening(told.task):
                self._line(line)
            for artifact in told.task.artifacts:
                self._pieces(artifact)
            self._last_word = _last_word(told.task)
        elif told.status_update is not None:
            for line in lines_of(told.status_update):
                self._line(line)
        elif told.artifact_update is not None:
            self._grow(told.artifact_update)

    def close(self) -> None:
        self._break()
        if self._last_word:
            self._write(self._last_word)
        self._last_word = ""

    def _break(self) -> None:
        if self._rest:
            self._write(self._rest)
        self._artifact, self._rest = None, ""

    def _line(self, line: str) -> None:
        self._break()
        self._write(line)

    def _grow(self, update: TaskArtifactUpdateEvent) -> None:
        if not update.append:
            self._break()
        self._pieces(update.artifact)

    def _pieces(self, artifact: Artifact) -> None:
        if artifact.artifact_id != self._artifact:
            self._line(f"artifact {title_of(artifact)}:")
            self._artifact = artifact.artifact_id
        for part in artifact.parts:
            if part.text is None and self._rest:  # only texts flow together
                self._write(self._rest)
                self._rest = ""
            *lines, self._rest = (self._rest + _piece(part)).split("\n")
            for line in lines:
                self._write(line)


TAIL = 8
"""Lines of an artifact that are shown while it grows."""

TOOLS = 4
"""Tools that are shown with what they do."""


class LiveView:
    """Alive on a terminal: what was said stays above, what grows shows its last lines below.

    A brief one is a line on standard error, of what is done now and how long it has taken.
    """

    shows_all = False

    def __init__(self, *, brief: bool = False) -> None:
        from rich.console import Console  # noqa: PLC0415  a tenth of a second that pipes need not wait
        from rich.live import Live  # noqa: PLC0415  as above

        self._brief = brief
        self._console = Console(highlight=False, stderr=brief)
        self._began = time.monotonic()
        self._news = "waiting for the agent"
        self._about = ""
        self._asides: deque[str] = deque(maxlen=TOOLS)
        self._growing: dict[str, tuple[str, str]] = {}
        self._live = Live(
            console=self._console, get_renderable=self._render, refresh_per_second=8, transient=True
        )
        self._live.start()

    def tell(self, told: StreamResponse) -> None:
        if told.task is not None:
            self._about = told.task.id
            self._news = STATES[told.task.status.state]
            self._progress(told.task.status)
        elif told.status_update is not None:
            self._status(told.status_update)
        elif told.artifact_update is not None:
            artifact = told.artifact_update.artifact
            before = (
                self._growing.pop(artifact.artifact_id, ("", ""))[1] if told.artifact_update.append else ""
            )
            text = before + "".join(map(_piece, artifact.parts))
            self._growing[artifact.artifact_id] = (title_of(artifact), text[-4000:])

    def close(self) -> None:
        self._live.stop()

    def _status(self, update: TaskStatusUpdateEvent) -> None:
        self._asides.extend(asides(update.metadata))
        if update.status.message is not None or not update.metadata:
            self._news = STATES[update.status.state]
            self._progress(update.status)

    def _progress(self, status: TaskStatus) -> None:
        """What is said on the way stays; the last word is printed when it is over."""
        text = said(status.message)
        if text and status.state is TaskState.WORKING:
            if not self._brief:
                self._console.print(f"  {text}", markup=False, emoji=False)
            self._news = text.partition("\n")[0]

    def _render(self) -> "Group":
        from rich.console import Group  # noqa: PLC0415  as above
        from rich.spinner import Spinner  # noqa: PLC0415  as above
        from rich.text import Text  # noqa: PLC0415  as above

        elapsed = f"{time.monotonic() - self._began:.0f} s"
        head = Text.assemble((self._news, "bold"), f"  {elapsed}  ", (self._about, "dim"))
        if self._brief:
            return Group(Spinner("line", text=head))
        lines = [Text(f"  {line}", style="cyan", no_wrap=True, overflow="ellipsis") for line in self._asides]
        for title, text in self._growing.values():
            lines.append(Text(f"  {title}", style="bold"))
            lines += [Text(f"  | {line}") for line in text.split("\n")[-TAIL:]]
        return Group(Spinner("line", text=head), *lines)


def lines_of(update: TaskStatusUpdateEvent) -> list[str]:
    """What an update of the status says, in lines."""
    beside = list(asides(update.metadata))
    text = words_of(update.status)
    state = STATES[update.status.state]
    if text:
        return [*beside, f"{state}: {text}"]
    return beside or [state]


def _opening(task: Task) -> list[str]:
    """Which task it is, and what it says if it is at work."""
    context = f" of context {task.context_id}" if task.context_id else ""
    state = STATES[task.status.state]
    line = shown(f"task {task.id}{context}: {state}")
    text = said(task.status.message) if task.status.state is TaskState.WORKING else ""
    return [line, f"{state}: {text}"] if text else [line]


def _last_word(task: Task) -> str:
    """What it said when it ended or began to wait: it may be told what comes after by now."""
    shows = task.status.state is TaskState.COMPLETED or task.status.state in WAITING
    text = words_of(task.status)
    return f"{STATES[task.status.state]}: {text}" if shows and text else ""


def _piece(part: Part) -> str:
    return readable(part.text) if part.text is not None else f"{of_part(part)}\n"


def _print(line: str) -> None:
    print(line, flush=True)


def view_for(*, stream: bool, as_json: bool) -> View:
    """The view for where one is."""
    if as_json:
        return JsonView() if stream else NoView()
    if not stream:
        return LiveView(brief=True) if sys.stderr.isatty() else NoView()
    return LiveView() if sys.stdout.isatty() else LinesView()
