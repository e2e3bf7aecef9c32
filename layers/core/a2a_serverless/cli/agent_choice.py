"""Which agent is called, as whom, and whom to trust about it, as typed, set and configured.

What is typed counts more than the environment, that more than the file of the directory one is in, that more
than one's own file. What a file says of an agent counts for its address only, so that no file can have the
credentials of another shown to somebody else. Loads what calls agents: only commands that run import this.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from a2a_serverless.cli.calling_options import Calling
from a2a_serverless.cli.configuration import CREDENTIALS, Block, Configured, configured
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.given import read_secret
from a2a_serverless.cli.kept_routes import KIND, Registry, kept_routes
from a2a_serverless.cli.operating import keeping
from a2a_serverless.client.options import origin_of
from a2a_serverless.client.routes import (
    AmbiguousRouteError,
    Choice,
    Route,
    RouteFormError,
    RoutingError,
    Wanted,
    choose,
    parse_route,
)

TYPED = (
    *CREDENTIALS,
    "tenant",
    "api_key_header",
    "jwks",
    "trust_jku",
    "require_signature",
    "timeout",
    "extensions",
)
NO_ADDRESS = "say which agent: its URL, A2A_URL, --route-name, or url in a2a-serverless.toml"


@dataclass(frozen=True)
class Said:
    """What one source says, and its name for people."""

    place: str
    values: Mapping[str, Any]

    def get(self, key: str) -> Any:  # noqa: ANN401  of the kind that the key has
        """What it says under a key, or None."""
        return self.values.get(key)


@dataclass(frozen=True)
class ChosenAgent:
    """The agent at an address, and all that is said of it, what counts more coming first."""

    url: str
    found_by: str
    sources: Sequence[Said | Block]
    route: str | None = None
    """The configured route it was found by, whose credentials count only for who names it."""

    options: Sequence[str] = ()
    """What else was typed that another command line needs to mean the same."""

    def get(self, key: str) -> Any:  # noqa: ANN401  of the kind that the key has
        """What counts under a key; None where nobody says."""
        return self.among(key)[1]

    def among(self, *keys: str) -> tuple[Said | Block | None, Any]:
        """The first source that says something under one of the keys, and what it says under the first."""
        for source in self.sources:
            said = [source.get(key) for key in keys]
            if any(each not in (None, (), [], {}) for each in said):
                return source, said[0]
        return None, None


def chosen_agent(calling: Calling, address: str | None, wanted: Wanted | None = None) -> ChosenAgent:
    """The agent that is meant. `wanted` is what else routes may be found by.

    Raises:
        Failure: none is said, or not which of several, or something that is configured makes no sense.
    """
    settings = configured(calling.config)
    by_name = wanted or Wanted()
    if calling.route_name is not None:
        by_name = Wanted(calling.route_name, by_name.skill, by_name.tag, by_name.prompt)
    addresses = [(address, "as typed")] if address else _addresses(calling, settings)
    by_route = bool(calling.routes) or by_name != Wanted(prompt=by_name.prompt)
    known = []
    if address is None and (by_route or not addresses):
        known = known_routes(calling.routes, settings, calling.kept_routes, _registry(calling))
    if known:
        choice, block = chosen_route(known, by_name)
        sources = _typed(calling) if block is None else [*_typed(calling), block]
        sources += _of(settings, choice.route.url)
        found_by = f"route {choice.route.name}, by {choice.reason}"
        route = choice.route.name if block is not None else None
        return ChosenAgent(usable(choice.route.url), found_by, sources, route, _typed_options(calling))
    if not addresses:
        raise Failure(Exit.USAGE, NO_ADDRESS)
    if calling.route_name is not None:
        raise Failure(Exit.USAGE, "give either a URL or --route-name" if address else "no route is known")
    url, found_by = addresses[0]
    sources = [*_typed(calling), *_of(settings, url)]
    return ChosenAgent(usable(url), found_by, sources, options=_typed_options(calling))


def known_routes(
    typed: Sequence[str], settings: Configured, kept: str | None, registry: Registry
) -> list[tuple[Route, Block | None]]:
    """Every route that is known: typed, configured, kept; of one name the first counts.

    Raises:
        Failure: one is not written as such.
    """
    try:
        routes: list[tuple[Route, Block | None]] = [(parse_route(text), None) for text in typed]
    except RouteFormError as error:
        raise Failure(Exit.USAGE, f"--route: {error}") from error
    for route, _ in routes:
        usable(route.url)
    routes += [(_route(block), block) for block in settings.routes]
    return [*routes, *((route, None) for route in kept_routes(kept, registry))]


def chosen_route(known: Sequence[tuple[Route, Block | None]], wanted: Wanted) -> tuple[Choice, Block | None]:
    """The route that is meant, and what is configured beside it.

    Raises:
        Failure: it is not clear which, or there is none.
    """
    try:
        choice = choose([route for route, _ in known], wanted)
    except RoutingError as error:
        status = Exit.USAGE if isinstance(error, AmbiguousRouteError) else Exit.NOTHING
        candidates = ", ".join(error.candidates)
        hint = f"candidates: {candidates}" if status is Exit.USAGE else f"known routes: {candidates}"
        raise Failure(status, str(error), hint if candidates else "no route is known") from error
    return choice, next(block for route, block in known if route is choice.route)


def usable(url: str) -> str:
    """The address, if an agent can be called there.

    Raises:
        Failure: it is none, or holds credentials.
    """
    if origin_of(url) is None:
        raise Failure(Exit.USAGE, f"{_without_secrets(url)} is no http or https address")
    if "@" in urlsplit(url).netloc:
        raise Failure(
            Exit.USAGE,
            "the address holds credentials, which addresses are shown with",
            "use --basic-username",
        )
    return url


def _typed_options(calling: Calling) -> Sequence[str]:
    said = {"tenant": calling.tenant, "config": calling.config}
    typed = {name: value for name, value in said.items() if value and not calling.from_environment(name)}
    return [word for name, value in typed.items() for word in (f"--{name}", value)]


def _registry(calling: Calling) -> Registry:
    """The registry of the deployment that the environment names."""
    endpoint_url = os.environ.get("AWS_ENDPOINT_URL")
    region = None if endpoint_url else os.environ.get("AWS_REGION")
    stack = os.environ.get("A2A_STACK")
    return partial(keeping, calling.context, stack, region, None, endpoint_url, kind=KIND)


def _without_secrets(url: str) -> str:
    return url.rpartition("@")[2].partition("?")[0] if "@" in url else url.partition("?")[0]


def _addresses(calling: Calling, settings: Configured) -> list[tuple[str, str]]:
    """The addresses that are said without a route, and by what, what counts more coming first."""
    found = [(calling.url, "A2A_URL" if calling.from_environment("url") else "--url")] if calling.url else []
    return [*found, *((block.get("url"), block.place) for block in settings.agents if block.get("url"))]


def _of(settings: Configured, url: str) -> Iterable[Block]:
    """The files that say something of this agent."""
    for block in settings.agents:
        own = block.values.get("url")
        if own is None or origin_of(block.get("url")) == origin_of(url):
            yield block


def _route(block: Block) -> Route:
    return Route(
        block.get("name"), usable(block.get("url")), block.get("skills") or (), block.get("tags") or ()
    )


def _typed(calling: Calling) -> list[Said | Block]:
    """What was typed, and what stands in the environment, with secrets read from where they are kept."""
    typed: dict[str, Any] = {}
    environment: dict[str, Any] = {}
    for key in TYPED:
        value = getattr(calling, key)
        if value in (None, ()):
            continue
        if calling.from_environment(key):
            environment[key] = value
        else:
            option = f"--{key.replace('_', '-')}"
            typed[key] = secret(option, value) if key in ("token", "basic_password", "api_key") else value
    if calling.headers:
        typed["headers"] = dict(_header(text) for text in calling.headers)
    return [Said("the command line", typed), Said("the environment", environment)]


def secret(option: str, text: str) -> str:
    """A secret as it is meant; what is wrong with it is said without a word of it.

    Raises:
        Failure: what it names cannot be read.
    """
    try:
        return read_secret(text).decode()
    except Failure as failure:
        raise Failure(Exit(failure.exit_code), f"{option}: what it names cannot be read") from None
    except UnicodeDecodeError as error:
        raise Failure(Exit.USAGE, f"{option}: what it names is no text") from error


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not (name.strip() and colon and value.strip()):
        raise Failure(Exit.USAGE, "a header is written as --header NAME:VALUE")
    return name.strip(), value.strip()
