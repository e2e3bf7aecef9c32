"""The command `a2a-serverless new`, as it is typed. What it does is loaded when it runs."""

from typing import Annotated

import typer

from a2a_serverless.cli.options import AsJson


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What the agent is called, such as order-desk.")
    ],
    *,
    directory: Annotated[
        str | None,
        typer.Option("--directory", metavar="DIR", help="Make a project of its own in DIR, checkout or not."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make an agent of your own: a package, a test that passes, and what deploys it.

    In a checkout of a2a-serverless the package lies in layers/agents, its test beside those of other agents,
    and samconfig.toml gets an environment to deploy it by. Anywhere else it is a project in a directory of
    that name. Nothing that exists is overwritten.
    """
    from a2a_serverless.cli.scaffolding import make_agent  # noqa: PLC0415  loaded when it runs

    make_agent(name, directory, as_json=as_json)
