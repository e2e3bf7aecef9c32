"""What a command is given beside its options: files, standard input, secrets that are not typed."""

import os
import sys
from pathlib import Path

from a2a_serverless.cli.exits import Exit, Failure


def read_given(place: str) -> bytes:
    """The file of that name, or standard input for a hyphen.

    Raises:
        Failure: it cannot be read.
    """
    if place == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(place).read_bytes()
    except OSError as error:
        raise Failure(Exit.NOTHING, f"{place} cannot be read: {error.strerror or error}") from error


def read_secret(text: str) -> bytes:
    """A secret as it is given: `@FILE`, whose last line end does not count, `env:NAME`, or itself.

    Raises:
        Failure: it is not there.
    """
    if text.startswith("@"):
        return read_given(text[1:]).removesuffix(b"\n").removesuffix(b"\r")
    kind, _, name = text.partition(":")
    if kind == "env":
        if name not in os.environ:
            raise Failure(Exit.NOTHING, f"there is no variable {name}")
        return os.environ[name].encode()
    return text.encode()
