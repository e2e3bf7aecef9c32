"""The skill `iac_review`: templates in; a report, and corrected templates where that is mechanical, out.

What is read, looked for and said is in the modules beside this one, which run in a process of their own.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.util import find_spec
from typing import Any, Final

from a2a_agents.iac.brought import Brought, TooMuch, brought, decoded, listed
from a2a_agents.iac.review.process import reviewed
from a2a_serverless.agent import ArtifactChunk, Completed, Failed, InputRequired, Part, Turn, Update, Working

MOST_FILE: Final = 1024 * 1024
"""Bytes of one template. The languages' own limits are at or below it."""
MOST_SECONDS: Final = 120.0
SPARE_SECONDS: Final = 10.0
"""What is left for telling the result."""

REPORT: Final = "iac-review"
SARIF: Final = "iac-review.sarif"
CORRECTED: Final = "iac-review.corrected"

ASKED: Final = (
    "Please send the template to review: as text (in a code block, or bare), as a file, as an archive, or"
    " upload it to this conversation. ROS, Terraform and CloudFormation are understood."
)


async def run(turn: Turn) -> AsyncIterator[Update]:
    """Gather the files, review them, tell what was found."""
    if find_spec("yaml") is None:
        yield Failed("Templates cannot be reviewed here: PyYAML is not part of this deployment.")
        return
    try:
        given = await brought(turn)
    except TooMuch as why:
        yield Failed(str(why))
        return
    texts, unread = decoded({name: c for name, c in given.files.items() if may_be_template(name)}, MOST_FILE)
    remarks = [*given.left, *unread]
    if not texts:
        yield InputRequired(" ".join((ASKED, *(f"Left aside: {remark}." for remark in remarks[:5]))))
        return
    yield Working(f"Reviewing {listed(list(texts))}")
    seconds = max(1.0, min(MOST_SECONDS, turn.remaining_seconds() - SPARE_SECONDS))
    found = await reviewed(texts, seconds=seconds, lint=True)
    if found.failed is not None:
        yield Failed(found.failed)
        return
    report = found.report
    if not report["templates"]:
        whys = [f"{name}: {why}" for name, why in list(report["passed_over"].items())[:5]]
        yield InputRequired(f"There is no template to review in what was sent. {'; '.join(whys)}. {ASKED}")
        return
    for update in results(report, given, remarks):
        yield update


def results(report: Mapping[str, Any], given: Brought, remarks: list[str]) -> list[Update]:
    """The artifacts of a review, and what it comes down to."""
    markdown = str(report["markdown"])
    if remarks:
        markdown += "".join(f"\n- Left aside: {remark}." for remark in remarks) + "\n"
    updates: list[Update] = [
        _file(REPORT, "Review", "review.md", "text/markdown", markdown),
        _sarif(report),
    ]
    corrections = report["corrections"]
    if corrections:
        parts = [
            Part(text=each["text"], media_type=media_type(each["name"]), filename=each["name"])
            for each in corrections
        ]
        updates.append(ArtifactChunk(CORRECTED, parts=parts, name="Corrected templates", last_chunk=True))
    reviewed_names = listed([name for name in report["templates"] if name in given.files])
    linted = f", and {report['linted']} more of cfn-lint" if report["linted"] else ""
    put_right = sum(each["findings"] for each in corrections)
    done = f" Put right in the corrected copy: {put_right}." if corrections else ""
    updates.append(Completed(f"Reviewed {reviewed_names}: {report['counted']}{linted}.{done}"))
    return updates


def _file(artifact_id: str, name: str, filename: str, media_type: str, text: str) -> ArtifactChunk:
    part = Part(text=text, media_type=media_type, filename=filename)
    return ArtifactChunk(artifact_id, parts=(part,), name=name, last_chunk=True)


def _sarif(report: Mapping[str, Any]) -> ArtifactChunk:
    part = Part(data=report["sarif"], media_type="application/sarif+json", filename="review.sarif")
    return ArtifactChunk(SARIF, parts=(part,), name="Review in SARIF", last_chunk=True)


NAMES: Final = (".tf", ".tofu", ".tfvars", ".yaml", ".yml", ".json", ".template", ".ros", ".txt")


def may_be_template(name: str) -> bool:
    """Whether a file by its name may be a template; one without an ending may."""
    last = name.rpartition("/")[2].lower()
    if last in NO_TEMPLATES or last.endswith((".tf.json", ".lock.hcl")):
        return False
    return last.endswith(NAMES) or "." not in last


NO_TEMPLATES: Final = (
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "license",
    "makefile",
    "dockerfile",
)


def media_type(name: str) -> str:
    """The media type of a template by its name."""
    if name.endswith(".json"):
        return "application/json"
    return "application/yaml" if name.endswith((".yaml", ".yml", ".template", ".ros")) else "text/plain"
