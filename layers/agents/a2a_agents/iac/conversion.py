"""The skill `terraform_ros_conversion`: a Terraform directory in, one ROS template of the Terraform type out.

Nothing is translated: ROS runs the Terraform files as they are, out of the template's `Workspace`. What is no
text, or is state, cache or history, stays behind.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

import yaml

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
    template = {
        "ROSTemplateFormatVersion": FORMAT,
        "Transform": TRANSFORM,
        "Workspace": {name: files[name] for name in sorted(files, key=_order)},
    }
    if as_json:
        return json.dumps(template, indent=2, ensure_ascii=False) + "\n"
    text: str = yaml.dump(
        template, Dumper=_Blocks, sort_keys=False, allow_unicode=True, width=2**31, default_flow_style=False
    )
    return text


def _order(name: str) -> tuple[int, str]:
    """The main module's files first, each level in the order of names."""
    return (len(PurePosixPath(name).parts), name)


class _Blocks(yaml.SafeDumper):
    """Writes texts of several lines as blocks, as a person would."""


def _text(dumper: yaml.SafeDumper, value: str) -> Any:  # noqa: ANN401  a node, of which PyYAML says no type
    style = "|" if "\n" in value and value == value.lstrip(" \n") and not _UNFIT.search(value) else None
    if style is None and "\n" in value:
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_UNFIT: Final = re.compile(r"[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]| (?=\n)")
"""What a block of text cannot hold as it is: tabs at a line's begin, carriage returns, control characters."""

_Blocks.add_representer(str, _text)
