"""Checking what the model wrote: by the review, by the rule of inventory, and by ROS where it can be asked.

ROS is asked only when the deployment has credentials for it, and reads only; without it, or when it does not
answer, the rules of this package stand alone.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence

from a2a_agents.iac.generation.inventory import unassociated
from a2a_agents.iac.generation.problems import Problem, Weight, errors
from a2a_agents.iac.operations.ros import RefusedError, Ros, RosError
from a2a_agents.iac.operations.template import Template
from a2a_agents.iac.review.findings import Kind, Severity
from a2a_agents.iac.review.reviewing import Review, as_sources, review

Check = Callable[[Mapping[str, str]], Awaitable[Sequence[Problem]]]
"""What is wrong with files."""

WEIGHTS = {Severity.ERROR: Weight.ERROR, Severity.WARNING: Weight.WARNING, Severity.NOTE: Weight.NOTE}


def checker(connect: Callable[[], Awaitable[Ros]] | None, region: str) -> Check:
    """The check of files for a region, with ROS where `connect` leads to it."""

    async def check(files: Mapping[str, str]) -> Sequence[Problem]:
        reviewed = review(as_sources(files))
        problems = [*_reviewed(reviewed), *_inventory(reviewed, files)]
        if connect is not None and region and not errors(problems):
            problems += [problem async for problem in _remote(connect, region, reviewed, files)]
        return problems

    return check


def _reviewed(reviewed: Review) -> Iterator[Problem]:
    for finding in reviewed.findings:
        yield Problem(
            finding.at.source.name,
            f"{finding.message} {finding.rule.fix}",
            WEIGHTS[finding.rule.severity],
            finding.rule.id,
            finding.at.line,
        )
    for name, why in reviewed.passed_over.items():
        if not name.endswith(".md"):
            yield Problem(name, f"Not checked: {why}.", Weight.ERROR, "unreadable")


def _inventory(reviewed: Review, files: Mapping[str, str]) -> Iterator[Problem]:
    for name in _ros(reviewed):
        yield from unassociated(Template(name, files[name]))


def _ros(reviewed: Review) -> list[str]:
    return [one.source.name for one in reviewed.templates if one.kind is Kind.ROS]


async def _remote(
    connect: Callable[[], Awaitable[Ros]], region: str, reviewed: Review, files: Mapping[str, str]
) -> AsyncIterator[Problem]:
    for name in _ros(reviewed):
        try:
            ros = await connect()
            await ros.validate(region, files[name])
        except RefusedError as refusal:
            yield Problem(name, f"ROS does not accept it. {refusal}", Weight.ERROR, "ros")
        except RosError as error:
            yield Problem(name, f"ROS could not be asked: {error}.", Weight.NOTE, "ros")
