"""The skill `terraform_ros_conversion`: what is packed, what is left, and that nothing is changed."""

import io
import json
import tarfile
import zipfile
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from a2a_agents.iac import agent
from a2a_agents.iac.conversion import packed
from a2a_serverless.agent import Message, Part
from a2a_serverless.agent.rehearsal import Rehearsal, TaskState, rehearse
from a2a_serverless.protocol.objects import Role

MAIN = 'resource "alicloud_vpc" "main" {\n  cidr_block = "10.0.0.0/8"\n}\n'
SKILL = {"skill": "terraform_ros_conversion"}


def message(*parts: Part, **metadata: Any) -> Message:
    return Message(message_id="m", role=Role.USER, parts=parts, metadata={**SKILL, **metadata})


def file(name: str, content: str | bytes) -> Part:
    raw = content.encode() if isinstance(content, str) else content
    return Part(raw=raw, filename=name, media_type="application/octet-stream")


def zipped(files: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return archive.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode=mode) as opened:  # type: ignore[call-overload]
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            opened.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


def template(happened: Rehearsal) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(happened.texts["ros-template"])
    return loaded


def said(happened: Rehearsal) -> str:
    return happened.turns[-1].text or ""


def test_a_directory_becomes_one_template_that_holds_its_files_as_they_are() -> None:
    happened = rehearse(
        agent, message(file("main.tf", MAIN), file("modules/net/main.tf", "# net\n"), file("README.md", "Hi"))
    )

    assert happened.texts["ros-template"] == (
        "ROSTemplateFormatVersion: '2015-09-01'\n"
        "Transform: Aliyun::OpenTofu-v1.8\n"
        "Workspace:\n"
        '  README.md: "Hi"\n'
        "  main.tf: |\n"
        '    resource "alicloud_vpc" "main" {\n'
        '      cidr_block = "10.0.0.0/8"\n'
        "    }\n"
        "  modules/net/main.tf: |\n    # net\n"
    )
    assert happened.turns[-1].state is TaskState.COMPLETED


@pytest.mark.parametrize(
    "pack", [zipped, tarred, lambda files: tarred(files, "w"), lambda f: tarred(f, "w:xz")]
)
def test_an_archive_is_seen_from_its_one_folder_and_without_state_cache_and_history(pack: Any) -> None:
    archive = pack(
        {
            "vpc-1.0/main.tf": MAIN.encode(),
            "vpc-1.0/.terraform/providers/x.json": b"{}",
            "vpc-1.0/.git/HEAD": b"ref",
            "vpc-1.0/__pycache__/a.pyc": b"\0",
            "vpc-1.0/terraform.tfstate": b"{}",
            "vpc-1.0/terraform.tfstate.backup": b"{}",
            "vpc-1.0/files/logo.bin": b"\xff\xfe\0",
        }
    )

    happened = rehearse(agent, message(file("vpc.archive", archive)))

    assert template(happened)["Workspace"] == {"main.tf": MAIN}
    assert "Warning: files/logo.bin is no UTF-8 text; it was skipped." in said(happened)


def test_json_is_written_where_it_is_wanted() -> None:
    by_metadata = rehearse(agent, message(file("main.tf", MAIN), format="json"))
    by_words = rehearse(agent, message(Part(text="Convert this to ROS JSON"), file("main.tf", MAIN)))

    for happened in (by_metadata, by_words):
        assert json.loads(happened.texts["ros-template"]) == {
            "ROSTemplateFormatVersion": "2015-09-01",
            "Transform": "Aliyun::OpenTofu-v1.8",
            "Workspace": {"main.tf": MAIN},
        }


def test_a_directory_without_terraform_is_refused_and_none_at_all_is_asked_for() -> None:
    refused = rehearse(agent, message(file("readme.txt", "Hello")))
    asked = rehearse(agent, message(Part(text="Convert my module to ROS")))

    assert refused.turns[-1].state is TaskState.FAILED
    assert "no .tf file" in said(refused)
    assert asked.turns[-1].state is TaskState.INPUT_REQUIRED


def test_the_answer_to_the_question_brings_the_files() -> None:
    happened = rehearse(
        agent,
        "Convert my Terraform module to ROS",
        Message(message_id="2", role=Role.USER, parts=(file("main.tf", MAIN),)),
    )

    assert [turn.state for turn in happened.turns] == [TaskState.INPUT_REQUIRED, TaskState.COMPLETED]
    assert template(happened)["Workspace"] == {"main.tf": MAIN}


def test_the_files_of_the_conversation_are_packed_by_their_prefix() -> None:
    happened = rehearse(
        agent,
        message(Part(text="Convert it"), workspace="infra/"),
        files={"infra/main.tf": MAIN.encode(), "other/main.tf": b"# other"},
    )

    assert template(happened)["Workspace"] == {"main.tf": MAIN}


# Anything that JSON and UTF-8 can carry, and often what makes YAML's blocks hard.
texts = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=60),
    st.text(st.sampled_from(" \t\n\r#:|->'\"{}[]a\u2028\x85\ufeff"), max_size=40),
)
names = st.from_regex(r"[a-zA-Z0-9_. -]{1,12}(/[a-z0-9_]{1,8}){0,2}\.tf", fullmatch=True)


@given(st.dictionaries(names, texts, min_size=1, max_size=5), st.sampled_from(["yaml", "json"]))
def test_what_was_packed_is_what_is_read_back(files: dict[str, str], wanted: str) -> None:
    written = packed(files, as_json=wanted == "json")

    read = json.loads(written) if wanted == "json" else yaml.safe_load(written)

    assert read == {
        "ROSTemplateFormatVersion": "2015-09-01",
        "Transform": "Aliyun::OpenTofu-v1.8",
        "Workspace": files,
    }
