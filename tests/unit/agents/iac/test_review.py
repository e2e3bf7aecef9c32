"""The skill `iac_review` as its callers meet it: what they may send, what comes back."""

import asyncio
import io
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from a2a_agents.iac import agent
from a2a_agents.iac.review.process import (
    BROKE_OFF,
    LEAST_MEMORY,
    MOST_MEMORY,
    NOT_IN_TIME,
    Reviewed,
    memory,
    reviewed,
)
from a2a_serverless.agent import Message, Part
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from a2a_serverless.protocol.objects import Role

ROS = """\
ROSTemplateFormatVersion: '2015-09-01'
Parameters:
  RootPassword:
    Type: String
Resources:
  Server:
    Type: ALIYUN::ECS::Instance
    Properties:
      Password: {Ref: RootPassword}
"""
TERRAFORM = 'resource "aws_s3_bucket_acl" "a" {\n  acl = "public-read"\n}\n'


def message(*parts: Part, **metadata: Any) -> Message:
    return Message(message_id="m", role=Role.USER, parts=parts, metadata={"skill": "iac_review", **metadata})


def test_a_fenced_template_is_reviewed_and_corrected() -> None:
    happened = rehearse(agent, f"Please review this.\n\n```yaml\n{ROS}```\nThanks!")

    assert happened.state is TaskState.COMPLETED
    assert happened.text == ("Reviewed template.yaml: 1 warning. Put right in the corrected copy: 1.")
    assert happened.artifacts.keys() == {"iac-review", "iac-review.sarif", "iac-review.corrected"}
    assert "| 3 | warning | IAC202 echoed-secret |" in happened.texts["iac-review"]
    sarif = happened.artifacts["iac-review.sarif"].parts[0]
    assert sarif.media_type == "application/sarif+json"
    assert sarif.data["version"] == "2.1.0"
    corrected = happened.artifacts["iac-review.corrected"].parts[0]
    assert corrected.text == ROS.replace("    Type: String", "    NoEcho: true\n    Type: String")
    assert (corrected.filename, corrected.media_type) == ("template.yaml", "application/yaml")


@pytest.mark.parametrize(
    "parts",
    [
        (Part(text=f"Check this template: \n{ROS}"),),
        (Part(text=ROS, media_type="application/yaml"),),
        (
            Part(text="", filename="x.txt"),
            Part(raw=ROS.encode(), filename="ros.yaml", media_type="text/yaml"),
        ),
        (Part(data={"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"A": {"Properties": {}}}}),),
    ],
    ids=["bare", "typed", "file", "data"],
)
def test_a_template_may_come_in_many_ways(parts: tuple[Part, ...]) -> None:
    happened = rehearse(agent, message(*parts))

    assert happened.state is TaskState.COMPLETED
    assert "IAC" in happened.texts["iac-review"]


def test_files_of_one_archive_are_one_module() -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as opened:
        for name, text in {
            "m/main.tf": TERRAFORM,
            "m/outputs.tf": 'output "x" {\n  value = var.gone\n}\n',
        }.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            opened.addfile(entry, io.BytesIO(text.encode()))

    happened = rehearse(agent, message(Part(raw=archive.getvalue(), filename="m.tgz")))

    report = happened.texts["iac-review"]
    assert "## `main.tf`" in report
    assert "| 2 | error | IAC103 undeclared-name | var.gone is declared" in report


def test_files_of_the_conversation_are_reviewed_when_the_message_brings_none() -> None:
    happened = rehearse(agent, "Review what I uploaded", files={"infra/acl.tf": TERRAFORM.encode()})

    assert happened.text == "Reviewed infra/acl.tf: 1 error."


def test_a_file_that_is_named_is_the_one_that_is_reviewed() -> None:
    happened = rehearse(
        agent,
        message(Part(url="file:///infra/acl.tf")),
        files={"infra/acl.tf": TERRAFORM.encode(), "infra/other.yaml": ROS.encode()},
    )

    assert happened.text == "Reviewed infra/acl.tf: 1 error."


def test_without_a_template_it_asks_and_takes_the_answer() -> None:
    happened = rehearse(agent, "Review my template", f"Here it is\n```\n{ROS}```")

    assert [turn.state for turn in happened.turns] == [TaskState.INPUT_REQUIRED, TaskState.COMPLETED]


def test_what_was_sent_is_kept_over_the_question_which_skill_is_meant() -> None:
    happened = rehearse(agent, f"Review this and convert it, please.\n```hcl\n{TERRAFORM}```", "iac_review")

    assert [turn.state for turn in happened.turns] == [TaskState.INPUT_REQUIRED, TaskState.COMPLETED]
    assert happened.text == "Reviewed main.tf: 1 error."


def test_what_was_reviewed_can_be_converted_without_sending_it_again() -> None:
    happened = rehearse(agent, f"Review this.\n```hcl\n{TERRAFORM}```", "Now convert it to ROS, too.")

    assert happened.text == "Packed main.tf into one ROS template (Aliyun::OpenTofu-v1.8)."


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe\x00", "is no UTF-8 text"),
        (b"x" * (1024 * 1024 + 1), "is larger than"),
        (b"just: yaml", "no ROS, CloudFormation or Terraform template"),
        (b"[" * 100_000, "nested"),
    ],
)
def test_what_is_no_template_is_said_to_be_none(content: bytes, words: str) -> None:
    happened = rehearse(agent, message(Part(raw=content, filename="a.yaml")))

    assert happened.state is TaskState.INPUT_REQUIRED
    assert words in happened.text


def test_a_bomb_fails_in_words() -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as opened:
        entry = tarfile.TarInfo("main.tf")
        entry.size = 64 * 1024 * 1024
        opened.addfile(entry, io.BytesIO(bytes(entry.size)))

    happened = rehearse(agent, message(Part(raw=archive.getvalue(), filename="m.tgz")))

    assert happened.state is TaskState.FAILED
    assert "cannot be unpacked: it holds more than" in happened.text


def test_cloudformation_is_looked_at_by_cfn_lint_too() -> None:
    template = "Resources:\n  T:\n    Type: AWS::SNS::Topic\n    Properties:\n      Nonsense: 1\n"

    happened = rehearse(agent, message(Part(raw=template.encode(), filename="t.yaml")), timeout=120)

    assert "| t.yaml | 5 | error | E3002 |" in happened.texts["iac-review"]
    runs = happened.artifacts["iac-review.sarif"].parts[0].data["runs"]
    assert [run["tool"]["driver"]["name"] for run in runs] == ["iac-review", "cfn-lint"]


def test_a_review_ends_when_its_time_is_over() -> None:
    begun = time.monotonic()

    result = asyncio.run(reviewed({"a.tf": TERRAFORM}, seconds=0.01, lint=False))

    assert result.failed == NOT_IN_TIME
    assert time.monotonic() - begun < 5


def test_what_is_not_said_in_time_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "answers_once.py").write_text(
        'import sys, time\nsys.stdin.read()\nprint(\'{"markdown": "ours"}\', flush=True)\ntime.sleep(600)\n'
    )
    monkeypatch.syspath_prepend(tmp_path)

    result = asyncio.run(reviewed({}, seconds=3, lint=True, module="answers_once"))

    assert result == Reviewed(None, {"markdown": "ours"})


def test_a_process_that_breaks_off_is_said_to_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "breaks_off.py").write_text("raise SystemExit(1)\n")
    monkeypatch.syspath_prepend(tmp_path)

    result = asyncio.run(reviewed({"a.tf": TERRAFORM * 10_000}, seconds=60, lint=True, module="breaks_off"))

    assert result.failed == BROKE_OFF


def test_a_review_takes_no_more_than_its_function_has_left() -> None:
    mebibyte = 1024 * 1024

    assert memory({}) == MOST_MEMORY
    assert memory({"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128"}) == LEAST_MEMORY
    assert memory({"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024"}) == 896 * mebibyte
    assert memory({"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "10240"}) == MOST_MEMORY


def test_a_reviewing_process_is_given_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "environment.py").write_text("import json, os\nprint(json.dumps(dict(os.environ)))\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")

    result = asyncio.run(reviewed({}, seconds=60, lint=False, module="environment"))

    assert not [name for name in result.report if name.startswith("AWS")]
