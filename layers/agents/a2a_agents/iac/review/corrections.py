"""Puts the mechanical findings of a file right, and leaves every other byte as it was."""

from collections.abc import Iterable

from a2a_agents.iac.review.findings import Edit, Finding
from a2a_agents.iac.review.source import Source


def corrected(source: Source, findings: Iterable[Finding]) -> tuple[str, list[Finding]]:
    """The text with what can be put right put right, and the findings that are.

    A correction is made whole or not at all: one that would touch what another one takes away is left out.
    """
    taken: list[Edit] = []
    done = []
    wanted = [each for each in findings if each.edits and all(e.at.source is source for e in each.edits)]
    # What takes away goes first: what would be written inside of it is not wanted any more.
    for finding in sorted(wanted, key=lambda each: all(edit.text for edit in each.edits)):
        if not any(_touch(edit, other) for edit in finding.edits for other in taken):
            taken.extend(edit for edit in finding.edits if edit not in taken)
            done.append(finding)
    text = source.text
    for edit in sorted(taken, key=lambda each: (each.at.start, each.at.end), reverse=True):
        text = text[: edit.at.start] + edit.text + text[edit.at.end :]
    return text, done


def _touch(one: Edit, other: Edit) -> bool:
    """Whether two edits are about the same text; two that only insert are not."""
    if one == other:
        return False
    if one.at.start == one.at.end and other.at.start == other.at.end:
        return False
    return one.at.start < other.at.end and other.at.start < one.at.end
