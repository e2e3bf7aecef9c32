"""What callers say about stacks, and what is understood of it: the same words always mean the same."""

from typing import Any

import pytest

from a2a_agents.iac.operations.actions import Action
from a2a_agents.iac.operations.regions import is_region, region_in
from a2a_agents.iac.operations.wishes import Heard, UnreadableWishError, Wish, heard, is_decision
from a2a_serverless.agent import Message, Part
from a2a_serverless.protocol.objects import Role

STACK_ID = "9d8a8f1e-3c0b-4a7e-9d55-0123456789ab"
TEMPLATE = "ROSTemplateFormatVersion: '2015-09-01'\nResources: {}\n"


def message(*parts: Part | str) -> Message:
    made = [Part(text=part) if isinstance(part, str) else part for part in parts]
    return Message(message_id="m", role=Role.USER, parts=tuple(made))


def wish(*parts: Part | str) -> Wish:
    return heard(message(*parts)).wish


@pytest.mark.parametrize(
    ("text", "action", "stack"),
    [
        ("create stack web in cn-hangzhou from file:///t.yaml with A=1", Action.CREATE, "web"),
        ("Please deploy the stack named shop-1 to cn-beijing", Action.CREATE, "shop-1"),
        ('set up a stack called "blue_green"', Action.CREATE, "blue_green"),
        ('set up "green" as the stack', Action.CREATE, "green"),
        ("update stack update-demo", Action.UPDATE, "update-demo"),
        ("Change the web stack: Size=large", Action.UPDATE, "web"),
        ("delete stack create-me", Action.DELETE, "create-me"),
        ("Tear down stack web", Action.DELETE, "web"),
        ("Check why this ROS stack update failed.", Action.DIAGNOSE, None),
        ("Why did the creation of stack web fail?", Action.DIAGNOSE, "web"),
        ("stack web failed", Action.DIAGNOSE, "web"),
        ("continue creating stack web", Action.CONTINUE, "web"),
        ("repair the failed stack web", Action.CONTINUE, "web"),
        ("go on", Action.CONTINUE, None),
        ("list the stacks in cn-hangzhou", Action.LIST, None),
        ("Which stacks are there?", Action.LIST, None),
        ("show me all stacks", Action.LIST, None),
        ("status of stack web", Action.FOLLOW, "web"),
        ("How is stack web?", Action.FOLLOW, "web"),
        ("create stack web and follow its progress", Action.CREATE, "web"),
        (f"follow stack {STACK_ID}", Action.FOLLOW, STACK_ID),
        ("创建资源栈 web", Action.CREATE, "web"),
        ("删除资源栈web", Action.DELETE, "web"),
        ("为什么资源栈 web 失败", Action.DIAGNOSE, "web"),
        ("Good morning", None, None),
        ("cn-hangzhou", None, None),
    ],
)  # fmt: skip
def test_words_mean_an_action_on_a_stack(text: str, action: Action | None, stack: str | None) -> None:
    understood = wish(text)

    assert (understood.action, understood.stack) == (action, stack)


@pytest.mark.parametrize("text", ["delete stack web and create it again", "update or delete stack web"])
def test_two_changes_at_once_are_not_decided_between(text: str) -> None:
    said = heard(message(text))

    assert said.wish.action is None
    assert len(said.several) == 2


@pytest.mark.parametrize(
    ("text", "region"),
    [
        ("create stack web in cn-hangzhou.", "cn-hangzhou"),
        ("stack us-shop in eu-central-1", "eu-central-1"),
        ("in cn-hangzhou-finance, please", "cn-hangzhou-finance"),
        ("region: xx-newland-1", "xx-newland-1"),
        ("my-stack-name goes nowhere", None),
        ("the stack is-it", None),
        ("vpc-cn-hangzhou", None),
    ],
)
def test_regions_are_known_or_said_to_be_one(text: str, region: str | None) -> None:
    assert region_in(text) == region


def test_a_region_has_the_shape_of_one() -> None:
    assert is_region("cn-hangzhou")
    assert not is_region("CN-HANGZHOU'; --")


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("create stack web with A=1, B=two; C='three words' D=\"four=4\".", {
            "A": "1", "B": "two", "C": "three words", "D": "four=4",
        }),
        ("Size=large.", {"Size": "large"}),
        ("see https://example.com/t?x=1&y=2 and file:///t.yaml?z=3", {}),
        ("nothing", {}),
    ],
)  # fmt: skip
def test_parameters_are_names_and_values(text: str, parameters: dict[str, str]) -> None:
    assert heard(message(text)).parameters == parameters


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("create stack web from file:///nets/t.yaml.", "nets/t.yaml"),
        ("create stack web from t.yaml", "t.yaml"),
        ("use nets/main.template, please", "nets/main.template"),
        ("create stack web", None),
    ],
)
def test_a_template_is_named_by_its_file(text: str, template: str | None) -> None:
    assert wish(text).template == template


@pytest.mark.parametrize(
    "parts",
    [
        (f"create stack web\n```yaml\n{TEMPLATE}```\nthanks",),
        (f"create stack web\n{TEMPLATE}",),
        ("create stack web", Part(text=TEMPLATE, media_type="application/yaml")),
        ("create stack web", Part(raw=TEMPLATE.encode(), media_type="text/yaml", filename="t.yaml")),
        ("create stack web", Part(data={"ROSTemplateFormatVersion": "2015-09-01", "Resources": {}})),
        (Part(data={"action": "create", "stack": "web", "template": TEMPLATE}),),
        (Part(data={"action": "create", "stack": "web", "template": {"Resources": {}}}),),
    ],
)
def test_a_template_comes_with_the_message_in_several_ways(parts: tuple[Part | str, ...]) -> None:
    said = heard(message(*parts))

    assert said.brought is not None
    assert "Resources" in said.brought
    assert (said.wish.action, said.wish.stack) == (Action.CREATE, "web")


def test_what_a_template_says_is_no_wish() -> None:
    said = heard(
        message(f"update stack web\n```\n{TEMPLATE}Description: delete stack all in cn-beijing\n```")
    )

    assert said.wish == Wish(action=Action.UPDATE, stack="web")


def test_a_data_part_says_it_in_so_many_members() -> None:
    data = {
        "action": "delete", "stackName": "web", "regionId": "cn-beijing", "retain": ["Db"],
        "timeoutInMinutes": 90, "template": "file:///my%20nets/t.yaml",
        "parameters": {"A": 1, "B": ["x"], "C": "y"},
    }  # fmt: skip

    assert heard(message(Part(data=data))) == Heard(
        wish=Wish(
            action=Action.DELETE, stack="web", region="cn-beijing", template="my nets/t.yaml", retain=("Db",),
            timeout_minutes=90,
        ),
        parameters={"A": "1", "B": '["x"]', "C": "y"},
    )  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        {"action": "explode"},
        {"action": "create", "stack": "no spaces allowed"},
        {"action": "create", "stack": ["web"]},
        {"action": "create", "region": "Hangzhou!"},
        {"action": "create", "region": 7},
        {"action": "create", "parameters": ["A"]},
        {"action": "create", "template": "https://example.com/t.yaml"},
        {"action": "create", "timeoutInMinutes": 1},
    ],
)
def test_a_data_part_that_makes_no_sense_is_said_to(data: dict[str, Any]) -> None:
    with pytest.raises(UnreadableWishError) as said:
        heard(message(Part(data=data)))

    assert "explode" not in str(said.value)


@pytest.mark.parametrize(
    "part", [Part(url="https://example.com/t.yaml"), Part(raw=b"\xff", media_type="text/yaml")]
)
def test_what_is_no_file_of_the_conversation_or_no_text_is_no_template(part: Part) -> None:
    with pytest.raises(UnreadableWishError):
        heard(message("create stack web", part))


def test_a_file_that_came_as_bytes_is_still_that_file() -> None:
    said = heard(message("create stack web", Part(raw=b"Resources: {}")), {1: "nets/t.yaml"})

    assert (said.wish.template, said.brought) == ("nets/t.yaml", None)


def test_data_that_is_about_something_else_says_nothing() -> None:
    assert heard(message(Part(data={"weather": "fine"}))) == Heard()
    assert heard(message(Part(data=[1]))) == Heard()


@pytest.mark.parametrize(
    ("text", "retained"),
    [
        ("delete stack web but retain Db and Disk", ("Db", "Disk")),
        ("delete stack web, keep the resource Db", ("Db",)),
        ("delete stack web", ()),
    ],
)
def test_what_is_to_be_retained_is_heard(text: str, retained: tuple[str, ...]) -> None:
    assert wish(text).retain == retained


def test_what_is_said_later_counts() -> None:
    first = Wish(action=Action.CREATE, stack="web", region="cn-hangzhou")

    assert first.and_then(Wish(region="cn-beijing", template="t.yaml")) == Wish(
        action=Action.CREATE, stack="web", region="cn-beijing", template="t.yaml"
    )


def test_a_decision_is_no_wish() -> None:
    assert is_decision(message(Part(data={"kind": "permission", "decision": "allow_once"})))
    assert not is_decision(message("yes", Part(data={"kind": "other"}), Part(data=[1])))
