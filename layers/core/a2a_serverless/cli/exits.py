"""What a command's exit status tells, and the failures that end one. Knows no command."""

from collections.abc import Mapping
from enum import IntEnum

from typer import TyperException


class Exit(IntEnum):
    """The exit statuses of every command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOTHING = 3
    UNREACHABLE = 4
    INTERRUPTED = 130


MEANINGS: Mapping[Exit, str] = {
    Exit.DONE: "done",
    Exit.FAILED: "AWS refused something; what was printed before is done",
    Exit.USAGE: "the command line makes no sense, or does not say which of several is meant",
    Exit.NOTHING: "what is asked for is not there: no such webhook, or none is dead",
    Exit.UNREACHABLE: "no deployment was reached: no such stack, no credentials, no Region, no connection",
    Exit.INTERRUPTED: "interrupted by Ctrl-C; what was printed before is done",
}


class Failure(TyperException):
    """The command ends here, with one line about why."""

    def __init__(self, exit_status: Exit, message: str) -> None:
        super().__init__(message)
        self.exit_code = int(exit_status)
