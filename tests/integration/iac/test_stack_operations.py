"""Stacks created, changed, repaired, deleted and diagnosed, by the official SDK against a real server."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from a2a_agents.iac.operations import following
from a2a_agents.iac.operations.aliyun_ros import AliyunRos
from a2a_agents.iac.operations.credentials import Credentials
from a2a_agents.iac.operations.memory import KEY
from a2a_agents.iac.operations.ros import (
    Change,
    NoSuchStackError,
    NotAuthorizedError,
    RefusedError,
    Ros,
    ThrottledError,
    UnreachableError,
)
from a2a_agents.iac.operations.template import MOST_BYTES
from a2a_agents.iac.operations.work import MOST_FAILURES
from a2a_serverless.agent import Part, Working
from a2a_serverless.agent.rehearsal import Rehearsal, TaskState
from tests.fakes.ros import (
    ACCESS_KEY_ID,
    ACCESS_KEY_SECRET,
    REGION,
    SECURITY_TOKEN,
    FakeRos,
)
from tests.integration.iac.conftest import Desk, at_once

# The SDK's own, on newer Pythons.
pytestmark = pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")

PASSWORD = "hunter2-hunter2"
TEMPLATE = """\
ROSTemplateFormatVersion: '2015-09-01'
Parameters:
  Zone: {Type: String}
  DbPassword: {Type: String, NoEcho: true}
Resources:
  Vpc: {Type: ALIYUN::ECS::VPC}
  Eip: {Type: ALIYUN::VPC::EIP}
Outputs:
  VpcId: {Value: {Ref: Vpc}}
  Password: {Value: {Ref: DbPassword}}
"""
SIMPLE = """\
ROSTemplateFormatVersion: '2015-09-01'
Parameters:
  Size: {Type: String, Default: small}
Resources:
  Vpc: {Type: ALIYUN::ECS::VPC}
  Eip: {Type: ALIYUN::VPC::EIP}
Outputs:
  VpcId: {Value: {Ref: Vpc}}
"""
FILES = {"t.yaml": TEMPLATE.encode(), "simple.yaml": SIMPLE.encode()}
CREATE = f"create stack web in {REGION} from file:///t.yaml with Zone=h and DbPassword={PASSWORD}"
CREATE_SIMPLE = f"create stack web in {REGION} from file:///simple.yaml"


def progress(happened: Rehearsal) -> list[str]:
    return [
        update.text or "" for turn in happened.turns for update in turn.updates if isinstance(update, Working)
    ]


def outputs(happened: Rehearsal) -> Any:
    return happened.artifacts["stack-web"].parts[0].data


# Creating ---------------------------------------------------------------------------------------------------


def test_a_stack_is_created_after_permission_and_followed_to_its_end(desk: Desk, ros: FakeRos) -> None:
    ros.prices = {"ALIYUN::VPC::EIP": 0.02}

    happened = desk.say(CREATE, files=FILES)

    assert (happened.state, happened.text) == (TaskState.COMPLETED, "Stack web is CREATE_COMPLETE.")
    assert ros.effects == {"CreateStack": 1}
    (asked,) = happened.asked
    assert (asked.tool, asked.target) == ("ros.create_stack", "cn-hangzhou/web")
    assert asked.effect == (
        "Creates 2 resources: Vpc (ALIYUN::ECS::VPC), Eip (ALIYUN::VPC::EIP). What fails is kept, not rolled"
        " back.\nPrice estimate: 0.02 CNY/Hour. Without a price: Vpc."
    )
    request = ros.last("CreateStack")
    assert (request["DisableRollback"], request["TimeoutInMinutes"]) == ("True", "60")
    assert request["TemplateBody"] == TEMPLATE
    assert ros.stack("web").parameters == {"Zone": "h", "DbPassword": PASSWORD}
    assert outputs(happened) == {
        "stackId": ros.stack("web").stack_id,
        "stackName": "web",
        "regionId": REGION,
        "status": "CREATE_COMPLETE",
        "outputs": {"VpcId": "vpc-1", "Password": "***"},
    }


def test_every_event_of_a_stack_is_told_once(desk: Desk, ros: FakeRos) -> None:
    happened = desk.say(CREATE, files=FILES)

    told = "\n".join(progress(happened))
    lines = [
        f"{event['LogicalResourceId']} ({event['ResourceType']}) {event['Status']}"
        for event in ros.stack("web").events
    ]
    assert len(lines) == len(set(lines)) == 6
    assert [told.count(line) for line in lines] == [1] * 6


def test_nothing_runs_while_ros_works_and_the_caller_knows_what_cancelling_does_not_stop(
    desk: Desk, ros: FakeRos
) -> None:
    happened = desk.say(CREATE, files=FILES)

    # Loading the SDK, and three looks at the stack: each in an invocation of its own.
    assert happened.turns[-1].segments == 5
    told = progress(happened)
    asked = (
        "ROS is asked to create stack web in cn-hangzhou. From here on, cancelling this task stops nothing"
        " there."
    )
    begun = told.index(asked)
    assert told[begun + 1].startswith(f"ROS is at work on stack web ({ros.stack('web').stack_id})")


def test_without_permission_nothing_is_changed(desk: Desk, ros: FakeRos) -> None:
    happened = desk.say(CREATE, allow=False, files=FILES)

    assert (happened.state, happened.text) == (
        TaskState.REJECTED, "Not allowed: nothing was changed on stack web.",
    )  # fmt: skip
    assert ros.effects == {}


@pytest.mark.parametrize("word", ["no", "Cancel."])
def test_a_plain_no_denies(desk: Desk, ros: FakeRos, word: str) -> None:
    happened = desk.say(CREATE, word, allow=None, files=FILES)

    assert happened.state is TaskState.REJECTED
    assert ros.effects == {}


def test_a_message_that_made_no_sense_is_forgotten(desk: Desk, ros: FakeRos) -> None:
    happened = desk.say(Part(data={"action": "create", "region": 7}), CREATE, files=FILES)

    assert [turn.state for turn in happened.turns][::2] == [TaskState.INPUT_REQUIRED, TaskState.COMPLETED]
    assert ros.effects == {"CreateStack": 1}


def test_what_another_version_of_the_agent_remembered_is_forgotten(desk: Desk) -> None:
    happened = desk.say(f"list stacks in {REGION}", state={KEY: {"task": 7, "plan": "x"}})

    assert happened.state is TaskState.COMPLETED


def test_another_message_is_no_permission(desk: Desk, ros: FakeRos) -> None:
    happened = desk.say(CREATE, "yes, of course", "allow_once", allow=None, files=FILES)

    assert [turn.state for turn in happened.turns] == [TaskState.INPUT_REQUIRED] * 3
    assert ros.effects == {}


def test_what_is_missing_is_asked_for_one_after_the_other(desk: Desk, ros: FakeRos) -> None:
    ros.allowed = {"Zone": ["h", "i"]}

    happened = desk.say(
        "create a stack",
        "cn-hangzhou",
        "web",
        [Part(text="Here it is."), Part(raw=TEMPLATE.encode(), media_type="text/yaml", filename="x.yaml")],
        "Zone=h",
        Part(data={"parameters": {"DbPassword": PASSWORD}}),
    )

    asked = [turn.text for turn in happened.turns if turn.permission is None]
    give = 'Please give these parameters, as NAME=VALUE or as a data part {"parameters": {…}}:\n'
    assert asked == [
        "In which region? For example cn-hangzhou.",
        "How is the stack to be called?",
        "Which template? Send it, or name a file of this conversation (file:///name.yaml).",
        f"{give}- Zone (one of h, i)\n- DbPassword (is not echoed)",
        f"{give}- DbPassword (is not echoed)",
        "Stack web is CREATE_COMPLETE.",
    ]
    assert ros.effects == {"CreateStack": 1}


def test_the_region_is_the_one_said_before_or_the_deployments_own(desk: Desk, ros: FakeRos) -> None:
    desk.region = REGION

    assert desk.say("list stacks").state is TaskState.COMPLETED
    happened = desk.say("list the stacks in cn-beijing", "list stacks")
    assert [request["RegionId"] for action, request in ros.asked if action == "ListStacks"] == [
        REGION, "cn-beijing", "cn-beijing",
    ]  # fmt: skip
    assert happened.texts["stacks"] == "# Stacks in cn-beijing\n\nThere are none.\n"


def test_a_name_that_is_taken_is_not_touched(desk: Desk, ros: FakeRos) -> None:
    ros.made("web", SIMPLE)

    happened = desk.say(CREATE_SIMPLE, "web-2", files=FILES)

    assert "There is a stack web in cn-hangzhou already (CREATE_COMPLETE)" in happened.turns[0].text
    assert happened.state is TaskState.COMPLETED
    assert ros.effects == {"CreateStack": 1}
    assert ros.stack("web-2").status == "CREATE_COMPLETE"


def test_a_template_that_ros_does_not_accept_is_asked_for_again(desk: Desk, ros: FakeRos) -> None:
    bad = f"create stack web in {REGION}\n```\nResources: {{}}\n```"

    happened = desk.say(bad, f"```\n{SIMPLE}```")

    assert happened.turns[0].text.startswith("ROS does not accept the template")
    assert happened.state is TaskState.COMPLETED


@pytest.mark.parametrize("name", ["missing.yaml", "../out.yaml"])
def test_a_template_that_is_not_there_is_asked_for(desk: Desk, name: str) -> None:
    happened = desk.say(f"create stack web in {REGION} from file:///{name}")

    assert happened.text == f"This conversation has no template {name!r}. Send it, or name another file."


def test_prices_and_constraints_that_ros_does_not_tell_hold_nobody_up(desk: Desk, ros: FakeRos) -> None:
    ros.refuse("GetTemplateEstimateCost", 400, "NotSupported")
    ros.refuse("GetTemplateParameterConstraints", 400, "NotSupported")

    happened = desk.say(CREATE_SIMPLE, files=FILES)

    assert happened.state is TaskState.COMPLETED
    assert "ROS gives no price estimate." in happened.asked[0].effect


def test_the_plan_says_what_ros_does_not_offer_and_what_the_template_does_not_declare(
    desk: Desk, ros: FakeRos
) -> None:
    ros.allowed = {"Size": ["small", "large"]}

    happened = desk.say(f"{CREATE_SIMPLE} with Size=huge Colour=red", files=FILES)

    assert "Size=huge is not among what ROS offers: small, large." in happened.asked[0].effect
    assert "Not in the template, and left out: Colour." in happened.asked[0].effect
    assert "Colour" not in ros.stack("web").parameters


def test_a_template_that_changed_after_it_was_asked_for_is_not_run(desk: Desk, ros: FakeRos) -> None:
    async def meddling() -> Ros:
        if ros.actions().count("ValidateTemplate"):
            files["simple.yaml"] = files["simple.yaml"][0], b"Resources: {Evil: {}}"
        return await connect()

    connect, files = desk.connect, {}

    def agent(turn: Any) -> Any:
        nonlocal files
        files = turn.workspace.files
        desk.connect = meddling  # type: ignore[method-assign]
        return Desk.agent(desk, turn)

    desk.agent = agent  # type: ignore[method-assign]
    happened = desk.say(CREATE_SIMPLE, files=FILES)

    assert happened.text == "The template has changed since it was asked for. Say again what is to be done."
    assert ros.effects == {}


# What fails -------------------------------------------------------------------------------------------------


class Healed(dict[str, str]):
    """What fails until somebody goes on with it."""

    def __init__(self, ros: FakeRos, **reasons: str) -> None:
        super().__init__(reasons)
        self.ros = ros

    def get(self, name: str, default: Any = None) -> Any:
        return default if "ContinueCreateStack" in self.ros.effects else super().get(name, default)


def test_a_stack_that_fails_is_diagnosed_and_repaired_in_the_same_task(desk: Desk, ros: FakeRos) -> None:
    ros.failing = Healed(ros, Eip="QuotaExceeded.Eip: no more addresses")

    happened = desk.say(CREATE_SIMPLE, "Size=large", files=FILES)

    failed = next(turn for turn in happened.turns if "CREATE_FAILED" in turn.text)
    assert failed.state is TaskState.INPUT_REQUIRED
    assert failed.text.startswith(
        "Stack web is CREATE_FAILED. Resource CREATE failed: Eip: QuotaExceeded.Eip"
    )
    assert "First **Eip** (ALIYUN::VPC::EIP): QuotaExceeded.Eip" in happened.texts["diagnosis-web"]
    assert happened.state is TaskState.COMPLETED
    assert ros.effects == {"CreateStack": 1, "ContinueCreateStack": 1}
    assert [asked.tool for asked in happened.asked] == ["ros.create_stack", "ros.continue_create_stack"]
    assert ros.stack("web").parameters == {"Size": "large"}
    assert outputs(happened)["status"] == "CREATE_COMPLETE"


def test_a_stack_that_changed_after_it_was_asked_for_is_not_touched(desk: Desk, ros: FakeRos) -> None:
    stack = ros.made("web", SIMPLE)

    def allow(_: Any) -> bool:
        stack.updated_at = "2026-02-02T00:00:00"
        return True

    happened = desk.say(f"delete stack web in {REGION}", allow=None, decisions=allow)

    assert happened.text == "Stack web has changed since it was asked for. Say again what is to be done."
    assert ros.effects == {}


def test_a_repair_may_bring_another_template(desk: Desk, ros: FakeRos) -> None:
    ros.failing = {"Eip": "no"}
    without = SIMPLE.replace("  Eip: {Type: ALIYUN::VPC::EIP}\n", "")

    happened = desk.say(CREATE_SIMPLE, f"```\n{without}```", files=FILES)

    request = ros.last("ContinueCreateStack")
    assert (request["TemplateBody"], request["Mode"]) == (without, "Recreate")
    assert happened.asked[-1].arguments is not None


@pytest.mark.parametrize("answer", ["no", "Leave it."])
def test_a_stack_that_failed_may_be_left(desk: Desk, ros: FakeRos, answer: str) -> None:
    ros.failing = {"Eip": "no"}

    happened = desk.say(CREATE_SIMPLE, answer, files=FILES)

    assert (happened.state, happened.text) == (
        TaskState.FAILED, "Stack web could not be created. What was created of it stays.",
    )  # fmt: skip
    assert ros.effects == {"CreateStack": 1}


def test_a_stack_that_failed_may_be_deleted_in_the_same_task(desk: Desk, ros: FakeRos) -> None:
    ros.failing = {"Vpc": "no"}

    def healed(desk: Desk) -> Rehearsal:
        return desk.say(CREATE_SIMPLE, "delete it", files=FILES)

    happened = healed(desk)

    assert [asked.tool for asked in happened.asked] == ["ros.create_stack", "ros.delete_stack"]
    assert ros.effects == {"CreateStack": 1, "DeleteStack": 1}


def test_what_ros_refuses_fails_without_a_secret_in_it(desk: Desk, ros: FakeRos) -> None:
    ros.refuse("CreateStack", 400, "InvalidParameter", f"The value {PASSWORD} of DbPassword is too weak.")

    happened = desk.say(CREATE, files=FILES)

    assert (happened.state, happened.text) == (
        TaskState.FAILED, "ROS refuses. InvalidParameter: The value *** of DbPassword is too weak.",
    )  # fmt: skip


# Updating, deleting, looking --------------------------------------------------------------------------------


def test_a_stack_is_updated_with_a_template_or_with_parameters(desk: Desk, ros: FakeRos) -> None:
    ros.made("web", SIMPLE, Size="small")
    more = SIMPLE.replace("Outputs:", "  Disk: {Type: ALIYUN::ECS::Disk}\nOutputs:")

    first = desk.say(
        f"update stack web in {REGION} from file:///more.yaml", files={"more.yaml": more.encode()}
    )
    second = desk.say(f"update stack web in {REGION} with Size=large")

    assert (first.state, second.state) == (TaskState.COMPLETED, TaskState.COMPLETED)
    assert ros.effects == {"UpdateStack": 2}
    assert ros.last("UpdateStack")["UsePreviousParameters"] == "True"
    assert (ros.stack("web").template, ros.stack("web").parameters) == (more, {"Size": "large"})
    told = "\n".join(progress(first))
    assert "Disk (ALIYUN::ECS::Disk) CREATE_COMPLETE" in told
    assert "web (ALIYUN::ROS::Stack) UPDATE_COMPLETE" in told
    assert "UPDATE_COMPLETE" in "\n".join(progress(second))
    assert "Disk" not in "\n".join(progress(second))[-200:]


def test_an_update_that_changes_nothing_is_asked_about(desk: Desk, ros: FakeRos) -> None:
    ros.made("web", SIMPLE)

    happened = desk.say(f"update stack web in {REGION}")

    assert happened.text.startswith("What is to be changed?")
    assert ros.effects == {}


def test_an_update_that_fails_is_diagnosed(desk: Desk, ros: FakeRos) -> None:
    ros.made("web", SIMPLE)
    ros.failing = {"Disk": "OperationDenied.NoStock"}
    more = SIMPLE.replace("Outputs:", "  Disk: {Type: ALIYUN::ECS::Disk}\nOutputs:")

    happened = desk.say(f"update stack web in {REGION}\n```\n{more}```")

    assert happened.state is TaskState.FAILED
    assert "choose another zone" in happened.texts["diagnosis-web"]


def test_a_stack_that_is_busy_is_not_touched(desk: Desk, ros: FakeRos) -> None:
    ros.made("web", SIMPLE, status="UPDATE_IN_PROGRESS")

    happened = desk.say(f"delete stack web in {REGION}")

    assert happened.state is TaskState.REJECTED
    assert ros.effects == {}


def test_a_stack_is_deleted_but_for_what_is_retained(desk: Desk, ros: FakeRos) -> None:
    ros.made("web", SIMPLE)

    happened = desk.say(f"delete stack web in {REGION} but retain Eip")

    assert (happened.state, happened.text) == (TaskState.COMPLETED, "Stack web is deleted.")
    (asked,) = happened.asked
    assert asked.effect == (
        "Deletes the stack and 1 resources for good: Vpc (ALIYUN::ECS::VPC). Retains Eip."
    )
    assert asked.arguments is not None
    assert asked.arguments["retainResources"] == ["Eip"]
    assert set(ros.stack("web").resources) == {"Eip"}


def test_what_a_stack_does_not_have_cannot_be_retained(desk: Desk, ros: FakeRos) -> None:
    ros.made("web", SIMPLE)

    assert "has no resource Disk" in desk.say(f"delete stack web in {REGION} but retain Disk").text


def test_a_deletion_that_fails_says_why_and_what_is_left(desk: Desk, ros: FakeRos) -> None:
    ros.made("web", SIMPLE)
    ros.failing = {"Vpc": "DependencyViolation.VSwitch"}

    happened = desk.say(f"delete stack web in {REGION}")

    assert happened.state is TaskState.FAILED
    assert happened.text.startswith("Stack web is DELETE_FAILED.")
    assert "still uses it" in happened.texts["diagnosis-web"]


def test_a_stack_that_does_not_exist_is_asked_about(desk: Desk, ros: FakeRos) -> None:
    ros.made("web", SIMPLE)

    happened = desk.say(f"delete stack wbe in {REGION}", "web")

    assert happened.turns[0].text == "There is no stack wbe in cn-hangzhou. Which one is meant?"
    assert ros.effects == {"DeleteStack": 1}


def test_stacks_are_listed(desk: Desk, ros: FakeRos) -> None:
    for number in range(60):
        ros.made(f"web-{number}", SIMPLE)

    happened = desk.say(f"list stacks in {REGION}")

    lines = happened.texts["stacks"].splitlines()
    assert len(lines) == 4 + 60
    assert lines[4].startswith("| web-59 | CREATE_COMPLETE |")


def test_a_stack_is_followed_by_name_or_id_without_permission(desk: Desk, ros: FakeRos) -> None:
    stack = ros.made("web", SIMPLE)

    by_name = desk.say(f"status of stack web in {REGION}", "why did it fail?")
    by_id = desk.say(f"status of stack {stack.stack_id} in {REGION}")

    assert outputs(by_id)["outputs"] == {"VpcId": "vpc-1"}
    assert [turn.text for turn in by_name.turns] == ["Stack web is CREATE_COMPLETE."] * 2
    assert not by_name.asked
    assert ros.effects == {}


def test_why_a_stack_failed_is_told_without_touching_it(desk: Desk, ros: FakeRos) -> None:
    ros.failing = {"Eip": "QuotaExceeded.Eip"}
    desk.say(CREATE_SIMPLE, files=FILES)
    before = dict(ros.effects)

    happened = desk.say(f"Check why the creation of stack web failed in {REGION}")

    assert (happened.state, happened.text) == (TaskState.COMPLETED, "Stack web is CREATE_FAILED.")
    assert "A quota of the account is used up" in happened.texts["diagnosis-web"]
    assert ros.effects == before
    assert not happened.asked


def test_a_stack_that_somebody_deletes_meanwhile_is_gone(desk: Desk, ros: FakeRos) -> None:
    stack = ros.made("web", SIMPLE, status="UPDATE_IN_PROGRESS")
    ros.refuse("ListStackEvents", 404, "StackNotFound")

    happened = desk.say(f"status of stack {stack.stack_id} in {REGION}")

    assert (happened.state, happened.text) == (
        TaskState.FAILED, "Stack web is gone: somebody has deleted it.",
    )  # fmt: skip


def test_it_is_asked_what_is_to_be_done_and_one_thing_at_a_time(desk: Desk) -> None:
    assert desk.say("stack web in cn-hangzhou").text.startswith("What is to be done")
    assert desk.say("update or delete stack web").text == "One thing at a time: delete or update?"
    assert desk.say(Part(data={"action": "explode"})).text == "This makes no sense: action."


def test_an_id_that_is_no_longer_a_stack_leads_to_none(desk: Desk, ros: FakeRos) -> None:
    gone = ros.made("web", SIMPLE, status="DELETE_COMPLETE")

    for stack_id in (gone.stack_id, "9d8a8f1e-3c0b-4a7e-9d55-0123456789ab"):
        assert desk.say(f"status of stack {stack_id} in {REGION}").text.startswith("There is no stack")


def test_a_stack_that_is_gone_once_it_is_deleted_was_deleted(desk: Desk, ros: FakeRos) -> None:
    ros.made("web", SIMPLE)

    class Gone(dict[str, str]):
        """Nothing fails; once the deletion has begun nobody knows the stack."""

        def get(self, name: str, default: Any = None) -> Any:
            ros.refuse("GetStack", 404, "StackNotFound")
            return default

    ros.failing = Gone()
    happened = desk.say(f"delete stack web in {REGION}")

    assert (happened.state, happened.text) == (TaskState.COMPLETED, "Stack web is deleted.")


def test_a_stack_that_never_gets_done_is_not_followed_for_ever(
    desk: Desk, ros: FakeRos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "MOST_LOOKS", 1)
    ros.made("web", SIMPLE.replace("Outputs", "  Disk: {Type: T}\nOutputs"), status="CREATE_IN_PROGRESS")
    for resource in ros.stack("web").resources.values():
        resource["Status"] = "INIT_COMPLETE"

    happened = desk.say(f"status of stack web in {REGION}")

    assert happened.state is TaskState.FAILED
    assert happened.text == "Stack web is still CREATE_IN_PROGRESS. ROS goes on; ask again later."


def test_a_template_that_is_too_large_is_not_taken(desk: Desk) -> None:
    large = Part(text=SIMPLE + "#" * MOST_BYTES, media_type="application/yaml")

    assert "too large" in desk.say([Part(text=f"create stack web in {REGION}"), large]).text


def test_secrets_that_are_gone_when_permission_comes_are_asked_for_again(desk: Desk, ros: FakeRos) -> None:
    asked = desk.say(CREATE, allow=None, files=FILES)
    saved = {**asked.saved, KEY: {**asked.saved[KEY], "heard": "message-1"}}

    happened = desk.say("go on", allow=True, state=saved, files=FILES)

    assert happened.text == "Please give these again, they are not kept: DbPassword."
    assert ros.effects == {}


# What goes wrong on the way ---------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["throttle", "lose", "garble"])
@pytest.mark.parametrize("action", ["ListStacks", "CreateStack", "GetStack", "ListStackEvents"])
def test_an_answer_that_does_not_come_is_asked_for_again(
    desk: Desk, ros: FakeRos, fault: str, action: str
) -> None:
    getattr(ros, fault)(action)

    happened = desk.say(CREATE_SIMPLE, files=FILES)

    assert happened.state is TaskState.COMPLETED
    assert ros.effects == {"CreateStack": 1}
    assert len(ros.stacks) == 1


@pytest.mark.parametrize(
    ("action", "said", "status"),
    [
        ("DeleteStack", f"delete stack web in {REGION}", "CREATE_COMPLETE"),
        ("ContinueCreateStack", f"continue creating stack web in {REGION}", "CREATE_FAILED"),
        ("UpdateStack", f"update stack web in {REGION} with Size=large", "CREATE_COMPLETE"),
    ],
)
def test_a_change_whose_answer_is_lost_is_not_made_twice(
    desk: Desk, ros: FakeRos, action: str, said: str, status: str
) -> None:
    ros.made("web", SIMPLE, status=status)
    ros.lose(action)

    happened = desk.say(said)

    assert happened.state is TaskState.COMPLETED
    assert ros.effects == {action: 1}


def test_who_cannot_be_reached_is_asked_again_later_and_given_up_in_the_end(desk: Desk, ros: FakeRos) -> None:
    ros.throttle("ListStacks", times=3 * (MOST_FAILURES + 1))

    happened = desk.say(CREATE_SIMPLE, files=FILES)

    assert (happened.state, happened.text) == (
        TaskState.FAILED, "ROS cannot be asked: asked too often. Nothing was changed.",
    )  # fmt: skip
    assert happened.turns[0].segments == MOST_FAILURES + 2


def test_it_is_said_once_that_an_answer_may_take_a_while(desk: Desk, ros: FakeRos) -> None:
    ros.throttle("ListStacks", times=3 * 2)

    happened = desk.say(CREATE_SIMPLE, files=FILES)

    said = "ROS cannot be asked: asked too often. It is asked again every half a minute, for ten minutes."
    assert progress(happened).count(said) == 1


def test_a_change_that_may_have_been_begun_is_not_said_to_have_failed(desk: Desk, ros: FakeRos) -> None:
    ros.refuse("CreateStack", 500, "InternalError", times=3 * (MOST_FAILURES + 1))

    happened = desk.say(CREATE_SIMPLE, files=FILES)

    assert "Whether the change was begun is not known" in happened.text
    assert len(happened.asked) == 1


def test_a_stack_that_can_no_longer_be_followed_is_said_to_go_on(desk: Desk, ros: FakeRos) -> None:
    ros.refuse("GetStack", 500, "InternalError", times=3 * (MOST_FAILURES + 1))

    happened = desk.say(CREATE_SIMPLE, files=FILES)

    assert "ROS is at work on stack web" in happened.text
    assert happened.state is TaskState.FAILED


# Credentials ------------------------------------------------------------------------------------------------


def test_wrong_credentials_ask_for_authorisation_and_the_task_goes_on_with_right_ones(
    desk: Desk, ros: FakeRos
) -> None:
    desk.credentials = Credentials(ACCESS_KEY_ID, "not-the-secret")

    def agent(turn: Any) -> Any:
        if turn.message.parts[0].text == "Go on, please.":
            desk.credentials = Credentials(ACCESS_KEY_ID, ACCESS_KEY_SECRET)
        return Desk.agent(desk, turn)

    desk.agent = agent  # type: ignore[method-assign]
    happened = desk.say(CREATE, "Go on, please.", files=FILES)

    assert happened.turns[0].state is TaskState.AUTH_REQUIRED
    assert happened.turns[0].text.startswith("Alibaba Cloud cannot be asked: SignatureDoesNotMatch.")
    assert "IAC_ROS_CREDENTIALS" in happened.turns[0].text
    assert happened.state is TaskState.COMPLETED
    assert ros.effects == {"CreateStack": 1}


def test_temporary_credentials_wear_out(desk: Desk, ros: FakeRos) -> None:
    ros.security_token = SECURITY_TOKEN
    desk.credentials = Credentials(ACCESS_KEY_ID, ACCESS_KEY_SECRET, "worn-out")
    assert desk.say(CREATE, files=FILES).state is TaskState.AUTH_REQUIRED

    desk.credentials = Credentials(ACCESS_KEY_ID, ACCESS_KEY_SECRET, SECURITY_TOKEN)
    assert desk.say(CREATE, files=FILES).state is TaskState.COMPLETED


def test_no_secret_is_in_anything_that_leaves(
    desk: Desk, ros: FakeRos, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(0)
    ros.security_token = SECURITY_TOKEN
    desk.credentials = Credentials(ACCESS_KEY_ID, ACCESS_KEY_SECRET, SECURITY_TOKEN)
    ros.failing = {"Eip": f"Password {PASSWORD} does not fit"}
    ros.lose("GetStack")

    happened = desk.say(CREATE, f"continue with DbPassword={PASSWORD}!", "no", files=FILES)

    shown = [repr([turn.updates, turn.text, turn.permission]) for turn in happened.turns]
    printed = capfd.readouterr()
    everything = [*shown, *desk.states, repr(happened.saved), caplog.text, printed.out, printed.err]
    for secret in (ACCESS_KEY_SECRET, SECURITY_TOKEN, PASSWORD, ACCESS_KEY_ID):
        assert not [text for text in everything if secret in text]
    assert "Password *** does not fit" in happened.texts["diagnosis-web"]


# Crashes ----------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Dying:
    """ROS for a process that dies right after it was asked to create a stack."""

    ros: Any
    before: bool

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ros, name)

    async def create_stack(self, name: str, change: Change) -> str:
        if not self.before:
            await self.ros.create_stack(name, change)
        raise Killed


def left_by(happened: Rehearsal) -> dict[str, Any]:
    """What a conversation holds for its next task."""
    saved = dict(happened.saved)
    saved[KEY] = {**saved[KEY], "task": "an earlier task"}
    return saved


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("said", ["go on with stack web", CREATE_SIMPLE])
def test_a_crash_in_the_middle_never_makes_two_stacks(
    desk: Desk, ros: FakeRos, said: str, *, before: bool
) -> None:
    asked = desk.say(CREATE_SIMPLE, allow=None, files=FILES)
    connect = desk.connect

    async def dying() -> Any:
        return Dying(await connect(), before)

    desk.connect = dying  # type: ignore[method-assign]
    with pytest.raises(Killed):
        desk.say(CREATE_SIMPLE, files=FILES)
    desk.connect = connect  # type: ignore[method-assign]

    happened = desk.say(said, state=left_by(asked), files=FILES)

    assert happened.state is TaskState.COMPLETED
    assert ros.effects == {"CreateStack": 1}
    assert len(happened.asked) == (1 if before else 0)
    assert outputs(happened)["status"] == "CREATE_COMPLETE"


def test_what_an_earlier_task_began_is_created_under_its_own_token(desk: Desk, ros: FakeRos) -> None:
    asked = desk.say(CREATE_SIMPLE, allow=None, files=FILES)

    desk.say("go on with stack web", state=left_by(asked), files=FILES)

    assert ros.last("CreateStack")["ClientToken"] == asked.saved[KEY]["plan"]["token"]


def test_secrets_of_an_earlier_task_are_asked_for_again(desk: Desk, ros: FakeRos) -> None:
    asked = desk.say(CREATE, allow=None, files=FILES)

    happened = desk.say("go on with stack web", f"DbPassword={PASSWORD}", state=left_by(asked), files=FILES)

    assert "- DbPassword (is not echoed)" in happened.turns[0].text
    assert "- Zone" not in happened.turns[0].text
    assert happened.state is TaskState.COMPLETED


# The SDK ----------------------------------------------------------------------------------------------------


def connected(desk: Desk) -> AliyunRos:
    return AliyunRos(desk.credentials, endpoint=desk.endpoint, sleep=at_once)


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def test_events_come_in_pages_and_only_from_the_moment_on(desk: Desk, ros: FakeRos) -> None:
    stack = ros.made("web", SIMPLE)
    for number in range(120):
        ros._tell(stack, f"R{number}", "T", "CREATE_COMPLETE")

    events = run(connected(desk).events(REGION, stack.stack_id))
    late = run(connected(desk).events(REGION, stack.stack_id, events[100].at))

    assert [event.resource for event in events] == [f"R{number}" for number in range(120)]
    assert late == events[100:]
    assert ros.actions() == ["ListStackEvents"] * 4


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, "StackNotFound", NoSuchStackError),
        (403, "Forbidden.RAM", NotAuthorizedError),
        (403, "NoPermission", NotAuthorizedError),
        (404, "InvalidAccessKeyId.NotFound", NotAuthorizedError),
        (429, "Throttling.Api", ThrottledError),
        (400, "Throttling.User", ThrottledError),
        (503, "ServiceUnavailable", ThrottledError),
        (500, "InternalError", UnreachableError),
        (400, "InvalidParameter", RefusedError),
    ],
)
def test_what_the_service_says_is_what_it_means(
    desk: Desk, ros: FakeRos, status: int, code: str, kind: type[Exception]
) -> None:
    ros.refuse("GetTemplate", status, code, times=3)

    with pytest.raises(kind) as refused:
        run(connected(desk).template(REGION, "x"))

    assert type(refused.value) is kind
    assert refused.value.__suppress_context__


def test_who_is_not_there_does_not_answer(desk: Desk) -> None:
    nobody = AliyunRos(desk.credentials, endpoint="http://127.0.0.1:9", sleep=at_once)

    with pytest.raises(UnreachableError) as refused:
        run(nobody.stacks(REGION))

    assert str(refused.value) == "there is no answer"


def test_a_place_without_tls_is_this_machine(desk: Desk) -> None:
    for endpoint in ("http://ros.example.com", "http://10.0.0.1"):
        with pytest.raises(ValueError, match="without TLS"):
            AliyunRos(desk.credentials, endpoint=endpoint)
    for endpoint in ("", "ros.example.com", "https://ros.example.com", "http://localhost:1"):
        AliyunRos(desk.credentials, endpoint=endpoint)


def test_a_stack_of_another_region_is_not_there(desk: Desk, ros: FakeRos) -> None:
    stack = ros.made("web", SIMPLE)

    assert run(connected(desk).find("cn-beijing", "web")) is None
    with pytest.raises(NoSuchStackError):
        run(connected(desk).stack("cn-beijing", stack.stack_id))


def test_the_same_token_is_the_same_stack(desk: Desk, ros: FakeRos) -> None:
    change = Change(REGION, SIMPLE, {}, token="a2a-1")

    async def twice() -> Sequence[str]:
        ros_client = connected(desk)
        return [await ros_client.create_stack("web", change) for _ in range(2)]

    first, second = run(twice())

    assert first == second
    assert ros.effects == {"CreateStack": 1}
