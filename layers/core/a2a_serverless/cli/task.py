"""The commands `a2a-serverless task …`, as they are typed. What each does is loaded when it runs."""

from typing import Annotated

import typer

from a2a_serverless.cli.calling_options import ADDRESS, Calling, calls_agents, parted
from a2a_serverless.cli.completing import states
from a2a_serverless.cli.help_pages import Command, Group

app = typer.Typer(no_args_is_help=False, cls=Group)

TaskWords = Annotated[
    list[str] | None, typer.Argument(metavar="[URL] TASK", help=f"{ADDRESS} TASK is the task's id.")
]


@app.callback(invoke_without_command=True)
def task(context: typer.Context) -> None:
    """See to tasks: read one, list them, cancel one, follow one."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("get", cls=Command)
@calls_agents
def get(
    words: TaskWords = None,
    *,
    calling: Calling,
    history: Annotated[
        int | None, typer.Option("--history", metavar="N", min=0, help="The last N messages, too.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Save the artifacts in DIR.")
    ] = None,
) -> None:
    """Print a task as it stands: what it is about, what was said, what was made.

    With --json it is the task as the protocol has it.
    """
    address, (name,) = parted(words or (), "TASK")
    from a2a_serverless.cli.tasks import get_task  # noqa: PLC0415  loaded when it runs

    get_task(calling, address, name, history=history, out=out)


@app.command("list", cls=Command)
@calls_agents
def list_(
    words: Annotated[list[str] | None, typer.Argument(metavar="[URL]", help=ADDRESS)] = None,
    *,
    calling: Calling,
    conversation: Annotated[
        str | None, typer.Option("--context", metavar="CONTEXT", help="Those of one conversation.")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="Those in a state, such as working or input-required.",
            autocompletion=states,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="Those whose state changed then or later: 2026-11-30T12:00Z."
        ),
    ] = None,
    page_size: Annotated[
        int | None, typer.Option("--page-size", metavar="N", min=1, max=100, help="So many at once.")
    ] = None,
    page_token: Annotated[
        str | None, typer.Option("--page-token", metavar="TOKEN", help="Where the page before ended.")
    ] = None,
    artifacts: Annotated[bool, typer.Option("--artifacts", help="With what they made, in --json.")] = False,
) -> None:
    """List your tasks, those first whose state changed last.

    Ids are shown whole. Where there are more, the command line for the next page is printed, too.
    """
    address, _ = parted(words or ())
    from a2a_serverless.cli.tasks import Filter, list_tasks  # noqa: PLC0415  loaded when it runs

    wanted = Filter(conversation, state, since, page_size, page_token, artifacts)
    list_tasks(calling, address, wanted)


@app.command("cancel", cls=Command)
@calls_agents
def cancel(words: TaskWords = None, *, calling: Calling) -> None:
    """Cancel a task that has not ended."""
    address, (name,) = parted(words or (), "TASK")
    from a2a_serverless.cli.tasks import cancel_task  # noqa: PLC0415  loaded when it runs

    cancel_task(calling, address, name)


@app.command("subscribe", cls=Command)
@calls_agents
def subscribe(
    words: TaskWords = None,
    *,
    calling: Calling,
    last_event_id: Annotated[
        str | None, typer.Option("--last-event-id", metavar="ID", help="Go on after this event.")
    ] = None,
    until_ended: Annotated[
        bool, typer.Option("--until-ended", help="Follow a task that waits on, until it has ended.")
    ] = False,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Save the artifacts in DIR.")
    ] = None,
) -> None:
    """Follow a task from where it stands, until it has ended or waits for you.

    Shows what `call --stream` shows, and ends with the same exit statuses. With --json there is one object a
    line. Ctrl-C leaves the task at work.
    """
    address, (name,) = parted(words or (), "TASK")
    from a2a_serverless.cli.session import Session, follow_task  # noqa: PLC0415  loaded when it runs

    session = Session(calling, stream=True, until_ended=until_ended, out=out)
    raise typer.Exit(follow_task(session, address, name, last_event_id))
