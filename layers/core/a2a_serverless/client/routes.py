"""Which of several agents a message is for: by a route's name, a skill, a tag, or the words of the message.

Nothing is guessed: where no route is meant for sure, the answer is an error that names the candidates. Knows
no file and no registry; whoever keeps routes gives them.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

WORD: Final = re.compile(r"\w+")
"""What counts as a word of a message."""

MEMBERS: Final = ("skills", "tags")
"""What a written route may say beside its name and address."""


@dataclass(frozen=True)
class Route:
    """An agent's address under a name, with the skills and tags by which it is found too."""

    name: str
    url: str
    skills: Sequence[str] = ()
    tags: Sequence[str] = ()


@dataclass(frozen=True)
class Wanted:
    """What a message is known by. Every criterion that is given counts; words only decide between routes."""

    name: str | None = None
    skill: str | None = None
    tag: str | None = None
    prompt: str = ""


class Choice(NamedTuple):
    """The route that is meant, and by what."""

    route: Route
    reason: str


class RoutingError(LookupError):
    """No route is meant for sure. `candidates` are the names to choose from."""

    def __init__(self, message: str, candidates: Sequence[str]) -> None:
        super().__init__(message)
        self.candidates = tuple(candidates)


class UnknownRouteError(RoutingError):
    """No route is known by that."""


class AmbiguousRouteError(RoutingError):
    """Several routes are known by that."""


class RouteFormError(ValueError):
    """A route is not written as one."""


def parse_route(text: str) -> Route:
    """Read `name=url;skills=a,b;tags=x,y`.

    Raises:
        RouteFormError: it is not written so.
    """
    first, *others = (piece.strip() for piece in text.split(";"))
    name, _, url = (piece.strip() for piece in first.partition("="))
    said: dict[str, tuple[str, ...]] = {}
    for other in others:
        member, equals, listed = (piece.strip() for piece in other.partition("="))
        if member not in MEMBERS or not equals or member in said:
            raise RouteFormError(f"{member or 'nothing'} is neither {' nor '.join(MEMBERS)}, each once")
        said[member] = tuple(each for each in map(str.strip, listed.split(",")) if each)
    if not name or not url.startswith(("https://", "http://")):
        raise RouteFormError("a route is written as NAME=URL;skills=A,B;tags=X,Y")
    return Route(name, url, **said)


def choose(routes: Iterable[Route], wanted: Wanted) -> Choice:
    """The one route that is meant. Of two with one name the first counts.

    Raises:
        UnknownRouteError, AmbiguousRouteError: there is none, or more than one.
    """
    known = _named(routes)
    found, reasons = list(known.values()), []
    for what, value, has in (
        ("name", wanted.name, lambda route: [route.name]),
        ("skill", wanted.skill, lambda route: route.skills),
        ("tag", wanted.tag, lambda route: route.tags),
    ):
        if value is not None:
            found = _narrowed(found, what, value, has, known)
            reasons.append(f"{what} {value}")
    if not reasons or len(found) > 1:
        found, words = _by_words(found, wanted.prompt, decided=bool(reasons))
        reasons += [f"the words {', '.join(words)}"] if words else []
    if not found:
        raise UnknownRouteError("no route is known by the words of the message", list(known))
    if len(found) > 1:
        raise AmbiguousRouteError(
            f"several routes are meant by {' and '.join(reasons) or 'nothing'}", [each.name for each in found]
        )
    return Choice(found[0], " and ".join(reasons))


def _named(routes: Iterable[Route]) -> dict[str, Route]:
    known: dict[str, Route] = {}
    for route in routes:
        known.setdefault(route.name, route)
    return known


def _narrowed(
    found: Sequence[Route],
    what: str,
    value: str,
    has: Callable[[Route], Sequence[str]],
    known: dict[str, Route],
) -> list[Route]:
    left = [route for route in found if value in has(route)]
    if not left:
        raise UnknownRouteError(f"no route has the {what} {value}", list(known))
    return left


def _by_words(found: list[Route], prompt: str, *, decided: bool) -> tuple[list[Route], list[str]]:
    """Those whose name or tags the prompt mentions, and by which words; all where words say nothing."""
    said = {word.lower() for word in WORD.findall(prompt)}
    mentioned = [(route, sorted(said & _words_of(route))) for route in found]
    left = [route for route, words in mentioned if words]
    if not left:
        return (found if decided else []), []
    return left, sorted({word for _, words in mentioned for word in words})


def _words_of(route: Route) -> set[str]:
    return {word.lower() for text in (route.name, *route.tags) for word in WORD.findall(text)}
