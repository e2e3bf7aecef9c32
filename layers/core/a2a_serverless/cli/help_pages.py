"""How a command's help is set: its options, and the commands below it, under headings of what they are for.

The heading is what typer calls `rich_help_panel`; what has none stands under the usual one. Knows no command.
"""

import re
from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand, TyperGroup

Record = tuple[str, str]
"""Something that can be typed, and what it means."""

KIND = re.compile(r" <.*>$")
"""The kind of an argument's value, in Python's words."""

ARGUMENTS, OPTIONS, COMMANDS = "Arguments", "Options", "Commands"


class Command(TyperCommand):
    """A command whose options stand under headings."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401  typer's own, which are private
        """What is typed; of several words as their description has it."""
        pieces = super().collect_usage_pieces(ctx)
        return [piece[1:-4] if piece.endswith("]...") and " " in piece else piece for piece in pieces]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  typer's own, which are private
        """Write the options."""
        _write(formatter, _parameters(self, ctx))


class Group(TyperGroup):
    """A group whose commands stand under headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  as above
        """Write the commands, each with its whole first sentence, and then the options."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        shown = [(name, each) for name, each in found if each is not None and not each.hidden]
        commands = [(_heading(each, COMMANDS), (name, _sentence(each.help))) for name, each in shown]
        _write(formatter, [*commands, *_parameters(self, ctx)])


def _parameters(command: Any, ctx: Any) -> Iterable[tuple[str, Record]]:  # noqa: ANN401  as above
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            if parameter.param_type_name == "argument":
                record = (KIND.sub("", record[0]), record[1])
            usual = ARGUMENTS if parameter.param_type_name == "argument" else OPTIONS
            yield _heading(parameter, usual), record


def _heading(of: Any, usual: str) -> str:  # noqa: ANN401  a parameter or a command
    return getattr(of, "rich_help_panel", None) or usual


def _write(formatter: Any, records: Iterable[tuple[str, Record]]) -> None:  # noqa: ANN401  as above
    """Write what there is under each heading, in the order in which the headings come; the usual one last."""
    sections: dict[str, list[Record]] = {}
    for heading, record in records:
        sections.setdefault(heading, []).append(record)
    for heading in sorted(sections, key=lambda each: each == OPTIONS):
        with formatter.section(heading):
            formatter.write_dl(sections[heading])


def _sentence(text: str | None) -> str:
    """The first sentence."""
    first = " ".join((text or "").split("\n\n", 1)[0].split())
    return f"{first.split('. ', 1)[0].rstrip('.')}."
