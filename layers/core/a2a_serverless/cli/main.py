"""The command `a2a-serverless` itself: its groups, its version, and how it is entered."""

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from a2a_serverless.cli import card, push, route, task
from a2a_serverless.cli.call import call
from a2a_serverless.cli.commands import Commands
from a2a_serverless.cli.discover import discover, extended_card, upload
from a2a_serverless.cli.help_pages import Command
from a2a_serverless.cli.invoke import invoke
from a2a_serverless.cli.new import new
from a2a_serverless.cli.serve import serve

NAME = "a2a-serverless"

BUILD = "Build an agent and run it here"
CALL = "Call agents"
FOLLOW = "See to what they do"
FIND = "Find the right one, and trust it"

app = typer.Typer(
    name=NAME,
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command("new", cls=Command, rich_help_panel=BUILD)(new)
app.command("serve", cls=Command, rich_help_panel=BUILD)(serve)
app.command("invoke", cls=Command, rich_help_panel=BUILD)(invoke)
app.command("call", cls=Command, rich_help_panel=CALL)(call)
app.command("discover", cls=Command, rich_help_panel=CALL)(discover)
app.command("extended-card", cls=Command, rich_help_panel=CALL)(extended_card)
app.command("upload", cls=Command, rich_help_panel=CALL)(upload)
app.add_typer(task.app, name="task", rich_help_panel=FOLLOW)
app.add_typer(push.app, name="push", rich_help_panel=FOLLOW)
app.add_typer(route.app, name="route", rich_help_panel=FIND)
app.add_typer(card.app, name="card", rich_help_panel=FIND)


def _print_version(wanted: bool) -> None:  # noqa: FBT001  typer's own signature
    if wanted:
        # A tenth of a second that nobody else needs.
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

        try:
            print(f"{NAME} {version(NAME)}")
        except PackageNotFoundError:
            print(f"{NAME}, from its sources")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def command(
    context: typer.Context,
    *,
    _: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """Build, call and operate agents that speak A2A.

    An agent of your own, running and called, in three commands:

    \b
      a2a-serverless new order-desk
      a2a-serverless serve order_desk.agent:agent
      a2a-serverless call http://127.0.0.1:8080 "Good morning"
    """  # noqa: D301  \b keeps the lines below it as they are
    if context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    """Run the command line and leave with its exit status."""
    _open_what_is_closed()
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            # What cannot be written as it is, is written as what it is.
            output.reconfigure(errors="backslashreplace")
    app(prog_name=NAME)


def _open_what_is_closed() -> None:
    """Stand in for standard streams that this was started without: nothing to read, and nowhere to write."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  for as long as this runs
