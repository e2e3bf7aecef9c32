"""Extensions: announced when enabled, shown when activated (specification 4.6)."""

from typing import Any

import pytest

from a2a_serverless.bindings.card import CardSource
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.extensions import Extension, PermissionMode
from tests.conformance.agent import profile
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment

TOOLS, USAGE, THINKING, PERMISSIONS = (
    f"urn:a2a-serverless:{name}:v1" for name in ("tools", "usage", "thinking", "permissions")
)

TOLD = {
    TOOLS: {"calls": [{"callId": "1", "name": "search", "phase": "input", "input": {"query": "shoes"}}]},
    THINKING: {"text": "Shoes are nice."},
    USAGE: {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12},
}


def deployed(*enabled: Extension, permissions: PermissionMode = PermissionMode.ASK) -> Deployment:
    policy = Policy(
        capabilities=frozenset({"streaming"}), extensions=frozenset(enabled), permissions=permissions
    )
    return Deployment(policy=policy)


def announced(deployment: Deployment) -> dict[str, Any]:
    """The extensions on the card, by their URIs."""
    card = CardSource(profile, deployment.policy, deployment.admittance).card("https://agent.example")
    return {each["uri"]: each for each in card.to_dict()["capabilities"].get("extensions", ())}


def told(client: Client, text: str = "tools", **fields: Any) -> list[Any]:
    """What the updates of a stream say in metadata."""
    frames = [frame["statusUpdate"] for frame in client.stream(text, **fields) if "statusUpdate" in frame]
    return [frame["metadata"] for frame in frames if "metadata" in frame]


@requirement("4.6:announced-extensions")
@pytest.mark.parametrize("enabled", [(), (Extension.TOOLS,), tuple(Extension)])
def test_the_card_announces_what_is_enabled_and_requires_none_of_it(
    connect: Connect, enabled: tuple[Extension, ...]
) -> None:
    found = announced(deployed(*enabled))

    assert set(found) == {each.uri for each in enabled}
    assert not any(each.get("required") for each in found.values())
    assert all(each["description"] and each["params"] for each in found.values())
    plain = connect(deployed(*enabled))
    assert plain.task()["status"]["state"] == "TASK_STATE_COMPLETED"


@requirement("4.6:announced-extensions")
def test_the_card_says_who_decides_about_permissions_and_how_much_is_told() -> None:
    found = announced(deployed(Extension.PERMISSIONS, Extension.TOOLS, permissions=PermissionMode.DENY))

    assert found[PERMISSIONS]["params"] == {
        "mode": "deny", "options": ["allow_once", "deny"], "schemaVersion": 1
    }  # fmt: skip
    assert found[TOOLS]["params"]["maxTextLength"] == 4000
    assert found[TOOLS]["params"]["phases"] == ["started", "input", "completed", "failed"]


@requirement("4.6:extensions-are-opt-in")
def test_what_an_extension_adds_is_shown_to_who_activated_it(connect: Connect) -> None:
    client = connect(deployed(Extension.TOOLS, Extension.USAGE, Extension.THINKING))

    for uri, said in TOLD.items():
        assert told(client.with_headers(a2a_extensions=uri)) == [{uri: said}]
    both = told(client.with_headers(a2a_extensions=f"{TOOLS}, {USAGE}"))
    assert {uri: said for frame in both for uri, said in frame.items()} == {
        uri: TOLD[uri] for uri in (TOOLS, USAGE)
    }


@requirement("4.6:extensions-are-opt-in")
def test_nobody_else_is_shown_any_of_it_nor_what_is_not_enabled(connect: Connect) -> None:
    client = connect(deployed(Extension.TOOLS, Extension.USAGE))

    assert told(client) == []
    assert told(client.with_headers(a2a_extensions=f"{THINKING}, urn:other")) == []
    assert "metadata" not in str(client.task("tools"))


@requirement("4.6:extensions-are-opt-in")
def test_the_same_events_come_to_all_but_for_what_was_added(connect: Connect) -> None:
    client = connect(deployed(Extension.TOOLS))
    activating = client.with_headers(a2a_extensions=TOOLS)

    plain = [frame for frame in client.stream("tools") if "task" not in frame]
    added = [frame for frame in activating.stream("tools") if "task" not in frame]

    kept = [frame for frame in added if "metadata" not in frame["statusUpdate"]]
    assert len(added) == len(plain) + 1
    assert [frame["statusUpdate"]["status"]["state"] for frame in kept] == [
        frame["statusUpdate"]["status"]["state"] for frame in plain
    ]


@requirement("4.6:extensions-are-opt-in")
@pytest.mark.parametrize("mode", ["allow", "deny"])
def test_who_activated_permissions_is_told_of_decisions_that_were_automatic(
    connect: Connect, mode: str
) -> None:
    deployment = deployed(Extension.PERMISSIONS, permissions=PermissionMode(mode))
    client = connect(deployment)

    assert told(client, "permission") == []
    (said,) = told(client.with_headers(a2a_extensions=PERMISSIONS), "permission")
    assert said[PERMISSIONS]["automatic"] is True
    assert said[PERMISSIONS]["decision"] == {"allow": "allow_once", "deny": "deny"}[mode]
