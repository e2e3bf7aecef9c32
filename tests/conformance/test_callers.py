"""Who may see what (specification 3.3.2, 7, 13.1)."""

import hashlib

import pytest

from a2a_serverless.bindings.caller import Admittance, Token
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment, Refused


def guarded() -> Deployment:
    names = ("alice", "bob")
    tokens = [Token(name, hashlib.sha256(f"{name}-secret".encode()).digest()) for name in names]
    return Deployment(admittance=Admittance(tokens=tokens))


def both(connect: Connect) -> tuple[Client, Client]:
    client = connect(guarded())
    return (
        client.with_headers(authorization="Bearer alice-secret"),
        client.with_headers(authorization="Bearer bob-secret"),
    )


@requirement("3.3.2:credentials-are-required")
@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic YWxpY2U6c2VjcmV0",
        "alice-secret",
        "Bearer alice-secret x",
        "Bearer älice",
        "Bearer \ud800",
    ],
)
def test_nothing_is_done_without_the_right_credentials(connect: Connect, authorization: str | None) -> None:
    client = connect(guarded()).with_headers(authorization=authorization)

    with pytest.raises(Refused, match="UNAUTHENTICATED"):
        client.send("tck-complete-task")

    assert client.deployment.executions.started == []


@requirement("3.3.2:credentials-are-required")
def test_the_scheme_of_credentials_may_be_written_in_any_case(connect: Connect) -> None:
    assert connect(guarded()).with_headers(authorization="bEARER alice-secret").list()["tasks"] == []


@requirement("13.1:foreign-is-missing")
def test_a_task_of_somebody_else_is_a_task_that_is_not_there(connect: Connect) -> None:
    alice, bob = both(connect)
    task = alice.task("tck-input-required")

    def refusal(method: str, fields: dict[str, object]) -> str:
        with pytest.raises(Refused, match="TASK_NOT_FOUND") as refused:
            bob.call(method, fields)
        return f"{refused.value} {refused.value.metadata}"

    def refusals(task_id: str) -> list[str]:
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}], "taskId": task_id}
        asked: dict[str, dict[str, object]] = {
            "GetTask": {"id": task_id},
            "CancelTask": {"id": task_id},
            "SendMessage": {"message": message},
        }
        return [refusal(method, fields) for method, fields in asked.items()]

    assert refusals(task["id"]) == refusals("no-such-task")
    assert alice.get(task["id"]) == task


@requirement("13.1:lists-are-ones-own")
def test_a_list_holds_ones_own_tasks_also_in_a_context_of_the_same_name(connect: Connect) -> None:
    alice, bob = both(connect)
    hers, his = alice.task(contextId="shared"), bob.task(contextId="shared")

    assert [task["id"] for task in alice.list()["tasks"]] == [hers["id"]]
    assert [task["id"] for task in bob.list(contextId="shared")["tasks"]] == [his["id"]]


@requirement("13.1:tenants-are-apart")
def test_a_task_of_one_tenant_is_not_there_for_another(client: Client) -> None:
    task = client.task(tenant="acme")

    assert client.get(task["id"], tenant="acme") == task
    assert [each["id"] for each in client.list(tenant="acme")["tasks"]] == [task["id"]]
    assert client.list()["tasks"] == []
    for other in ({}, {"tenant": "another"}):
        with pytest.raises(Refused, match="TASK_NOT_FOUND"):
            client.get(task["id"], **other)


@requirement("13.1:tenant-names")
@pytest.mark.parametrize("tenant", ["a b", "x" * 65, "health", "..", "a#b", "ä", "artifacts"])
def test_a_tenant_that_cannot_be_one_is_refused(client: Client, tenant: str) -> None:
    with pytest.raises(Refused, match="INVALID_PARAMS") as refused:
        client.list(tenant=tenant)

    assert list(refused.value.fields) == ["tenant"]
