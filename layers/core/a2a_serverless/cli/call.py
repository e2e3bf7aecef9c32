"""The command `a2a-serverless call`, as it is typed. What it does is loaded when it runs."""

from typing import Annotated

import typer

from a2a_serverless.cli.calling_options import ADDRESS, Calling, calls_agents
from a2a_serverless.cli.exits import Exit, Failure

SAYING, WAITING = "What is said", "What is waited for"


@calls_agents
def call(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[URL] TEXT", help=f"{ADDRESS} TEXT is what is said; - reads it from input."),
    ] = None,
    *,
    calling: Calling,
    files: Annotated[
        list[str] | None,
        typer.Option("--file", metavar="FILE", rich_help_panel=SAYING, help="Send a file. May be repeated."),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="JSON", rich_help_panel=SAYING, help="Send JSON, or that in @FILE."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="TASK", rich_help_panel=SAYING, help="Say it to a task that waits."),
    ] = None,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--context", metavar="CONTEXT", rich_help_panel=SAYING, help="Say it in a conversation."
        ),
    ] = None,
    skill: Annotated[
        str | None,
        typer.Option(
            "--skill",
            metavar="SKILL",
            rich_help_panel=SAYING,
            help="The skill it is for; finds a route, too.",
        ),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option("--tag", metavar="TAG", rich_help_panel=SAYING, help="The tag of a route to take."),
    ] = None,
    allow: Annotated[
        bool | None,
        typer.Option(
            "--allow/--deny", rich_help_panel=SAYING, help="Decide about the permission that TASK asks for."
        ),
    ] = None,
    message_id: Annotated[
        str | None,
        typer.Option(
            "--message-id",
            metavar="ID",
            rich_help_panel=SAYING,
            help="The message's id: what is sent twice under one counts once.",
        ),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            "--accept",
            metavar="TYPE",
            rich_help_panel=SAYING,
            help="A media type that is wanted. May be repeated.",
        ),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", rich_help_panel=WAITING, help="Show what happens while it does.")
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait/--no-wait", rich_help_panel=WAITING, help="Wait for the end, or for a question."
        ),
    ] = True,
    ask: Annotated[
        bool,
        typer.Option(
            "--input/--no-input", rich_help_panel=WAITING, help="Ask you what the agent asks, on a terminal."
        ),
    ] = True,
    cancel: Annotated[
        bool,
        typer.Option("--cancel-on-interrupt", rich_help_panel=WAITING, help="Cancel the task on Ctrl-C."),
    ] = False,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", rich_help_panel=WAITING, help="Save the artifacts in DIR."),
    ] = None,
) -> None:
    """Say something to an agent, and print what comes of it.

    What the agent makes goes to standard output, and where the task stands to standard error. A question is
    asked on a terminal and answered by the next line; elsewhere the exit status says that there is one. So is
    a permission. A task that waits for an authorisation goes on when its agent learns of it, or is told with
    --task. With --stream progress, tools and artifacts show as they grow; with --json as well there is
    one object a line for everything that happens, without --stream the task as it is in the end.

    Ctrl-C leaves the task at work and says how to follow it. Agents that do not stream are looked at every
    other second. A file of more than a mebibyte is uploaded where the agent's card offers that.
    """
    other = files or data or (words and not words[-1].startswith(("https://", "http://")))
    if allow is not None and (task is None or other):
        raise Failure(Exit.USAGE, "--allow and --deny decide for a --task, and say nothing else")
    if stream and not wait:
        raise Failure(Exit.USAGE, "--stream shows what --no-wait does not wait for")
    from a2a_serverless.cli.session import Saying, Session, hold  # noqa: PLC0415  loaded when it runs

    saying = Saying(
        words=words or (),
        files=files or (),
        data=data or (),
        task=task,
        conversation=conversation,
        skill=skill,
        tag=tag,
        allow=allow,
        message_id=message_id,
        accept=accept or (),
    )
    session = Session(calling, stream=stream, wait=wait, ask=ask, cancel=cancel, out=out)
    raise typer.Exit(hold(session, saying))
