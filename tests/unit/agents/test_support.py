"""The support agent as its customers meet it, with a fulfilment agent on paper at the other end."""

import asyncio

import pytest

from a2a_agents import support
from a2a_agents.support import peer
from a2a_agents.support.peer import KeptToken, PeerError
from a2a_serverless.agent import ArtifactChunk, Working
from a2a_serverless.agent.rehearsal import rehearse
from a2a_serverless.client.remote_agent import RemoteAgent
from a2a_serverless.protocol.objects import Part, TaskState
from tests.unit.client.agents_on_paper import URL, Paper
from tests.unit.client.test_remote_agent import BEGUN, chunk, sent, status, streamed

QUESTION = "Please provide a photo showing the damaged item."


@pytest.fixture
def fulfilment(monkeypatch: pytest.MonkeyPatch) -> Paper:
    paper = Paper(
        [
            streamed(
                BEGUN, status("WORKING", "Looking up order ORD-1042"), status("INPUT_REQUIRED", QUESTION)
            ),
            streamed(BEGUN, chunk("Approved."), status("COMPLETED")),
        ]
    )
    monkeypatch.setattr(
        peer, "fulfilment", lambda: RemoteAgent(url=URL, name="fulfilment", options=paper.options())
    )
    return paper


def test_a_customer_is_asked_for_what_is_missing_and_then_for_what_fulfilment_wants(
    fulfilment: Paper,
) -> None:
    happened = rehearse(
        support.agent, "My order arrived damaged", "It is ORD-1042", "Here: damage-photo-8841.jpg"
    )

    first, second, third = happened.turns
    assert (first.state, "ORD-1042" in first.text) == (TaskState.INPUT_REQUIRED, True)
    assert (second.state, second.text) == (TaskState.INPUT_REQUIRED, QUESTION)
    assert second.updates[:2] == (
        Working("Asking fulfilment about order ORD-1042"),
        Working("Looking up order ORD-1042"),
    )
    assert third.state is TaskState.COMPLETED
    assert "ORD-1042" in third.text
    assert third.updates[0] == ArtifactChunk("report-1", "Approved.", append=False)
    assert sent(fulfilment, 0)["parts"] == [
        {"text": "Investigate damaged order ORD-1042 and prepare a replacement decision."}
    ]
    assert sent(fulfilment, 1)["parts"] == [{"text": "Here: damage-photo-8841.jpg"}]
    assert "order" not in happened.saved


def test_an_order_that_does_not_exist_is_not_kept_to(fulfilment: Paper) -> None:
    fulfilment.answers[0] = streamed(BEGUN, status("REJECTED", "There is no order ORD-1041."))

    first, second = rehearse(support.agent, "ORD-1041 is broken", "I meant ORD-1042").turns

    assert (first.state, first.text) == (TaskState.REJECTED, "There is no order ORD-1041.")
    assert second.state is TaskState.COMPLETED
    assert "ORD-1042" in sent(fulfilment, 1)["parts"][0]["text"]


def test_a_photo_that_comes_at_once_is_handed_on(fulfilment: Paper) -> None:
    photo = Part(raw=b"...", media_type="image/jpeg", filename="damage.jpg")

    rehearse(support.agent, [Part(text="ORD-1042 is broken"), photo])

    assert sent(fulfilment, 0)["parts"][1]["filename"] == "damage.jpg"


def test_its_card_says_more_of_it_than_of_its_peer() -> None:
    assert support.profile.skills[0].id == "damaged_order"


def test_a_peer_is_made_of_its_variables() -> None:
    environ = {
        "A2A_FULFILMENT_URL": URL,
        "A2A_FULFILMENT_CREDENTIALS": "env:TOKEN",
        "A2A_FULFILMENT_ORIGINS": "https://a.example, https://b.example",
        "A2A_FULFILMENT_JWKS": "https://keys.example/jwks.json",
    }

    made = peer.peer(environ)

    assert isinstance(made.options, peer.Options)
    assert made.options.credential_origins == ("https://a.example", "https://b.example")
    assert made.trust == peer.Trust(jwks_url="https://keys.example/jwks.json")
    assert "TOKEN" not in repr(made)
    assert peer.peer({"A2A_FULFILMENT_URL": URL}).options == peer.Options()


def test_a_deployment_without_a_peer_says_which_variable_is_missing() -> None:
    with pytest.raises(PeerError, match="A2A_FULFILMENT_URL"):
        peer.peer({})


def test_a_token_is_read_from_where_the_reference_says_and_kept() -> None:
    environ = {"TOKEN": "one"}
    token = KeptToken("env:TOKEN", environ)

    async def read() -> list[str]:
        first = await token()
        environ["TOKEN"] = "two"
        return [first, await token()]

    assert asyncio.run(read()) == ["one", "one"]
    with pytest.raises(PeerError, match="A2A_FULFILMENT_CREDENTIALS"):
        asyncio.run(KeptToken("TOKEN", environ)())
