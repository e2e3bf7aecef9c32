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
    UNAUTHORIZED = 5
    NOT_COMPLETED = 6
    INPUT_REQUIRED = 7
    AUTH_REQUIRED = 8
    STILL_WORKING = 9
    UNSIGNED = 10
    UNKNOWN_KEY = 11
    MISMATCH = 12
    MALFORMED = 13
    UNSUPPORTED_ALGORITHM = 14
    AMBIGUOUS = 15
    FAULTY = 16
    INTERRUPTED = 130


MEANINGS: Mapping[Exit, str] = {
    Exit.DONE: "done; of a task: it is completed, or was answered without one",
    Exit.FAILED: "AWS or the agent refused something; what was printed before is done",
    Exit.USAGE: "the command line or configuration makes no sense, or does not say which of several is meant",
    Exit.NOTHING: "what is asked for is not there: no such task, webhook, route or file; none is dead",
    Exit.UNREACHABLE: "out of reach: no such stack, no credentials, no Region, no connection, card or keys",
    Exit.UNAUTHORIZED: "the agent does not let this caller in, or not do this",
    Exit.NOT_COMPLETED: "the task has failed, was rejected or canceled",
    Exit.INPUT_REQUIRED: "the task waits for an answer, or for a permission",
    Exit.AUTH_REQUIRED: "the task waits until something is authorised elsewhere",
    Exit.STILL_WORKING: "the time of `--timeout` is over, or nobody was to wait; the task goes on",
    Exit.UNSIGNED: "the card has no signature, where it was to be verified",
    Exit.UNKNOWN_KEY: "no key that is trusted has the name in a signature of the card",
    Exit.MISMATCH: "the key of that name did not sign this card",
    Exit.MALFORMED: "it is no card, or its signatures are none",
    Exit.UNSUPPORTED_ALGORITHM: "a signature of the card is by an algorithm that its key is not for",
    Exit.AMBIGUOUS: "several keys that are trusted have the name in a signature of the card",
    Exit.FAULTY: "`card lint`: the card breaks a rule of the specification",
    Exit.INTERRUPTED: "interrupted by Ctrl-C; what was printed before is done, and a task goes on",
}


class Failure(TyperException):
    """The command ends here, with one line about why, and one about what may be done where there is such."""

    def __init__(self, exit_status: Exit, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.exit_code = int(exit_status)
        self.hint = hint
