"""Templates written by a model: what it may do, what it is told, and what callers get of it in the end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest

from a2a_agents.iac.generation import writing
from a2a_agents.iac.generation.checking import Files, Report, UnreviewedError, checker
from a2a_agents.iac.generation.drafts import MOST_FILE, MOST_FILES, Drafts, NotDoneError, check_name
from a2a_agents.iac.generation.inventory import unassociated
from a2a_agents.iac.generation.memory import KEY, MOST_REMEMBERED, Memory
from a2a_agents.iac.generation.model import Call, Delta, ModelError, Said, Tokens
from a2a_agents.iac.generation.problems import MOST_TOLD, Problem, Weight, errors, told
from a2a_agents.iac.generation.writing import MOST_REPAIRS, artifact_id, write
from a2a_agents.iac.operations.ros import RefusedError, Ros, UnreachableError
from a2a_agents.iac.operations.template import Template
from a2a_agents.iac.review.reviewing import as_sources, review
from a2a_agents.iac.review.told import sarif
from a2a_serverless.agent import (
    Agent,
    ArtifactChunk,
    Message,
    Part,
    ToolCall,
    ToolResult,
    Turn,
    Update,
    Usage,
    Working,
)
from a2a_serverless.agent.rehearsal import Rehearsal, TaskState, rehearse
from a2a_serverless.protocol.objects import Role
from tests.unit.agents.iac.writers import DONE, FIXED_ZONE, GOOD, ScriptedModel, call, writes

REQUEST = "Create a VPC with a vSwitch in cn-hangzhou."


async def here(files: Files) -> Report:
    """A review in this process, which is faster than one in its own."""
    found = review(as_sources(files))
    return {"sarif": sarif(found, ()), "passed_over": found.passed_over}


def written_by(
    model: ScriptedModel, *, region: str = "", connect: Callable[[], Awaitable[Ros]] | None = None
) -> Agent:
    def agent(turn: Turn) -> AsyncIterator[Update]:
        return write(turn, model, lambda where: checker(connect, where, here), region=region)

    return agent


def said(model: ScriptedModel, *messages: Any, **rehearsal: Any) -> Rehearsal:
    return rehearse(written_by(model), *(messages or (REQUEST,)), **rehearsal)


def of_kind(happened: Rehearsal, kind: type[Update]) -> list[Any]:
    return [update for turn in happened.turns for update in turn.updates if isinstance(update, kind)]


# What comes out -------------------------------------------------------------------------------------------


def test_a_good_template_is_delivered_as_an_artifact_and_as_a_file() -> None:
    happened = said(ScriptedModel([writes(), DONE]))

    assert happened.state is TaskState.COMPLETED
    assert happened.text.startswith("Wrote template.yaml (20 lines); the check finds no errors.")
    assert happened.texts["template.yaml"] == GOOD
    assert happened.files == {"template.yaml": GOOD.encode()}
    artifact = happened.artifacts["template.yaml"]
    assert (artifact.name, artifact.parts[0].media_type) == ("template.yaml", "application/yaml")


def test_what_the_model_says_and_does_is_told_on_the_way() -> None:
    happened = said(ScriptedModel([writes(), DONE]))

    assert happened.texts["response"] == "Writing it.\n\nDone."
    assert of_kind(happened, Working) == [Working("Writing a ROS template.")]
    assert of_kind(happened, ToolCall) == [
        ToolCall("c1", "write_file", {"name": "template.yaml", "content": GOOD})
    ]
    assert of_kind(happened, ToolResult) == [
        ToolResult("c1", "write_file", "Written: template.yaml, 20 lines.")
    ]
    assert of_kind(happened, Usage) == [Usage(100, 50, "scripted"), Usage(10, 5, "scripted")]


def test_errors_are_repaired_by_the_model_until_the_check_finds_none() -> None:
    model = ScriptedModel([writes(FIXED_ZONE), DONE, writes(GOOD), DONE])

    happened = said(model)

    assert happened.state is TaskState.COMPLETED
    assert happened.texts["template.yaml"] == GOOD
    asked = [said.text for said in model.heard[-1][1] if said.role == "user" and "check finds" in said.text]
    assert len(asked) == 1
    assert "Resources.VSwitch.Properties.ZoneId is a fixed value" in asked[0]
    assert "Repairing, round 1 of 5: 1 errors." in [update.text for update in of_kind(happened, Working)]


def test_a_model_that_never_gets_it_right_is_stopped_and_what_is_wrong_is_said() -> None:
    model = ScriptedModel([writes(FIXED_ZONE), DONE])

    happened = said(model)

    assert happened.state is TaskState.FAILED
    assert happened.text.startswith("After 5 rounds of repair the check still finds:\nerror template.yaml")
    assert (
        len([update for update in of_kind(happened, Working) if "Repairing" in update.text]) == MOST_REPAIRS
    )
    draft = happened.artifacts["template.yaml"]
    assert (draft.description, draft.parts[0].text) == ("A draft, not finished.", FIXED_ZONE)


def test_a_model_that_writes_nothing_has_written_nothing() -> None:
    happened = said(ScriptedModel([(Delta("Here you are!"),)]))

    assert happened.state is TaskState.FAILED
    assert "No file was written." in happened.text
    assert set(happened.artifacts) == {"response"}


def test_garbage_is_no_template() -> None:
    happened = said(ScriptedModel([writes("\x01\x02 {{{{ not a template"), DONE]))

    assert happened.state is TaskState.FAILED
    assert "template.yaml" in happened.text


@pytest.mark.parametrize(
    ("request_text", "language"),
    [
        ("Write Terraform for a VPC in cn-hangzhou", "a Terraform module"),
        ("A CloudFormation template with a queue", "a CloudFormation template"),
        ("A VPC in cn-hangzhou", "a ROS template"),
    ],
)
def test_the_request_says_in_which_language(request_text: str, language: str) -> None:
    happened = said(ScriptedModel([DONE]), request_text)

    assert Working(f"Writing {language}.") in of_kind(happened, Working)


# What is asked --------------------------------------------------------------------------------------------


def test_a_missing_region_is_asked_for_before_the_model_is() -> None:
    model = ScriptedModel([writes(), DONE])

    happened = said(model, "Create a VPC with a vSwitch.", "cn-beijing, and call it web")

    asked, done = happened.turns
    assert (asked.state, asked.text) == (
        TaskState.INPUT_REQUIRED, "For which region? For example cn-hangzhou.",
    )  # fmt: skip
    assert done.state is TaskState.COMPLETED
    instructions, conversation = model.heard[0]
    assert "Region: cn-beijing." in instructions
    assert conversation == [
        Said(role="user", text="Create a VPC with a vSwitch.\n\ncn-beijing, and call it web")
    ]


def test_the_region_is_the_one_said_before_or_the_deployments_own() -> None:
    model = ScriptedModel([writes(), DONE, writes(), DONE])

    said(model, "A VPC in cn-beijing", "Another VPC")
    rehearse(written_by(own := ScriptedModel([DONE]), region="eu-central-1"), "A VPC")

    assert "Region: cn-beijing." in model.heard[-1][0]
    assert "Region: eu-central-1." in own.heard[0][0]


def test_cloudformation_needs_no_region_of_alibaba_cloud() -> None:
    assert said(ScriptedModel([DONE]), "A CloudFormation template with a queue").turns[0].updates


def test_the_models_question_ends_the_turn_and_the_answer_is_its_result() -> None:
    model = ScriptedModel(
        [(call("ask_user", question="How many zones?", choices=["one", "two"]), Tokens(1, 1)), writes(), DONE]
    )

    happened = said(model, REQUEST, "two, please")

    asked, done = happened.turns
    assert (asked.state, asked.text) == (TaskState.INPUT_REQUIRED, "How many zones?\n- one\n- two")
    assert done.state is TaskState.COMPLETED
    assert model.results[0].text == "two, please"


def test_one_question_is_put_at_a_time_beside_other_calls() -> None:
    both = (
        call("ask_user", "a", question="How many zones?"),
        call("ask_user", "b", question="Which name?"),
        call("write_file", "c", name="template.yaml", content=GOOD),
    )
    model = ScriptedModel([both, DONE])

    happened = said(model, REQUEST, "two")

    assert happened.turns[0].text == "How many zones?"
    answers = {result.call_id: result.text for result in model.results}
    assert answers == {
        "b1": "One question at a time.", "c1": "Written: template.yaml, 20 lines.", "a1": "two",
    }  # fmt: skip


@pytest.mark.parametrize("question", ["What is your AccessKey secret?", "Please tell me the password", ""])
def test_a_question_for_a_secret_is_not_put(question: str) -> None:
    model = ScriptedModel([(call("ask_user", question=question),), writes(), DONE])

    happened = said(model)

    assert happened.state is TaskState.COMPLETED
    assert model.results[0].failed


# What the model may do ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "../template.yaml", "/etc/passwd", "a/../../b.yaml", "file:///t.yaml", "C:\\t.yaml", "", ".env",
        "run.sh", "a//b.yaml", "t.yaml\n", "a" * 200 + ".yaml", "no-kind", ".git/config.json",
    ],
)  # fmt: skip
def test_names_stay_inside_and_name_templates(name: str) -> None:
    with pytest.raises(NotDoneError):
        check_name(name)


@pytest.mark.parametrize(
    "name", ["template.yaml", "modules/net/main.tf", "a.json", "README.md", "x.template"]
)
def test_names_of_templates_are_taken(name: str) -> None:
    check_name(name)


def test_a_file_that_leads_out_is_not_written_and_the_model_is_told() -> None:
    model = ScriptedModel([writes(name="../../functions/turn/app.py"), writes(), DONE])

    happened = said(model)

    assert happened.state is TaskState.COMPLETED
    assert set(happened.files) == {"template.yaml"}
    assert model.results[0].failed
    assert "relative path" in model.results[0].text


def test_files_are_bounded_in_number_and_size() -> None:
    drafts = Drafts()
    with pytest.raises(NotDoneError, match="at most"):
        drafts.write("a.yaml", "x" * (MOST_FILE + 1))
    with pytest.raises(NotDoneError, match="at most"):
        drafts.write("a.yaml", "模" * (MOST_FILE // 6 + 1))
    for number in range(3):
        drafts.write(f"{number}.yaml", "x" * (MOST_FILE - 2))
    with pytest.raises(NotDoneError, match="together"):
        drafts.write("one-more.yaml", "x" * 10)
    few = Drafts({f"{number}.yaml": "x" for number in range(MOST_FILES)})
    with pytest.raises(NotDoneError, match="files already"):
        few.write("one-more.yaml", "x")
    few.write("0.yaml", "y")


@pytest.mark.parametrize("content", ["", "  \n", "a\0b"])
def test_what_is_no_text_is_not_written(content: str) -> None:
    with pytest.raises(NotDoneError):
        Drafts().write("a.yaml", content)


@pytest.mark.parametrize("old", ["", "missing", "x"])
def test_an_edit_needs_a_text_that_stands_in_the_file_once(old: str) -> None:
    with pytest.raises(NotDoneError):
        Drafts({"a.yaml": "x x"}).edit("a.yaml", old, "y")


def test_the_tools_read_edit_and_check_files_of_the_conversation() -> None:
    calls = (
        call("read_file", "read", name="theirs.yaml"),
        call("edit_file", "edit", name="theirs.yaml", old="cn-hangzhou-h", new="{Ref: ZoneId}"),
        call("validate_template", "check"),
        call("read_file", "again", name="theirs.yaml"),
        call("read_file", "none", name="missing.yaml"),
        call("read_file", "out", name="../out.yaml"),
        call("read_file", "hidden", name=".conversation/x"),
        call("edit_file", "nowhere", name="missing.yaml", old="a", new="b"),
        call("run_shell", "shell", command="rm -rf /"),
        call("write_file", "odd", name=7, content=None),
    )
    model = ScriptedModel([calls, DONE])

    happened = said(model, files={"theirs.yaml": FIXED_ZONE.encode()})

    results = {result.call_id.rstrip("1"): result for result in model.results}
    assert results["read"].text == FIXED_ZONE
    assert results["edit"].text == "Edited: theirs.yaml."
    assert "error" not in results["check"].text
    assert results["again"].text == GOOD
    assert "The user's: theirs.yaml" in results["none"].text
    failed = {name for name, result in results.items() if result.failed}
    assert failed == {"none", "out", "hidden", "nowhere", "shell", "odd"}
    assert happened.files["theirs.yaml"] == GOOD.encode()


def test_nothing_is_checked_before_it_is_written() -> None:
    model = ScriptedModel([(call("validate_template"),), writes(), DONE])

    said(model)

    assert model.results[0].failed


def test_a_file_that_is_not_text_cannot_be_read() -> None:
    model = ScriptedModel([(call("read_file", name="image.yaml"),), writes(), DONE])

    said(model, files={"image.yaml": b"\xff\xfe"})

    assert model.results[0].failed


def test_what_a_caller_sends_that_is_not_text_is_not_taken() -> None:
    happened = said(
        ScriptedModel([DONE]), [Part(raw=b"\x89PNG", media_type="image/png", filename="plan.png")]
    )

    assert happened.state is TaskState.REJECTED
    assert "plan.png" in happened.text


# What it may take -----------------------------------------------------------------------------------------


def test_a_model_that_goes_round_in_circles_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MOST_STEPS", 4)
    model = ScriptedModel([writes(FIXED_ZONE)])

    happened = said(model)

    assert len(model.heard) == 4
    assert happened.state is TaskState.FAILED
    assert happened.text.startswith("Gave up: the model has taken too many steps")
    assert "template.yaml" in happened.artifacts


def test_a_model_that_takes_too_many_tokens_is_stopped() -> None:
    model = ScriptedModel([(*writes()[:-1], Tokens(writing.MOST_TOKENS, 1))])

    happened = said(model)

    assert len(model.heard) == 1
    assert happened.text == (
        "Gave up: the model has taken too many tokens for one template. It may be unfinished."
    )


def test_a_model_that_is_busy_is_asked_again_later_and_given_up_in_the_end() -> None:
    busy = (ModelError("the model is busy", passing=True),)
    model = ScriptedModel([busy, writes(), DONE])

    assert said(model).state is TaskState.COMPLETED

    happened = said(ScriptedModel([busy]))
    assert happened.state is TaskState.FAILED
    assert happened.text.startswith("The model gives no answer: the model is busy.")
    assert happened.turns[0].segments == writing.MOST_FAILURES


def test_a_model_that_refuses_is_not_asked_again() -> None:
    model = ScriptedModel([(ModelError("it does not exist"),)])

    assert said(model).text.startswith("The model gives no answer: it does not exist.")
    assert len(model.heard) == 1


def test_a_task_goes_on_from_every_checkpoint_with_what_it_had() -> None:
    scripts = [writes(FIXED_ZONE), DONE, writes(GOOD), DONE]
    model = ScriptedModel(scripts)

    happened = said(model, resume=True)

    assert happened.state is TaskState.COMPLETED
    assert happened.turns[0].segments > 1
    assert len(model.heard) == len(scripts)
    assert happened.texts["template.yaml"] == GOOD


def test_what_another_version_of_the_agent_remembered_is_forgotten() -> None:
    happened = said(ScriptedModel([writes(), DONE]), state={KEY: {"steps": "many"}})

    assert happened.state is TaskState.COMPLETED


def test_what_is_remembered_is_bounded_and_files_are_not_forgotten() -> None:
    turn = Turn(
        message=Message(message_id="m", role=Role.USER, parts=(Part(text="x"),)),
        task_id="task", context_id="context", host=None,  # type: ignore[arg-type]
    )  # fmt: skip
    large = "x" * 90_000
    memory = Memory(task="task", files={"a.yaml": large})
    memory.conversation = [
        Said(role="user", text="Please"),
        *(
            Said(
                role="assistant", text=large, calls=[call("write_file", str(n), name="a.yaml", content=large)]
            )
            for n in range(8)
        ),
    ]

    memory.save(turn)

    kept = Memory.of(turn)
    assert len(kept.model_dump_json()) < MOST_REMEMBERED + len(large) + 1000
    assert kept.files == {"a.yaml": large}
    assert "forgotten" in kept.conversation[1].calls[0].arguments["content"]
    assert kept.conversation[-1].calls[0].arguments["content"] == large


# The check ------------------------------------------------------------------------------------------------


class Asked:
    """ROS, which says the same of every template."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.validated: list[str] = []

    async def validate(self, region: str, template: str) -> Sequence[Any]:
        self.validated.append(region)
        if self.error:
            raise self.error
        return ()


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (None, TaskState.COMPLETED),
        (RefusedError("InvalidTemplate", "No such property"), TaskState.FAILED),
        (UnreachableError("there is no answer"), TaskState.COMPLETED),
    ],
)
def test_ros_judges_what_the_rules_let_pass(error: Exception | None, state: TaskState) -> None:
    ros: Any = Asked(error)

    async def connect() -> Ros:
        connected: Ros = ros
        return connected

    happened = rehearse(written_by(ScriptedModel([writes(), DONE]), connect=connect), REQUEST)

    assert happened.state is state
    assert set(ros.validated) == {"cn-hangzhou"}
    assert (str(error or "") in happened.text) or isinstance(error, UnreachableError)


def test_files_are_reviewed_in_a_process_of_their_own() -> None:
    files = {"template.yaml": FIXED_ZONE, "open.tf": OPEN, "notes.md": "# Notes", "notes.json": "[1]"}

    problems = asyncio.run(checker(None, "")(files))

    found = {(one.file, one.rule) for one in errors(problems)}
    assert {
        ("template.yaml", "inventory-parameter"),
        ("open.tf", "IAC301"),
        ("notes.json", "unreadable"),
    } <= found
    assert not [one for one in problems if one.file == "notes.md"]
    assert [one.line for one in problems if one.rule == "IAC301"] == [5]


def test_what_cannot_be_reviewed_has_an_error() -> None:
    async def failing(_: Files) -> Report:
        raise UnreviewedError("The review took too long.")

    assert asyncio.run(checker(None, "", failing)({"a.yaml": "a"})) == [
        Problem("-", "The review took too long.", Weight.ERROR, "unreadable")
    ]


OPEN = """\
resource "alicloud_security_group_rule" "ssh" {
  type              = "ingress"
  ip_protocol       = "tcp"
  port_range        = "22/22"
  cidr_ip           = "0.0.0.0/0"
  security_group_id = "sg-1"
}
"""


def template(**properties: Any) -> Template:
    return Template(
        "t.yaml",
        str({"Parameters": {"Zone": {"Type": "String"}, "Type": {"AssociationProperty": "x"}},
             "Resources": {"Web": {"Type": "ALIYUN::ECS::Instance", "Properties": properties}}}),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("properties", "found"),
    [
        ({"ZoneId": "cn-hangzhou-h"}, ["Resources.Web.Properties.ZoneId is a fixed value"]),
        ({"ZoneId": {"Ref": "Zone"}}, ["Parameters.Zone, for Resources.Web.Properties.ZoneId, has no"]),
        ({"InstanceType": {"Ref": "Type"}}, []),
        ({"ZoneId": {"Fn::Select": [0, {"Fn::GetAZs": {"Ref": "ALIYUN::Region"}}]}}, []),
        ({"ZoneIds": ["a", "b"]}, ["Properties.ZoneIds is a fixed", "Properties.ZoneIds is a fixed"]),
        ({"DiskMappings": [{"DiskCategory": "cloud"}]}, ["Properties.DiskMappings[0].DiskCategory is a"]),
        ({"Name": "web", "Tags": {"ZoneId2": "x"}}, []),
    ],
)
def test_what_a_zone_may_run_out_of_is_an_associated_parameter(
    properties: Mapping[str, Any], found: list[str]
) -> None:
    problems = list(unassociated(template(**properties)))

    assert len(problems) == len(found)
    assert all(text in str(problem) for text, problem in zip(found, problems, strict=True))


def test_problems_are_told_worst_first_and_not_without_end() -> None:
    note, error = Problem("a", "small", Weight.NOTE, "r", 3), Problem("b", "bad")

    assert told([note, error]) == "error b: bad\nnote a:3: small [r]"
    assert errors([note, error]) == [error]
    assert told([error] * (MOST_TOLD + 2)).endswith("… and 2 more")


def test_artifacts_have_ids_that_names_of_files_need_not_be() -> None:
    assert artifact_id("modules/net/main.tf") == "modules:net:main.tf"


def test_only_text_comes_out_of_a_turn() -> None:
    """What the model said is shown as text or as files, and ends nowhere else."""
    happened = said(
        ScriptedModel([(Delta("$(rm -rf /)"), Call(call_id="x", name="write_file")), writes(), DONE])
    )

    kinds = {type(update) for turn in happened.turns for update in turn.updates}
    assert kinds - {ArtifactChunk, Working, ToolCall, ToolResult, Usage} == {type(happened.updates[-1])}
