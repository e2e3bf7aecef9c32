"""Commands whose failures are one line on standard error and an exit status, never a traceback."""

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from typer import Abort, TyperException

from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.help_pages import Group

UNWRITABLE = frozenset({errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What is wrong where nothing more can be printed: nobody reads it, or there is no space."""


class Commands(Group):
    """The command with all below it. Failures that have no name here are bugs, and rise."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002  typer's own signature
        windows_expand_args: bool = True,  # noqa: FBT001, FBT002  as above
        **extra: Any,  # noqa: ANN401  as above
    ) -> int:
        """Run, and leave with the exit status or, unless in standalone mode, return it."""
        try:
            status = self._ended(args, prog_name, complete_var, windows_expand_args, extra)
            # What is held back could still not be writable.
            sys.stdout.flush()
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            status = int(Exit.FAILED)
            _print_no_more(error)
        if standalone_mode:
            sys.exit(status)
        return status

    def _ended(
        self,
        args: Sequence[str] | None,
        prog_name: str | None,
        complete_var: str | None,
        windows_expand_args: bool,  # noqa: FBT001  as above
        extra: dict[str, Any],
    ) -> int:
        """The exit status of what was typed; what is wrong is said."""
        try:
            _only_text(sys.argv[1:] if args is None else args)
            status = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)  # noqa: FBT003  as above
            status = int(status or 0)
            if status == Exit.INTERRUPTED:
                print("interrupted: what was printed is done", file=sys.stderr)
        except TyperException as failure:
            status = failure.exit_code
            _say(failure)
        except Abort:
            status = int(Exit.INTERRUPTED)
            print("interrupted: nothing was answered", file=sys.stderr)
        return status


def _print_no_more(error: OSError) -> None:
    """Say why, unless whoever read has left, and let nothing that is held back be written."""
    if error.errno != errno.EPIPE:
        with suppress(OSError):
            print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in (sys.stdout, sys.stderr):
        os.dup2(nowhere, output.fileno())


def _only_text(arguments: Sequence[str]) -> None:
    """Refuse what is no text: nothing that is sent, or printed, could hold it."""
    for number, argument in enumerate(arguments, 1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise Failure(Exit.USAGE, f"word {number} of the command line is no text in UTF-8") from None


def _say(failure: TyperException) -> None:
    """What is wrong, on one line, and what may be done about it on another."""
    # What was printed comes first, also where both go to the same place.
    sys.stdout.flush()
    kind = "interrupted" if failure.exit_code == Exit.INTERRUPTED else "error"
    print(f"{kind}: {_one_line(failure)}", file=sys.stderr)
    if hint := getattr(failure, "hint", ""):
        print(f"hint: {hint}", file=sys.stderr)


def _one_line(failure: TyperException) -> str:
    """What is wrong, and where help is for whoever mistyped."""
    message = " ".join(failure.format_message().split())
    command = getattr(getattr(failure, "ctx", None), "command_path", None)
    return f"{message.rstrip('.')} (see `{command} --help`)" if command else message
