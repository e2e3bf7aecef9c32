"""The files of a new agent, as texts in which `order_desk`, `order-desk` and `Order Desk` stand for its name.

Knows no disk.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

WRITTEN = re.compile(r"order_desk|order-desk|Order Desk")


class Name(NamedTuple):
    """An agent's name as it is typed, as a package, and as people read it."""

    typed: str
    package: str
    title: str


def in_a_checkout(name: Name) -> dict[str, str]:
    """The files of an agent beside the others, by their paths in the checkout."""
    return _named(
        name,
        {
            **{f"layers/agents/{path}": text for path, text in PACKAGE.items()},
            "layers/agents/order_desk/README.md": README + IN_A_CHECKOUT,
            "tests/unit/agents/test_order_desk.py": TEST,
        },
    )


def as_a_project(name: Name) -> dict[str, str]:
    """The files of an agent in a project of its own, by their paths in its directory."""
    files = {**PACKAGE, "README.md": README + AS_A_PROJECT, "pyproject.toml": PYPROJECT}
    return _named(name, {**files, "tests/test_order_desk.py": TEST})


def environment(name: Name) -> str:
    """What samconfig.toml says to deploy it."""
    return _named(name, {"": SAMCONFIG})[""]


def _named(name: Name, files: Mapping[str, str]) -> dict[str, str]:
    names = {"order_desk": name.package, "order-desk": name.typed, "Order Desk": name.title}

    def put(text: str) -> str:
        return WRITTEN.sub(lambda found: names[found[0]], text)

    return {put(path): put(text) for path, text in files.items()}


PACKAGE = {
    "order_desk/__init__.py": '''\
"""The agent Order Desk: `agent` is what it does, `profile` what it says of itself."""
''',
    "order_desk/profile.py": '''\
"""What Order Desk says of itself; becomes its card. Light: every function of the API loads it."""

from a2a_serverless.agent import AgentProfile, AgentSkill

profile = AgentProfile(
    name="Order Desk",
    description="Greets whoever says their name.",
    skills=(
        AgentSkill(
            id="greeting",
            name="Greeting",
            description="Asks for a name, once, and greets.",
            tags=("greeting",),
            examples=("Good morning",),
        ),
    ),
)
''',
    "order_desk/agent.py": '''\
"""What Order Desk does: a turn for each message, with what the conversation remembers."""

from collections.abc import AsyncIterator

from a2a_serverless.agent import ArtifactChunk, InputRequired, Turn, Update, Working
from order_desk.profile import profile

__all__ = ["agent", "profile"]


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """Ask for a name unless it is known, then greet."""
    said = " ".join(part.text for part in turn.message.parts if part.text).strip()
    if "name" not in turn.state and turn.state.get("asked"):
        turn.state["name"] = said
    if "name" not in turn.state:
        turn.state["asked"] = True
        yield InputRequired("What is your name?")
        return  # nothing runs or costs until the answer comes
    yield Working("Writing a greeting")
    yield ArtifactChunk("greeting", f"Hello, {turn.state['name']}!", last_chunk=True)
''',
}

TEST = '''\
"""Order Desk as its callers meet it, rehearsed without a deployment."""

from a2a_serverless.agent.rehearsal import TaskState, rehearse
from order_desk.agent import agent


def test_it_asks_for_a_name_and_greets() -> None:
    happened = rehearse(agent, "Good morning", "Ada")

    assert [turn.state for turn in happened.turns] == [TaskState.INPUT_REQUIRED, TaskState.COMPLETED]
    assert happened.turns[0].text == "What is your name?"
    assert happened.texts == {"greeting": "Hello, Ada!"}


def test_it_remembers_the_name() -> None:
    assert rehearse(agent, "Hello again", state={"name": "Ada"}).texts == {"greeting": "Hello, Ada!"}
'''

README = """\
# Order Desk

An A2A agent. `order_desk/agent.py` is what it does, `order_desk/profile.py` what its card says.

"""

IN_A_CHECKOUT = """\
From the checkout, in an environment that holds `tests/requirements.txt`:

    pytest --no-cov tests/unit/agents/test_order_desk.py      the test
    a2a-serverless serve order_desk.agent:agent               the whole deployment on this machine
    a2a-serverless call http://127.0.0.1:8080 "Good morning"

To deploy it (`samconfig.toml` has an environment for it; say who may call, see `template.yaml`):

    sam build
    sam deploy --guided --config-env order-desk

What it imports besides goes into `layers/agents/requirements.in`, and `python3.13 layers/agents/lock.py`
locks it for a layer of its own.
"""

AS_A_PROJECT = """\
From this directory, in the environment of a checkout of a2a-serverless, by which the command runs:

    pip install pytest
    pytest                                                    the test
    a2a-serverless serve order_desk.agent:agent               the whole deployment on this machine
    a2a-serverless call http://127.0.0.1:8080 "Good morning"

To deploy it, put the package `order_desk` into `layers/agents` of the checkout, and what it imports besides
into `requirements.in` there (`python3.13 layers/agents/lock.py` locks it). Then, in the checkout, and saying
who may call as well (`BearerTokens=…`, see `template.yaml`):

    sam build
    sam deploy --guided --stack-name order-desk --parameter-overrides \\
      Agent=order_desk.agent:agent AgentProfile=order_desk.profile:profile
"""

PYPROJECT = """\
[project]
name = "order-desk"
version = "0.1.0"
description = "An A2A agent."
requires-python = ">=3.11"
dependencies = ["a2a-serverless"]

[tool.pytest.ini_options]
pythonpath = ["."]
testpaths = ["tests"]
"""

SAMCONFIG = """\

[order-desk.deploy.parameters]
stack_name = "order-desk"
capabilities = "CAPABILITY_IAM CAPABILITY_AUTO_EXPAND"
confirm_changeset = true
resolve_s3 = true
parameter_overrides = "Agent=order_desk.agent:agent AgentProfile=order_desk.profile:profile"
"""
