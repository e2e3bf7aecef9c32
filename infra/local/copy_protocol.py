"""What the stack and the process it has copied agree on: names and sizes, nothing that runs."""

from typing import Final

MAX_MESSAGE_BYTES: Final = 256 * 1024
"""Largest message on the socket between them."""

ROOM: Final = "FORKING_ROOM"
"""A variable whose length is room for a copy's environment."""
