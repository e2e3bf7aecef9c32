"""The command `a2a-serverless` itself: its groups, its version, and how it is entered."""

from typing import Annotated

import typer

from a2a_serverless.cli import card, push
from a2a_serverless.cli.commands import Commands

NAME = "a2a-serverless"

app = typer.Typer(
    name=NAME,
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.add_typer(card.app, name="card")
app.add_typer(push.app, name="push")


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
    """Operate deployments of a2a-serverless."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    """Run the command line and leave with its exit status."""
    app(prog_name=NAME)
