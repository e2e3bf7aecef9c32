"""Which skill of the infrastructure agent a message is for, and which of them its card names."""

import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from a2a_agents.iac import described, routed, router
from a2a_agents.iac.catalogue import MODEL, ROS_CREDENTIALS, SKILLS
from a2a_agents.iac.routing import Router
from a2a_agents.iac.skills import Deployment, Skill
from a2a_serverless.agent import InputRequired, Message, Part, Rejected, Turn, Update
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from a2a_serverless.protocol.objects import Role

EVERYTHING = Deployment({MODEL: "a-model", ROS_CREDENTIALS: "secretsmanager:ros"})
NOTHING = Deployment({})

GENERATION, REVIEW, OPERATIONS, CONVERSION = (skill.id for skill in SKILLS)


def message(*parts: Part, **metadata: Any) -> Message:
    return Message(message_id="m", role=Role.USER, parts=parts, metadata=metadata)


class FakeHost:
    def remaining_seconds(self) -> float:
        return 60.0

    async def checkpoint(self, resume_after: float) -> None:
        raise NotImplementedError

    async def ask_permission(self, permission: object) -> bool:
        raise NotImplementedError


def routed_to(said: Message, deployment: Deployment = EVERYTHING, **state: Any) -> Any:
    turn = Turn(message=said, task_id="t", context_id="c", host=FakeHost(), state=dict(state))
    found = router(deployment).route(turn)
    return found.id if isinstance(found, Skill) else found


def test_the_card_names_what_works_here_and_nothing_else() -> None:
    assert [skill.id for skill in described(router(EVERYTHING)).skills] == [skill.id for skill in SKILLS]
    assert [skill.id for skill in described(router(NOTHING)).skills] == [REVIEW, CONVERSION]


def test_the_card_loads_no_library_of_a_skill() -> None:
    heavy = ("hcl2", "lark", "cfnlint", "yaml", "alibabacloud_ros20190910", "strands")
    loaded = f"import sys, a2a_agents.iac; print(*[name for name in {heavy!r} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True)

    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("text", "skill"),
    [
        # Every example of the card goes where the card says.
        *((example, skill.id) for skill in SKILLS for example in skill.card.examples),
        ("Why did my ROS stack fail?", OPERATIONS),
        ("Deploy it to cn-hangzhou", OPERATIONS),
        ("Create a stack from this template", OPERATIONS),
        ("Write a Terraform template for an OSS bucket", GENERATION),
        ("Is there anything insecure in here? Please audit.", REVIEW),
        ("Please package these files for ROS", CONVERSION),
        ("请检查这个模板", REVIEW),
        ("把 Terraform 转换成 ROS", CONVERSION),
        ("Use terraform_ros_conversion and review nothing", CONVERSION),
    ],
)
def test_words_mean_a_skill(text: str, skill: str) -> None:
    assert routed_to(message(Part(text=text))) == skill


def test_what_is_named_wins_over_words() -> None:
    assert routed_to(message(Part(text="Review this"), skill=CONVERSION)) == CONVERSION


@pytest.mark.parametrize("named", ["iac_revue", 7, "", ["iac_review"]])
def test_an_unknown_skill_is_rejected_with_those_there_are(named: Any) -> None:
    found = routed_to(message(Part(text="x"), skill=named), NOTHING)

    assert found == Rejected(f"There is no such skill. This agent's skills are: {REVIEW}, {CONVERSION}.")


def test_a_skill_that_is_not_available_says_why() -> None:
    by_name = routed_to(message(Part(text="x"), skill=GENERATION), NOTHING)
    by_words = routed_to(message(Part(text="Why did my stack fail?")), NOTHING)

    assert isinstance(by_name, Rejected)
    assert by_name.text.startswith("The skill iac_generation is not available: this deployment has no model")
    assert isinstance(by_words, Rejected)
    assert "no credentials for Alibaba Cloud" in by_words.text


def test_words_for_several_skills_are_asked_about() -> None:
    found = routed_to(message(Part(text="Review this module and convert it to ROS")))

    assert isinstance(found, InputRequired)
    assert f"{REVIEW}, {CONVERSION}" in found.text


def test_of_several_skills_the_only_one_that_works_here_is_meant() -> None:
    said = message(Part(text="Write a template and review it"))

    assert isinstance(routed_to(said), InputRequired)
    assert routed_to(said, NOTHING) == REVIEW


def test_words_for_no_skill_are_asked_about_unless_files_say_what_is_meant() -> None:
    asked = routed_to(message(Part(text="Hello there")))

    assert isinstance(asked, InputRequired)
    assert all(skill.id in asked.text for skill in SKILLS)
    assert routed_to(message(Part(text="Hello"), Part(raw=b"x", filename="main.tf"))) == REVIEW
    assert routed_to(message(Part(data={"Resources": {}}))) == REVIEW
    assert routed_to(message(Part(text="```\nResources: {}\n```"))) == REVIEW


def test_templates_do_not_speak() -> None:
    template = "```yaml\nDescription: create, convert and deploy a stack\n```"

    assert routed_to(message(Part(text=f"Review\n{template}"))) == REVIEW
    assert routed_to(message(Part(text="Review\nResources:\n  Deploy: convert"))) == REVIEW


def test_an_answer_goes_to_the_skill_that_asked() -> None:
    waiting = {"task": "t", "skill": CONVERSION}

    assert routed_to(message(Part(text="review")), iac=waiting) == CONVERSION
    assert routed_to(message(Part(text="review")), iac={**waiting, "task": "another"}) == REVIEW


def test_very_long_words_cost_no_time() -> None:
    assert routed_to(message(Part(text="create " * 100_000 + "stack"))) == GENERATION


async def run(turn: Turn) -> AsyncIterator[Update]:
    """A skill that asks once, then is done: this module is its own."""
    if not turn.history:
        turn.state["asked"] = True
        yield InputRequired("Which region?")


def test_a_skill_keeps_its_task_until_it_is_done() -> None:
    skill = Skill(SKILLS[0].card, module=__name__)
    own = Router((skill,), NOTHING, {}, files_mean="")

    asked = rehearse(routed(own), message(Part(text="x"), skill=skill.id))
    done = rehearse(routed(own), message(Part(text="x"), skill=skill.id), "cn-hangzhou")

    assert asked.saved["iac"] == {"task": "task-1", "skill": skill.id}
    assert [turn.state for turn in done.turns] == [TaskState.INPUT_REQUIRED, TaskState.COMPLETED]
    assert "iac" not in done.saved
