"""The command `a2a-serverless invoke`, as it is typed. What it does is loaded when it runs."""

from typing import Annotated

import typer

from a2a_serverless.cli.completing import events, functions
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.options import AsJson
from a2a_serverless.cli.serve import Parameters, Quiet


def invoke(
    function: Annotated[
        str | None,
        typer.Argument(
            metavar="FUNCTION", help="A folder of functions/, such as jsonrpc.", autocompletion=functions
        ),
    ] = None,
    *,
    event: Annotated[
        str | None,
        typer.Option(
            "-e",
            "--event",
            metavar="EVENT",
            help="A file, the name of one in events/, or - for input.",
            autocompletion=events,
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="MODULE:ATTR", help="The agent that turns run.")
    ] = None,
    parameters: Parameters = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run one function on one event, on this machine, without Docker.

    Without FUNCTION the functions and the example events are listed; without an event those of the function.
    A deployment of its own is made for the event, runs the function on the runtime loop that deployments
    use, and is gone afterwards; what the functions log goes to standard error.
    """
    from a2a_serverless.cli.invoking import invoke_function, list_functions  # noqa: PLC0415  loaded when it runs

    if event is None:
        list_functions(function, as_json=as_json)
        return
    if function is None:
        raise Failure(
            Exit.USAGE, "say which function the event is for: a2a-serverless invoke FUNCTION -e EVENT"
        )
    arguments = ["--agent", agent] if agent else []
    arguments += [word for value in parameters or () for word in ("--parameter", value)]
    arguments += ["--quiet"] if quiet else []
    raise typer.Exit(invoke_function(function, event, arguments, as_json=as_json))
