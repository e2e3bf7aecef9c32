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
    UNSIGNED = 10
    UNKNOWN_KEY = 11
    MISMATCH = 12
    MALFORMED = 13
    UNSUPPORTED_ALGORITHM = 14
    AMBIGUOUS = 15
    INTERRUPTED = 130


MEANINGS: Mapping[Exit, str] = {
    Exit.DONE: "done",
    Exit.FAILED: "AWS refused something; what was printed before is done",
    Exit.USAGE: "the command line makes no sense, or does not say which of several is meant",
    Exit.NOTHING: "what is asked for is not there: no such webhook, or none is dead; no such file",
    Exit.UNREACHABLE: "out of reach: no such stack, no credentials, no Region, no connection, card or keys",
    Exit.UNSIGNED: "`card verify`: the card has no signature",
    Exit.UNKNOWN_KEY: "`card verify`: no key that is trusted has the name in a signature",
    Exit.MISMATCH: "`card verify`: the key of that name did not sign this card",
    Exit.MALFORMED: "`card verify`: it is no card, or its signatures are none",
    Exit.UNSUPPORTED_ALGORITHM: "`card verify`: a signature is by an algorithm that its key is not for",
    Exit.AMBIGUOUS: "`card verify`: several keys that are trusted have that name",
    Exit.INTERRUPTED: "interrupted by Ctrl-C; what was printed before is done",
}


class Failure(TyperException):
    """The command ends here, with one line about why."""

    def __init__(self, exit_status: Exit, message: str) -> None:
        super().__init__(message)
        self.exit_code = int(exit_status)
