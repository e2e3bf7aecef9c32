"""The skill `terraform_ros_conversion`: a Terraform directory in, one ROS template of the Terraform type out.

Nothing is translated: ROS runs the Terraform files as they are, out of the template's `Workspace`. What is no
text, or is state, cache or history, stays behind.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from a2a_agents.iac.brought import Brought, TooMuch, brought, decoded, is_wanted, listed
from a2a_serverless.agent import ArtifactChunk, Completed, Failed, InputRequired, Part, Turn, Update, Working

TRANSFORM: Final = "Aliyun::OpenTofu-v1.8"
FORMAT: Final = "2015-09-01"
TERRAFORM: Final = (".tf", ".tf.json", ".tofu")

MOST_FILE: Final = 1024 * 1024
MOST_TEMPLATE: Final = 512 * 1024
"""Bytes of a template body that ROS takes; a larger one must be given to it by address."""

ARTIFACT: Final = "ros-template"
STEM: Final = "ros-template"

ASKED: Final = (
    "Please send the Terraform directory: its files, each under its path, or as a zip or tar.gz archive, or"
    " upload it to this conversation."
)


async def run(turn: Turn) -> AsyncIterator[Update]:
    """Gather the directory and pack it."""
    try:
        given = await brought(turn)
    except TooMuch as why:
        yield Failed(str(why))
        return
    wanted = {name: content for name, content in given.files.items() if is_wanted(name)}
    files, left = decoded(wanted, MOST_FILE)
    if not any(name.endswith(TERRAFORM) for name in files):
        if given.files:
            yield Failed(f"There is no .tf file in what was sent: {listed(sorted(given.files))}.")
        else:
            yield InputRequired(ASKED)
        return
    yield Working(f"Packing {len(files)} {'file' if len(files) == 1 else 'files'}")
    as_json = wants_json(turn)
    template = packed(files, as_json=as_json)
    yield ArtifactChunk(
        ARTIFACT,
        parts=(
            Part(
                text=template,
                media_type="application/json" if as_json else "application/yaml",
                filename=f"{STEM}.{'json' if as_json else 'yaml'}",
            ),
        ),
        name="ROS template",
        last_chunk=True,
    )
    yield Completed(_said(files, given, left, len(template.encode())))


def _said(files: Mapping[str, str], given: Brought, left: list[str], size: int) -> str:
    skipped = sorted(name for name in given.files if not is_wanted(name))
    said = [f"Packed {listed(sorted(files))} into one ROS template ({TRANSFORM})."]
    if skipped:
        said.append(f"Skipped: {listed(skipped)}.")
    said.extend(f"Warning: {each}; it was skipped." for each in (*given.left, *left))
    if not any("/" not in name for name in files if name.endswith(TERRAFORM)):
        said.append(
            "Warning: no .tf file lies at the top of the directory, where ROS looks for the main module."
        )
    if size > MOST_TEMPLATE:
        said.append(f"Warning: it is larger than the {MOST_TEMPLATE:,} bytes that ROS takes as a body.")
    return " ".join(said)


OUTPUT_FORMAT: Final = "format"
"""The key of a message's metadata that says `yaml` or `json`."""


def wants_json(turn: Turn) -> bool:
    """Whether the caller wants JSON: by metadata, by what it says, or by the output modes it accepts."""
    wanted = turn.message.metadata.get(OUTPUT_FORMAT)
    if isinstance(wanted, str):
        return wanted.lower() == "json"
    said = " ".join(part.text for part in turn.message.parts if part.text and len(part.text) <= MOST_WISH)
    named = re.findall(
        r"\b(?:to|as|in|into|output|format)\s+(?:\w+\s+){0,3}?(json|ya?ml)\b", said, re.IGNORECASE
    )
    if named:
        return str(named[-1]).lower() == "json"
    modes = turn.accepted_output_modes
    return "application/json" in modes and not any("yaml" in mode or mode == "*/*" for mode in modes)


MOST_WISH: Final = 2000


def packed(files: Mapping[str, str], *, as_json: bool) -> str:
    """The template that holds these files."""
    workspace = {name: files[name] for name in sorted(files, key=_order)}
    if as_json:
        template = {"ROSTemplateFormatVersion": FORMAT, "Transform": TRANSFORM, "Workspace": workspace}
        return json.dumps(template, indent=2, ensure_ascii=False) + "\n"
    lines = [f"ROSTemplateFormatVersion: '{FORMAT}'", f"Transform: {TRANSFORM}", "Workspace:"]
    lines += [f"  {_quoted(name)}: {_written(text)}" for name, text in workspace.items()]
    return "\n".join(lines) + "\n"


def _order(name: str) -> tuple[int, str]:
    """The main module's files first, each level in the order of names."""
    return (len(PurePosixPath(name).parts), name)


PLAIN: Final = re.compile(r"[A-Za-z0-9_][\w-]*[/.][\w./-]*[A-Za-z]", re.ASCII)
"""Names that YAML takes for what they are: with a letter at the end they are no number."""

INDENT: Final = "    "
NOT_IN_BLOCKS: Final = re.compile(
    r"[^\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""What a block of text cannot hold: carriage returns, control characters, other ends of lines."""


def _written(text: str) -> str:
    """A text as a block of its lines; in quotes where it is none, or could not be one."""
    body = text.rstrip("\n")
    if not body.strip(" \t\n") or "\n" not in text or NOT_IN_BLOCKS.search(text):
        return _quoted(text)
    ends = len(text) - len(body)
    keeps = "-" if ends == 0 else "" if ends == 1 else "+"
    # Where the first line begins with space, the block says how far it is set in itself.
    deep = "2" if text[0] in " \t\n" else ""
    lines = [f"{INDENT}{line}" if line else "" for line in (body + "\n" * (ends - 1)).split("\n")]
    return f"|{deep}{keeps}\n" + "\n".join(lines)


def _quoted(text: str) -> str:
    if PLAIN.fullmatch(text):
        return text
    # JSON's escapes are YAML's too.
    return NOT_IN_BLOCKS.sub(
        lambda found: f"\\u{ord(found.group()):04x}", json.dumps(text, ensure_ascii=False)
    )
