"""`a2a-serverless route preview|save`: which agent a message is for, and the routes that are kept."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import typer

from a2a_serverless.cli.agent_choice import chosen_route, known_routes, usable
from a2a_serverless.cli.configuration import configured
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.kept_routes import KIND, Registry, keep_routes, members
from a2a_serverless.cli.operating import keeping
from a2a_serverless.cli.output import print_json, print_table, shown
from a2a_serverless.client.routes import Route, RouteFormError, Wanted, parse_route


class Reach(NamedTuple):
    """How the registry of a deployment is reached, as it was typed."""

    context: typer.Context
    stack: str | None
    region: str | None
    profile: str | None
    endpoint_url: str | None

    def registry(self) -> Registry:
        """The registry."""
        return partial(keeping, *self, kind=KIND)


def preview_route(
    reach: Reach, typed: Sequence[str], kept: str | None, config: str | None, wanted: Wanted, *, as_json: bool
) -> None:
    """Print the route that is meant, or all where nothing is said.

    Raises:
        Failure: it is not clear which, or there is none.
    """
    known = known_routes(typed, configured(config), kept, reach.registry())
    if wanted == Wanted():
        _print([route for route, _ in known], as_json=as_json)
        return
    choice, block = chosen_route(known, wanted)
    place = block.place if block is not None else "as typed or kept"
    if as_json:
        print_json({**members(choice.route), "by": choice.reason, "place": place})
        return
    print(shown(f"{choice.route.name}  {choice.route.url}"))
    print(shown(f"by {choice.reason} ({place})"))


def save_routes(
    reach: Reach, typed: Sequence[str], kept: str | None, removed: Sequence[str], *, as_json: bool
) -> None:
    """Keep the routes and say where.

    Raises:
        Failure: there is nothing to keep, or it cannot be kept.
    """
    if not typed and not removed:
        raise Failure(Exit.USAGE, "say what to keep: --route NAME=URL;skills=A,B;tags=X,Y")
    try:
        new = [parse_route(text) for text in typed]
    except RouteFormError as error:
        raise Failure(Exit.USAGE, f"--route: {error}") from error
    for route in new:
        usable(route.url)

    def changed(before: Sequence[Route]) -> list[Route]:
        unknown = sorted(set(removed) - {route.name for route in before})
        if unknown:
            raise Failure(Exit.NOTHING, f"no route {', '.join(unknown)} is kept there")
        replaced = {*removed, *(route.name for route in new)}
        return [*(route for route in before if route.name not in replaced), *new]

    place, routes = keep_routes(kept, reach.registry(), changed)
    if as_json:
        print_json({"place": place, "routes": [members(route) for route in routes]})
        return
    _print(routes, as_json=False)
    print(f"kept in {place}")


def _print(routes: Sequence[Route], *, as_json: bool) -> None:
    if as_json:
        print_json({"routes": [members(route) for route in routes]})
    elif not routes:
        print("No route.")
    else:
        rows = [[each.name, each.url, ", ".join(each.skills), ", ".join(each.tags)] for each in routes]
        print_table(["route", "address", "skills", "tags"], rows)
