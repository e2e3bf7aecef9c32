"""What happens between two requests for one webhook, which a store that answers at once never shows."""

from datetime import UTC, datetime

import pytest

from a2a_serverless.adapters.dynamodb_webhooks import DynamoWebhooks
from a2a_serverless.ports.webhooks import NoHeadError, WebhookKey
from a2a_serverless.tasks.log import TaskKey
from tests.unit.adapters.client import refusal, table

KEY = WebhookKey(TaskKey("acme", "owner", "t-1"), "w-1")
MOMENT = datetime(2026, 11, 30, tzinfo=UTC)
LIVES = {"expires": {"N": "9999999999"}}
IS_DUE_LATER = refusal(Item={**LIVES, "push_ids": {"SS": ["w-2"]}})
IS_FULL = refusal(Item={**LIVES, "push_ids": {"SS": ["w-2", "w-3"]}})
HAS_EXPIRED = refusal(Item={"expires": {"N": "1"}, "push_ids": {"SS": ["w-2"]}})
IS_GONE = refusal()


def test_the_last_place_may_go_to_another_before_the_second_request() -> None:
    store, client = table(IS_DUE_LATER, IS_FULL)

    assert not DynamoWebhooks(store).reserve(KEY, most=2, due_at=MOMENT)

    assert len(client.asked) == 2


@pytest.mark.parametrize("gone", [HAS_EXPIRED, IS_GONE])
def test_the_head_may_be_gone_before_the_second_request(gone: Exception) -> None:
    store, _ = table(IS_DUE_LATER, gone)

    with pytest.raises(NoHeadError):
        DynamoWebhooks(store).reserve(KEY, most=2, due_at=MOMENT)
