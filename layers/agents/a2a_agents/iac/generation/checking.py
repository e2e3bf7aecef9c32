"""Checking what the model wrote: by the review, by the rule of inventory, and by ROS where it can be asked.

The review runs in a process of its own, as it does for callers: files of a model, or of a user it was given,
may be made to overwhelm their reader. ROS is asked only when the deployment has credentials for it, and reads
only; without it, or when it does not answer, the rules of this package stand alone.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from a2a_agents.iac.generation.inventory import unassociated
from a2a_agents.iac.generation.problems import Problem, Weight, errors
from a2a_agents.iac.operations.ros import RefusedError, Ros, RosError
from a2a_agents.iac.operations.template import Template
from a2a_agents.iac.review.findings import Kind
from a2a_agents.iac.review.process import reviewed

Files = Mapping[str, str]
"""Texts by name."""

Check = Callable[[Files], Coroutine[Any, Any, Sequence[Problem]]]
"""What is wrong with files."""

Report = Mapping[str, Any]
"""A review's report: `sarif`, and `passed_over`, why files are no templates."""

SECONDS = 60.0
"""Seconds that a review may take."""


class UnreviewedError(Exception):
    """There is no report; the text says why."""


async def apart(files: Files) -> Report:
    """The report of a review in a process of its own.

    Raises:
        UnreviewedError: there is none.
    """
    found = await reviewed(files, seconds=SECONDS, lint=False)
    if found.failed is not None:
        raise UnreviewedError(found.failed)
    return found.report


def checker(
    connect: Callable[[], Awaitable[Ros]] | None,
    region: str,
    review: Callable[[Files], Awaitable[Report]] = apart,
) -> Check:
    """The check of files for a region, with ROS where `connect` leads to it."""

    async def check(files: Files) -> Sequence[Problem]:
        try:
            report = await review(files)
        except UnreviewedError as error:
            return [Problem("-", str(error), Weight.ERROR, "unreadable")]
        ros = [name for name in _templates(report, Kind.ROS) if name in files]
        problems = [
            *_found(report),
            *(one for name in ros for one in unassociated(Template(name, files[name]))),
        ]
        if connect is not None and region and not errors(problems):
            problems += [
                problem async for problem in _asked(connect, region, {name: files[name] for name in ros})
            ]
        return problems

    return check


def _templates(report: Report, kind: Kind) -> list[str]:
    """The files that are templates of a kind."""
    artifacts = report["sarif"]["runs"][0]["artifacts"]
    return [
        unquote(one["location"]["uri"]) for one in artifacts if one["sourceLanguage"] == kind.value.lower()
    ]


def _found(report: Report) -> Iterator[Problem]:
    run = report["sarif"]["runs"][0]
    fixes = {rule["id"]: rule["help"]["text"] for rule in run["tool"]["driver"]["rules"]}
    for result in run["results"]:
        if result.get("suppressions"):
            continue
        place = result["locations"][0]["physicalLocation"]
        yield Problem(
            unquote(place["artifactLocation"]["uri"]),
            f"{result['message']['text']} {fixes.get(result['ruleId'], '')}".strip(),
            Weight(result["level"]),
            result["ruleId"],
            place["region"]["startLine"],
        )
    for name, why in report["passed_over"].items():
        if not name.endswith(".md"):
            yield Problem(name, f"Not checked: {why}.", Weight.ERROR, "unreadable")


async def _asked(
    connect: Callable[[], Awaitable[Ros]], region: str, templates: Files
) -> AsyncIterator[Problem]:
    """What ROS has against templates."""
    for name, text in templates.items():
        try:
            ros = await connect()
            await ros.validate(region, text)
        except RefusedError as refusal:
            yield Problem(name, f"ROS does not accept it. {refusal}", Weight.ERROR, "ros")
        except RosError as error:
            yield Problem(name, f"ROS could not be asked: {error}.", Weight.NOTE, "ros")
