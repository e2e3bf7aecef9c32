"""The options that mean the same in every command that calls an agent, and what was typed of them."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any

import typer

from a2a_serverless.cli.completing import route_names
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.options import AsJson

WHICH, WHO, TRUST = "Which agent", "Who calls", "Whom to trust"
"""The headings that they stand under."""

ADDRESS = "The agent's address; else A2A_URL, a route or the configuration says it."

FORMS = "@FILE, env:NAME, or itself, which others may then see."


@dataclass(frozen=True, kw_only=True)
class Calling:
    """How an agent is to be called, as it was typed or stands in the environment; None where nothing says."""

    context: typer.Context
    url: str | None
    routes: Sequence[str]
    route_name: str | None
    kept_routes: str | None
    tenant: str | None
    extensions: Sequence[str]
    config: str | None
    token: str | None
    basic_username: str | None
    basic_password: str | None
    api_key: str | None
    api_key_header: str | None
    headers: Sequence[str]
    credential_origins: Sequence[str]
    jwks: Sequence[str]
    trust_jku: Sequence[str]
    require_signature: bool | None
    timeout: float | None
    verbose: bool
    as_json: bool

    def from_environment(self, option: str) -> bool:
        """Whether an option was not typed, but stands in the environment."""
        source = self.context.get_parameter_source(option)
        return source is not None and source.name == "ENVIRONMENT"


def _said(panel: str, *names: str, **told: Any) -> Any:  # noqa: ANN401  typer's own
    return typer.Option(*names, rich_help_panel=panel, **told)


RouteList = Annotated[
    list[str] | None,
    _said(WHICH, "--route", metavar="ROUTE", help="NAME=URL;skills=A,B;tags=X,Y. May be repeated."),
]
RoutesPlace = Annotated[
    str | None,
    _said(
        WHICH,
        "--routes",
        metavar="PLACE",
        envvar="A2A_ROUTES",
        help="Where routes are kept: a file, or registry:NAME.",
    ),
]


def _shared(
    *,
    url: Annotated[str | None, typer.Option("--url", envvar="A2A_URL", hidden=True)] = None,
    routes: RouteList = None,
    route_name: Annotated[
        str | None,
        _said(
            WHICH,
            "--route-name",
            metavar="NAME",
            help="The agent of the route of this name.",
            autocompletion=route_names,
        ),
    ] = None,
    kept_routes: RoutesPlace = None,
    tenant: Annotated[
        str | None,
        _said(
            WHICH, "--tenant", metavar="TENANT", envvar="A2A_TENANT", help="The tenant, if not the card's."
        ),
    ] = None,
    extensions: Annotated[
        list[str] | None,
        _said(WHICH, "--extension", metavar="URI", help="Opt into an extension. May be repeated."),
    ] = None,
    config: Annotated[
        str | None,
        _said(
            WHICH,
            "--config",
            metavar="FILE",
            envvar="A2A_CONFIG",
            help="Configuration, in place of the usual.",
        ),
    ] = None,
    token: Annotated[
        str | None,
        _said(WHO, "--token", metavar="SECRET", envvar="A2A_TOKEN", help=f"A bearer token: {FORMS}"),
    ] = None,
    basic_username: Annotated[
        str | None,
        _said(
            WHO,
            "--basic-username",
            metavar="NAME",
            envvar="A2A_BASIC_USERNAME",
            help="A name, with a password.",
        ),
    ] = None,
    basic_password: Annotated[
        str | None,
        _said(WHO, "--basic-password", metavar="SECRET", envvar="A2A_BASIC_PASSWORD", help="As --token."),
    ] = None,
    api_key: Annotated[
        str | None, _said(WHO, "--api-key", metavar="SECRET", envvar="A2A_API_KEY", help="As --token.")
    ] = None,
    api_key_header: Annotated[
        str | None,
        _said(
            WHO,
            "--api-key-header",
            metavar="NAME",
            envvar="A2A_API_KEY_HEADER",
            help="The key's header; else X-API-Key.",
        ),
    ] = None,
    headers: Annotated[
        list[str] | None,
        _said(WHO, "--header", metavar="NAME:VALUE", help="One more header. May be repeated."),
    ] = None,
    credential_origins: Annotated[
        list[str] | None,
        _said(
            WHO,
            "--credential-origin",
            metavar="ORIGIN",
            help="Where else than at URL credentials may be shown. May be repeated.",
        ),
    ] = None,
    jwks: Annotated[
        list[str] | None,
        _said(
            TRUST,
            "--jwks",
            "--jwks-url",
            metavar="PLACE",
            help="Keys of which one must have signed the card: a file or an address. May be repeated.",
        ),
    ] = None,
    trust_jku: Annotated[
        list[str] | None,
        _said(
            TRUST,
            "--trust-jku",
            metavar="HOST",
            help="Believe the keys that a signature names on this host. May be repeated.",
        ),
    ] = None,
    require_signature: Annotated[
        bool | None,
        _said(
            TRUST,
            "--require-signature/--no-require-signature",
            envvar="A2A_REQUIRE_SIGNATURE",
            help="Whether a card is refused where it is not said whom to trust.",
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            envvar="A2A_TIMEOUT",
            min=0.001,
            help="How long to wait at most.",
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Say which agent is called, and how; no secrets.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The options, as typer reads them."""


def parted(typed: Sequence[str], *names: str) -> tuple[str | None, list[str]]:
    """The agent's address, if what was typed begins with one, and a word for each of the names.

    Raises:
        Failure: there are more words, or fewer.
    """
    address = typed[0] if typed and typed[0].startswith(("https://", "http://")) else None
    words = list(typed[1:] if address else typed)
    if len(words) < len(names):
        raise Failure(Exit.USAGE, f"{names[len(words)]} is missing", f"it is [URL] {' '.join(names)}")
    if len(words) > len(names):
        hint = "an address begins with http:// or https://" if address is None else ""
        raise Failure(Exit.USAGE, f"{words[len(names)]!r} is one word too many", hint)
    return address, words


SHARED = tuple(inspect.signature(_shared).parameters.values())
LISTS = frozenset(("routes", "extensions", "headers", "credential_origins", "jwks", "trust_jku"))


def calls_agents(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; it gets what was typed of them as `calling`."""
    own = [each for each in inspect.signature(command).parameters.values() if each.name != "calling"]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

    @wraps(command)
    def entered(context: typer.Context, **typed: Any) -> None:  # noqa: ANN401  whatever was typed
        shared = {each.name: typed.pop(each.name) for each in SHARED}
        given: dict[str, Any] = {
            name: value or () if name in LISTS else value for name, value in shared.items()
        }
        command(calling=Calling(context=context, **given), **typed)

    positional = [each for each in own if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    named = [each for each in own if each.kind is inspect.Parameter.KEYWORD_ONLY]
    parameters = [context, *positional, *named, *SHARED]
    entered.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    entered.__annotations__ = {each.name: each.annotation for each in parameters}
    return entered
