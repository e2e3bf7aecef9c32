"""What happens between two requests for one webhook, which a store that answers at once never shows."""

from datetime import UTC, datetime
from typing import Any

import pytest

from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.adapters.dynamodb_webhooks import DynamoWebhooks
from a2a_serverless.ports.webhooks import NoHeadError, WebhookKey
from a2a_serverless.tasks.log import TaskKey
from tests.fakes.ports import FakeClock
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


class LaggingIndex:
    """Three webhooks that the index still takes for dead: the first lives, the second is gone."""

    def query(self, **request: Any) -> dict[str, Any]:
        if request["ExpressionAttributeValues"][":shard"] != {"S": "DEAD#00"}:
            return {"Items": [], "Count": 0}
        died_at = {"due_at": {"S": "2026-11-30T12:00:00.000Z"}}
        return {"Items": [{**row(name), **died_at} for name in ("lives", "gone", "dead")], "Count": 3}

    def batch_get_item(self, *, RequestItems: Any) -> dict[str, Any]:  # noqa: N803  AWS's own name
        dead = {**row("dead"), "died_at": {"S": "2026-11-30T12:00:00.000Z"}}
        return {"Responses": {"tasks": [dead, row("lives")]}}


def row(name: str) -> dict[str, Any]:
    """A webhook's item as DynamoDB shows it."""
    body = '{"configId":"w","contextId":"c","url":"https://hooks.example","baseUrl":"https://agents.example"}'
    key = {"pk": {"S": "TASK#acme#owner#t-1"}, "sk": {"S": f"PUSH#{name}"}}
    return {**LIVES, **key, "cursor": {"N": "3"}, "body": {"S": body}}


def test_who_is_dead_only_by_an_index_that_lags_is_left_out() -> None:
    client: Any = LaggingIndex()
    store = DynamoWebhooks(DynamoTable(client, "tasks", FakeClock()))

    assert [webhook.key.config_id for webhook in store.dead(10)] == ["dead"]
