"""The command `a2a-serverless serve`, as it is typed. What it does is loaded when it runs."""

from typing import Annotated

import typer

from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.options import AsJson

Tokens = Annotated[
    list[str] | None,
    typer.Option("--token", metavar="NAME=TOKEN", help="A caller and its bearer token. May be repeated."),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--parameter", metavar="NAME=VALUE", help="A parameter of template.yaml. May be repeated."),
]
LogDirectory = Annotated[
    str | None,
    typer.Option("--log-dir", metavar="DIR", help="Write the functions' log lines to DIR/<function>.log."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not show the functions' log lines.")]


def serve(
    agent: Annotated[
        str | None,
        typer.Argument(metavar="MODULE:ATTR", help="The agent to serve; else the order fulfilment agent."),
    ] = None,
    *,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 is a free one.")
    ] = 8080,
    profile: Annotated[
        str | None,
        typer.Option("--profile", metavar="PROFILE", help="Who may call: `default` or `conformance`."),
    ] = None,
    tokens: Tokens = None,
    credentials: Annotated[
        str | None,
        typer.Option("--credentials", metavar="FILE", help="An access document: callers by other means too."),
    ] = None,
    turn_timeout: Annotated[
        float | None,
        typer.Option("--turn-timeout", metavar="SECONDS", help="Kill a turn's process after this time."),
    ] = None,
    buffered: Annotated[
        bool, typer.Option("--buffered", help="Answer in one piece, as with Streaming=buffered.")
    ] = False,
    loopback_webhooks: Annotated[
        bool, typer.Option("--loopback-webhooks", help="Let webhooks point at this machine.")
    ] = False,
    sign_card: Annotated[
        bool, typer.Option("--sign-card", help="Sign the card by a key of its own.")
    ] = False,
    parameters: Parameters = None,
    quiet: Quiet = False,
    log_directory: LogDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Run the whole deployment on this machine, with no AWS account and no Docker.

    Needs a checkout of the sources: the one you are in, or the one this command runs from. An agent is
    importable from the directory you are in, and from layers/agents. Prints `ready URL` when it serves, and
    `aws URL`, which is the --endpoint-url of commands that operate it; Ctrl-C ends it. With --json both are
    said in one object, and everything else on standard error.

    Callers are all one unless --token or --credentials names them.
    """
    if as_json and quiet:
        raise Failure(Exit.USAGE, "--quiet says nothing of the address that --json is to tell")
    from a2a_serverless.cli.serving import serve_stack  # noqa: PLC0415  loaded when it runs

    given = {
        "--port": str(port),
        "--agent": agent,
        "--profile": profile,
        "--credentials": credentials,
        "--turn-timeout": None if turn_timeout is None else str(turn_timeout),
        "--log-dir": log_directory,
    }
    flags = {
        "--buffered": buffered,
        "--loopback-webhooks": loopback_webhooks,
        "--sign-card": sign_card,
        "--quiet": quiet,
    }
    arguments = [word for name, value in given.items() if value is not None for word in (name, value)]
    arguments += [name for name, wanted in flags.items() if wanted]
    arguments += [word for value in tokens or () for word in ("--token", value)]
    arguments += [word for value in parameters or () for word in ("--parameter", value)]
    raise typer.Exit(serve_stack(arguments, as_json=as_json))
