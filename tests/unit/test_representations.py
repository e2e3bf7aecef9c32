"""What is printed of values that hold secrets, in a traceback or a log: never the secrets."""

import hashlib
from datetime import UTC, datetime

import pytest

from a2a_serverless.bindings.caller import Token
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.ports import Admission
from a2a_serverless.ports.webhooks import Registration, WebhookKey, WebhookRequest
from a2a_serverless.protocol.objects import Role
from a2a_serverless.protocol.requests import SendMessageRequest, TaskPushNotificationConfig
from a2a_serverless.settings import Settings
from a2a_serverless.tasks.content import LoggedMessage, LoggedPart
from a2a_serverless.tasks.log import TaskKey

SECRET = "hunter2"
NOW = datetime(2026, 11, 30, tzinfo=UTC)
URL = f"https://hooks.example/services/{SECRET}"

CONFIG = TaskPushNotificationConfig.from_dict(
    {"url": URL, "token": SECRET, "authentication": {"scheme": "Bearer", "credentials": SECRET}}
)
REGISTRATION = Registration(
    config_id="w", context_id="c", url=URL, base_url="https://a", scheme="Bearer", secrets=f"sealed {SECRET}"
)

HOLDERS = {
    "settings": Settings(
        tasks_table="t",
        content_bucket="b",
        turn_state_machine_arn="arn",
        agent="a:b",
        bearer_tokens=f"alice:{hashlib.sha256(SECRET.encode()).hexdigest()}",  # type: ignore[arg-type]
        credentials=f"inline:{SECRET}",
        card_signing_secret=f"inline:{SECRET}",
    ),
    "a token": Token("alice", hashlib.sha256(SECRET.encode()).digest()),
    "a request": HttpRequest(
        "POST", "/", {"authorization": (SECRET,)}, {"key": (SECRET,)}, SECRET.encode(), "https://a"
    ),
    "a webhook asked for": CONFIG,
    "a message with a webhook": SendMessageRequest.from_dict(
        {
            "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]},
            "configuration": {"taskPushNotificationConfig": CONFIG.to_dict()},
        }
    ),
    "a webhook": REGISTRATION,
    "an admission": Admission(
        tenant="",
        owner="o",
        record_id="r",
        body_hash="h",
        message=LoggedMessage(message_id="m", role=Role.USER, parts=(LoggedPart(text=SECRET),)),
        context_id="c",
        task_id="t",
        position=1,
        received_at=NOW,
        expires=1,
        due_at=NOW,
        webhook=REGISTRATION,
    ),
    "a delivery": WebhookRequest(URL, "192.0.2.1", {"Authorization": SECRET}, SECRET.encode(), 1.0),
}


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS.keys())
def test_what_holds_a_secret_does_not_show_it(holder: object) -> None:
    for shown in (repr(holder), str(holder), f"{[holder]!r}"):
        assert SECRET not in shown
        assert hashlib.sha256(SECRET.encode()).hexdigest() not in shown


def test_what_is_no_secret_is_shown() -> None:
    assert repr(WebhookKey(TaskKey("acme", "o", "t"), "w")).count("'t'") == 1
    assert "https://a" in repr(REGISTRATION)
    assert "POST" in repr(HOLDERS["a request"])
