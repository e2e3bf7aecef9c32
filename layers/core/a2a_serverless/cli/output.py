"""How commands print: one JSON object for programs, a table for people, and no character that is not text.

Much of what is shown was said by callers and receivers. Knows no command.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from a2a_serverless.protocol.scalars import print_timestamp

GAP = "  "


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    print(json.dumps(value, indent=2))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a line a row or, on a terminal too narrow for the longest, a block a row; nothing is cut off."""
    console = Console(highlight=False)
    table = [columns, *([shown(cell) for cell in row] for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    if console.is_terminal and sum(widths) + len(GAP) * (len(widths) - 1) > console.width:
        _print_blocks(console, columns, table[1:])
        return
    for number, row in enumerate(table):
        line = GAP.join(set_cell_size(*cell) for cell in zip(row, widths, strict=True))
        console.print(Text(line.rstrip(), style="" if number else "bold"), soft_wrap=True)


def _print_blocks(console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    label = max(map(len, columns))
    for row in rows:
        for name, cell in zip(columns, row, strict=True):
            console.print(Text.assemble((f"{name:{label}}", "bold"), GAP, cell), soft_wrap=True)
        console.print()


def shown(text: str) -> str:
    """The text without characters that would do something to a terminal."""
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in text)


def readable(text: str) -> str:
    """As above, in lines."""
    return "\n".join(map(shown, text.expandtabs(4).split("\n")))


def note(text: str) -> None:
    """Say something beside what was asked for, on standard error."""
    sys.stdout.flush()
    print(text, file=sys.stderr)


def moment(at: datetime | None) -> str:
    """The moment to the second, in UTC."""
    return f"{print_timestamp(at)[:19]}Z" if at else ""


def number(count: int, one: str, more: str) -> str:
    """`1 letter`, `2 letters`."""
    return f"{count:,} {one if count == 1 else more}"
