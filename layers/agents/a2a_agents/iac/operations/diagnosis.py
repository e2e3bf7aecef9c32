"""Why a stack failed, as a report for people: what failed first, what followed from it, and what helps.

Pure. The reasons are ROS's own words, the remedies are ours, by what the reasons are known to mean.
"""

import re
from collections.abc import Sequence

from a2a_agents.iac.operations.ros import Stack, StackEvent, StackResource

REMEDIES: Sequence[tuple[re.Pattern[str], str]] = tuple(
    (re.compile(pattern, re.IGNORECASE), remedy)
    for pattern, remedy in (
        (
            r"quota|limit\s*exceed|exceeds? the (?:maximum|limit)",
            "A quota of the account is used up: release what is not needed, or ask for more.",
        ),
        (
            r"NotEnoughBalance|balance|overdue|arrears|payment",
            "The account cannot pay: top it up, or settle what is overdue.",
        ),
        (
            r"Forbidden|NoPermission|not authori[sz]ed|\bRAM\b",
            "The credentials may not do this: let their RAM policy allow the action that is named.",
        ),
        (
            r"NoStock|stock|not (?:available|supported) in (?:the |this )?zone|ResourceNotAvailable|sold out",
            "There is none of this type in the zone: choose another zone or another type.",
        ),
        (
            r"already (?:exists|associated|used)|Duplicate|Conflict",
            "Something of this name or address exists already: choose another, or use the one there is.",
        ),
        (
            r"InvalidParameter|MissingParameter|Invalid\w+\.(?:Malformed|NotFound)|NotSupported|not valid",
            "A property has a value that the service does not take: correct the template or a parameter.",
        ),
        (
            r"Depend(?:ency|ent)|InUse|in use|VIOLATION",
            "Something else still uses it: remove that first, or retain the resource.",
        ),
        (
            r"timed? ?out|timeout",
            "It took longer than was allowed: see whether it gets done, then go on, with a longer timeout.",
        ),
        (
            r"Throttling|too many requests|flow control",
            "The service was asked too often: going on after a while is enough.",
        ),
    )
)
"""What helps, by what a reason says; the first that fits."""

MOST_EVENTS = 40
"""Events that a report lists."""

WAITED_FOR = re.compile(r"cancel|abort|dependen(?:cy|t) .*fail|not (?:been )?created because", re.IGNORECASE)


def failed(events: Sequence[StackEvent], resources: Sequence[StackResource]) -> list[StackResource]:
    """The resources that failed, the first to fail first; what only waited for one that failed comes last."""
    order = {
        event.resource: number for number, event in reversed(list(enumerate(events))) if _failed(event.status)
    }
    found = [resource for resource in resources if _failed(resource.status)]
    return sorted(
        found,
        key=lambda resource: (
            WAITED_FOR.search(resource.reason) is not None,
            order.get(resource.name, len(events)),
            resource.name,
        ),
    )


def _failed(status: str) -> bool:
    return status.endswith("_FAILED")


def remedy(reason: str) -> str:
    """What helps against a reason; empty when nothing is known."""
    return next((remedy for pattern, remedy in REMEDIES if pattern.search(reason)), "")


def report(stack: Stack, events: Sequence[StackEvent], resources: Sequence[StackResource]) -> str:
    """The report in Markdown."""
    culprits = failed(events, resources)
    lines = [
        f"# Stack {stack.name}: {stack.status}",
        "",
        f"Region {stack.region}, id `{stack.stack_id}`."
        + (f" ROS says: {_cell(stack.reason)}" if stack.reason else ""),
    ]
    if culprits:
        first = culprits[0]
        lines += [
            "",
            "## What failed",
            "",
            f"First **{first.name}** ({first.resource_type}): {_cell(first.reason)}",
        ]
        lines += ["", "| resource | type | status | reason |", "|---|---|---|---|"]
        lines += [
            f"| {one.name} | {one.resource_type} | {one.status} | {_cell(one.reason)} |" for one in culprits
        ]
    helps = dict.fromkeys(filter(None, (remedy(one.reason) for one in culprits))) or dict.fromkeys(
        filter(None, [remedy(stack.reason)])
    )
    lines += ["", "## What helps", ""] + [f"- {line}" for line in [*helps, _next(stack)]]
    told = [event for event in events if event.resource != stack.name][-MOST_EVENTS:]
    if told:
        lines += [
            "",
            "## What happened",
            "",
            "| at (UTC) | resource | status | reason |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| {event.at} | {event.resource} | {event.status} | {_cell(event.reason)} |" for event in told
        ]
    return "\n".join(lines) + "\n"


def _next(stack: Stack) -> str:
    """What this agent can do about it."""
    if stack.status == "CREATE_FAILED":
        return (
            f"Then: continue creating stack {stack.name}, with a corrected template or parameters if need be"
            " (what was created stays); or delete it."
        )
    if stack.status in ("UPDATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"):
        return f"Then: update stack {stack.name} again with a corrected template or parameters."
    if stack.status == "DELETE_FAILED":
        return f"Then: delete stack {stack.name} again, or retain what cannot be deleted."
    if stack.in_progress:
        return "ROS is still at work on it: what it says may change."
    return "Nothing of this stack is in a failed state now."


def _cell(text: str) -> str:
    """A text within one line of a table."""
    return " ".join(text.split()).replace("|", "\\|")[:500]
