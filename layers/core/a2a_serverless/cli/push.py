"""The commands `a2a-serverless push …`, as they are typed. What each does is loaded when it runs."""

from typing import Annotated

import typer

from a2a_serverless.cli.calling_options import ADDRESS, FORMS, Calling, calls_agents, parted
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.help_pages import Command, Group
from a2a_serverless.cli.operating import operating
from a2a_serverless.cli.options import AsJson, EndpointUrl, Profile, Region, Stack

app = typer.Typer(no_args_is_help=False, cls=Group)

CALLERS, OPERATORS = "Of a task, as its caller", "Of a deployment, as its operator"

ConfigWords = Annotated[
    list[str] | None,
    typer.Argument(metavar="[URL] TASK CONFIG", help=f"{ADDRESS} TASK and CONFIG are ids."),
]


@app.callback(invoke_without_command=True)
def push(context: typer.Context) -> None:
    """See to webhooks: register them for a task, give dead ones another chance."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("create", cls=Command, rich_help_panel=CALLERS)
@calls_agents
def create(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[URL] TASK WEBHOOK", help=f"{ADDRESS} WEBHOOK is where events are posted to."
        ),
    ] = None,
    *,
    calling: Calling,
    config_id: Annotated[
        str | None, typer.Option("--id", metavar="CONFIG", help="Its id; one that is there is replaced.")
    ] = None,
    notification_token: Annotated[
        str | None,
        typer.Option("--notification-token", metavar="SECRET", help=f"What it is shown with events: {FORMS}"),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option("--auth-scheme", metavar="SCHEME", help="How the agent says who it is: Bearer."),
    ] = None,
    credentials: Annotated[
        str | None, typer.Option("--auth-credentials", metavar="SECRET", help="With what, as above.")
    ] = None,
) -> None:
    """Have the events of a task posted to a webhook.

    Prints the webhook's id. Neither secret is ever shown again.
    """
    address, (task, webhook) = parted(words or (), "TASK", "WEBHOOK")
    from a2a_serverless.cli.webhooks import Registering, create_webhook  # noqa: PLC0415  loaded when it runs

    registering = Registering(task, webhook, config_id, notification_token, scheme, credentials)
    create_webhook(calling, address, registering)


@app.command("get", cls=Command, rich_help_panel=CALLERS)
@calls_agents
def get(words: ConfigWords = None, *, calling: Calling) -> None:
    """Print one webhook of a task."""
    address, (task, config) = parted(words or (), "TASK", "CONFIG")
    from a2a_serverless.cli.webhooks import get_webhook  # noqa: PLC0415  loaded when it runs

    get_webhook(calling, address, task, config)


@app.command("list", cls=Command, rich_help_panel=CALLERS)
@calls_agents
def list_(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[URL] TASK", help=f"{ADDRESS} TASK is the task's id.")
    ] = None,
    *,
    calling: Calling,
    page_size: Annotated[
        int | None, typer.Option("--page-size", metavar="N", min=1, max=100, help="So many at once.")
    ] = None,
    page_token: Annotated[
        str | None, typer.Option("--page-token", metavar="TOKEN", help="Where the page before ended.")
    ] = None,
) -> None:
    """List the webhooks of a task."""
    address, (task,) = parted(words or (), "TASK")
    from a2a_serverless.cli.webhooks import list_webhooks  # noqa: PLC0415  loaded when it runs

    list_webhooks(calling, address, task, page_size=page_size, page_token=page_token)


@app.command("delete", cls=Command, rich_help_panel=CALLERS)
@calls_agents
def delete(words: ConfigWords = None, *, calling: Calling) -> None:
    """Take a webhook away from a task; quiet when it is gone already."""
    address, (task, config) = parted(words or (), "TASK", "CONFIG")
    from a2a_serverless.cli.webhooks import delete_webhook  # noqa: PLC0415  loaded when it runs

    delete_webhook(calling, address, task, config)


@app.command("dead-letters", cls=Command, rich_help_panel=OPERATORS)
def dead_letters(
    context: typer.Context,
    *,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="Show at most so many.")
    ] = 100,
    as_json: AsJson = False,
    stack: Stack = None,
    region: Region = None,
    profile: Profile = None,
    endpoint_url: EndpointUrl = None,
) -> None:
    """List the webhooks that were given up, the longest dead first, and why.

    An alarm is on while letters lie in the queue of dead letters: one for every webhook that was given up,
    until it is redriven. On a terminal too narrow for the table each webhook is shown below the other;
    nothing is cut off.
    """
    with operating(context, stack, region, profile, endpoint_url) as operator:
        from a2a_serverless.cli.dead_letters import show  # noqa: PLC0415  loaded when it runs

        show(operator, limit, as_json=as_json)


@app.command("redrive", cls=Command, rich_help_panel=OPERATORS)
def redrive(
    context: typer.Context,
    *,
    task: Annotated[
        str | None, typer.Option("--task", metavar="TASK", help="Redrive dead webhooks of this task.")
    ] = None,
    config: Annotated[
        str | None, typer.Option("--config", metavar="CONFIG", help="Of these the one of this id.")
    ] = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="TENANT", help="The task's tenant, if it has one.")
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option("--owner", metavar="OWNER", help="The task's owner, as dead-letters shows it."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Redrive every dead webhook.")] = False,
    as_json: AsJson = False,
    stack: Stack = None,
    region: Region = None,
    profile: Profile = None,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Give dead webhooks another chance, each from the event at which it stopped.

    Give either --task, with --config for one of its webhooks, or --all. Tenant and owner are found out
    unless several tasks have that id. Letters in the queue of dead letters that no dead webhook needs any
    more are taken out, so that the alarm ends. Doing it again is harmless.
    """
    if everything == (task is not None):
        raise Failure(Exit.USAGE, "give either --task or --all (see `a2a-serverless push redrive --help`)")
    if task is None and (config, tenant, owner) != (None, None, None):
        raise Failure(Exit.USAGE, "--config, --tenant and --owner go with --task, not with --all")
    with operating(context, stack, region, profile, endpoint_url) as operator:
        from a2a_serverless.cli.redriving import Choice, redrive_chosen  # noqa: PLC0415  loaded when it runs

        choice = None if task is None else Choice(task, config, tenant, owner)
        redrive_chosen(operator, choice, as_json=as_json)


@app.command("rotate-key", cls=Command, rich_help_panel=OPERATORS)
def rotate_key(
    context: typer.Context,
    *,
    leaked: Annotated[
        bool, typer.Option("--leaked", help="Trust the keys before it no longer than must be.")
    ] = False,
    as_json: AsJson = False,
    stack: Stack = None,
    region: Region = None,
    profile: Profile = None,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Let a new key sign webhooks: published now, it signs in an hour.

    The one before stays published for those who verify late. With --leaked the new key signs in ten minutes,
    and a minute later the others are published no more; what they signed and is verified later is lost.
    Keys change by themselves every 90 days (parameter SigningKeyDays).
    """
    with operating(context, stack, region, profile, endpoint_url) as operator:
        from a2a_serverless.cli.key_rotation import rotate_keys  # noqa: PLC0415  loaded when it runs

        rotate_keys(operator, leaked=leaked, as_json=as_json)
