"""The judge of webhooks under fire: it lets the innocent go, and nobody else."""

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from tests.e2e.fire.records import Arrival
from tests.e2e.fire.told import Told, told
from tests.e2e.fire.verdict import Course, Hook

KEY = generate_private_key(SECP256R1())
KEYS = {"k": KEY.public_key()}
HOOK = Hook("inline", "http://127.0.0.1:9/1/inline", "/1/inline", "t", "Bearer c", after=1)
TASK = {"id": "task", "contextId": "c", "artifacts": [{"artifactId": "a", "parts": [{"text": "whole"}]}]}


def status(state: str) -> dict[str, Any]:
    return {"statusUpdate": {"taskId": "task", "contextId": "c", "status": {"state": f"TASK_STATE_{state}"}}}


def chunk(text: str, **members: Any) -> dict[str, Any]:
    artifact = {"artifactId": "a", "parts": [{"text": text}]}
    return {"artifactUpdate": {"taskId": "task", "contextId": "c", "artifact": artifact, **members}}


STREAMED = [
    (2, status("WORKING")),
    (3, status("WORKING")),
    (4, chunk("who")),
    (5, chunk("le", append=True, lastChunk=True)),
    (6, status("COMPLETED")),
]
DUE = told(TASK, STREAMED)


def signature(event: Told, body: str, url: str = HOOK.url) -> str:
    claims = {"alg": "ES256", "b64": False, "crit": ["b64"], "kid": "k", "jti": event.event_id, "url": url}
    header = encoded(json.dumps(claims).encode())
    halves = decode_dss_signature(KEY.sign(f"{header}.{body}".encode(), ECDSA(SHA256())))
    return f"{header}..{encoded(b''.join(half.to_bytes(32) for half in halves))}"


def encoded(plain: bytes) -> str:
    return base64.urlsafe_b64encode(plain).rstrip(b"=").decode()


def arrival(event: Told, fate: str = "taken", **changed: str) -> Arrival:
    body = json.dumps(event.body)
    headers = {
        "content-type": "application/a2a+json",
        "a2a-version": "1.0",
        "x-a2a-notification-token": "t",
        "authorization": "Bearer c",
        "x-a2a-signature": signature(event, body),
    }
    return Arrival(fate, 0.0, HOOK.path, event.event_id, {**headers, **changed}, body)


WORKING, ARTIFACT, COMPLETED = (arrival(each) for each in DUE)


def judged(*arrivals: Arrival, hook: Hook = HOOK, due: Sequence[Told] = DUE) -> list[str]:
    return list(Course(hook, due).faults(arrivals, KEYS))


def test_states_and_whole_artifacts_are_told_and_nothing_else() -> None:
    assert [(each.event_id, *each.body) for each in DUE] == [
        ("task-2", "statusUpdate"),
        ("task-5", "artifactUpdate"),
        ("task-6", "statusUpdate"),
    ]
    assert DUE[1].body == chunk("whole", lastChunk=True)


def test_what_was_never_called_whole_is_told_before_the_end_unless_the_task_failed() -> None:
    beginning = [(2, status("WORKING")), (3, chunk("whole"))]

    assert [each.event_id for each in told(TASK, [*beginning, (4, status("INPUT_REQUIRED"))])] == [
        "task-2",
        "task-4.1",
        "task-4",
    ]
    assert [each.event_id for each in told(TASK, [*beginning, (4, status("FAILED"))])] == ["task-2", "task-4"]


def test_everything_once_and_in_order_is_right() -> None:
    assert judged(WORKING, ARTIFACT, COMPLETED) == []


def test_repetitions_are_right_however_late() -> None:
    failed, lost = replace(ARTIFACT, fate="500"), replace(ARTIFACT, fate="lost")

    assert judged(WORKING, WORKING, failed, lost, ARTIFACT, COMPLETED, WORKING) == []


@pytest.mark.parametrize(
    "arrivals",
    [
        (),
        (WORKING, ARTIFACT),
        (ARTIFACT, COMPLETED),
        (WORKING, COMPLETED),
        (ARTIFACT, WORKING, COMPLETED),
        (WORKING, ARTIFACT, replace(COMPLETED, fate="500")),
        (WORKING, replace(ARTIFACT, fate="503"), COMPLETED, ARTIFACT),
        (WORKING, ARTIFACT, COMPLETED, replace(COMPLETED, event_id="task-7")),
    ],
    ids=[
        "nothing",
        "no end",
        "no beginning",
        "a hole",
        "disorder",
        "not taken",
        "before its turn",
        "too much",
    ],
)
def test_what_is_missing_too_much_or_out_of_order_is_found(arrivals: tuple[Arrival, ...]) -> None:
    assert judged(*arrivals)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer d"},
        {"x-a2a-notification-token": ""},
        {"content-type": "application/json"},
        {"a2a-version": "0.3"},
        {"x-a2a-signature": WORKING.headers["x-a2a-signature"]},
        {"x-a2a-signature": signature(DUE[1], ARTIFACT.body, url="http://127.0.0.1:9/2/inline")},
        {"x-a2a-signature": "none"},
    ],
    ids=[
        "credentials",
        "token",
        "media type",
        "version",
        "another's signature",
        "another's URL",
        "no signature",
    ],
)
def test_a_request_that_cannot_be_believed_is_found(headers: dict[str, str]) -> None:
    [fault] = judged(WORKING, arrival(DUE[1], **headers), COMPLETED)

    assert fault.startswith("/1/inline task-5: ")


def test_a_body_that_is_another_is_found() -> None:
    body = ARTIFACT.body.replace("whole", "hole")
    forged = arrival(replace(DUE[1], body=json.loads(body)))

    [fault] = judged(WORKING, forged, COMPLETED)

    assert "body" in fault


def test_who_is_gone_after_some_events_is_due_the_rest_later() -> None:
    hook = replace(HOOK, takes=1)

    assert (hook.dies(DUE), hook.alive(DUE), hook.due(DUE)) == (True, DUE[:1], DUE)
    assert not replace(HOOK, takes=3).dies(DUE)
    assert replace(HOOK, after=2).due(DUE) == DUE[1:]
