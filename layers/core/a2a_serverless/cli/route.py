"""The commands `a2a-serverless route …`, as they are typed. What each does is loaded when it runs."""

from typing import Annotated

import typer

from a2a_serverless.cli.calling_options import RouteList, RoutesPlace
from a2a_serverless.cli.help_pages import Command, Group
from a2a_serverless.cli.options import AsJson, EndpointUrl, Profile, Region, Stack

app = typer.Typer(no_args_is_help=False, cls=Group)

Config = Annotated[
    str | None,
    typer.Option(
        "--config", metavar="FILE", envvar="A2A_CONFIG", help="Configuration, in place of the usual."
    ),
]


@app.callback(invoke_without_command=True)
def route(context: typer.Context) -> None:
    """See to routes: which agent a message is for, and where that is kept."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("preview", cls=Command)
def preview(
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]", help="What is to be said; its words find a route.")
    ] = None,
    *,
    routes: RouteList = None,
    kept: RoutesPlace = None,
    name: Annotated[str | None, typer.Option("--route-name", metavar="NAME", help="By its name.")] = None,
    skill: Annotated[str | None, typer.Option("--skill", metavar="SKILL", help="By a skill.")] = None,
    tag: Annotated[str | None, typer.Option("--tag", metavar="TAG", help="By a tag.")] = None,
    config: Config = None,
    as_json: AsJson = False,
    stack: Stack = None,
    region: Region = None,
    profile: Profile = None,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Print the route that a message would take, and why; without any of it, all routes there are.

    Routes are typed (--route), configured ([[routes]]) or kept (`route save`). A name, a skill or a tag must
    be the route's; words decide between those that are left, and must be its name or one of its tags. Of one
    route alone is said that it is meant: else the exit status is 2 or 3, and the candidates are named.
    """
    from a2a_serverless.cli.routing import Reach, preview_route  # noqa: PLC0415  loaded when it runs
    from a2a_serverless.client.routes import Wanted  # noqa: PLC0415  as above

    reach = Reach(context, stack, region, profile, endpoint_url)
    wanted = Wanted(name, skill, tag, " ".join(words or ()))
    preview_route(reach, routes or (), kept, config, wanted, as_json=as_json)


@app.command("save", cls=Command)
def save(
    context: typer.Context,
    *,
    routes: RouteList = None,
    kept: RoutesPlace = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="NAME", help="Take the route of this name out. May be repeated."),
    ] = None,
    as_json: AsJson = False,
    stack: Stack = None,
    region: Region = None,
    profile: Profile = None,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Keep routes for later, in place of those of the same names.

    They are kept in a file of your own unless --routes says another, or with registry:NAME in the table of a
    deployment, where everybody who may read it finds them. Routes hold no credentials.
    """
    from a2a_serverless.cli.routing import Reach, save_routes  # noqa: PLC0415  loaded when it runs

    reach = Reach(context, stack, region, profile, endpoint_url)
    save_routes(reach, routes or (), kept, remove or (), as_json=as_json)
