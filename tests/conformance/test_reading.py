"""GetTask and ListTasks (specification 3.1.3, 3.1.4)."""

import pytest

from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Refused


@requirement("3.1.3:unknown-task")
def test_a_task_that_is_not_there_is_not_found(client: Client) -> None:
    with pytest.raises(Refused, match="TASK_NOT_FOUND"):
        client.get("no-such-task")


@requirement("3.1.3:reads-what-was-answered")
def test_a_task_reads_as_it_was_answered(client: Client) -> None:
    task = client.task("tck-artifact-text")

    assert client.get(task["id"]) == task


@requirement("3.1.4:most-recent-first")
def test_tasks_are_listed_by_their_last_status_newest_first(client: Client) -> None:
    waiting, later = client.task("tck-input-required"), None
    client.deployment.let_pass(1)
    later = client.task()
    client.deployment.let_pass(1)
    assert [task["id"] for task in client.list()["tasks"]] == [later["id"], waiting["id"]]

    client.cancel(waiting["id"])

    assert [task["id"] for task in client.list()["tasks"]] == [waiting["id"], later["id"]]


@requirement("3.1.4:filters")
def test_a_list_holds_what_satisfies_every_filter(client: Client) -> None:
    ended = client.task(contextId="one")
    waiting = client.task("tck-input-required", contextId="one")
    client.task(contextId="two")

    def ids(**filters: object) -> set[str]:
        page = client.list(**filters)
        assert page["totalSize"] == len(page["tasks"])
        return {task["id"] for task in page["tasks"]}

    assert ids(contextId="one") == {ended["id"], waiting["id"]}
    assert ids(status="TASK_STATE_INPUT_REQUIRED") == {waiting["id"]}
    assert ids(contextId="one", status="TASK_STATE_COMPLETED") == {ended["id"]}
    assert ids(contextId="two", status="TASK_STATE_INPUT_REQUIRED") == set()
    assert ids(contextId="nobodys") == set()


@requirement("3.1.4:status-time-is-inclusive")
def test_the_status_time_filter_includes_its_own_moment(client: Client) -> None:
    client.task()
    client.deployment.let_pass(10)
    task = client.task()

    since = client.list(statusTimestampAfter=task["status"]["timestamp"])
    after = client.list(statusTimestampAfter="2999-01-01T00:00:00Z")

    assert [each["id"] for each in since["tasks"]] == [task["id"]]
    assert after["tasks"] == []


@requirement("3.1.4:unknown-status")
@pytest.mark.parametrize("status", ["working", "UNSPECIFIED", "TASK_STATE_DONE"])
def test_an_unknown_status_is_refused_with_those_there_are(client: Client, status: str) -> None:
    with pytest.raises(Refused, match="INVALID_PARAMS") as refused:
        client.list(status=status)

    assert "TASK_STATE_WORKING" in refused.value.fields["status"]


@requirement("3.1.4:filters")
@pytest.mark.parametrize("status", ["TASK_STATE_UNSPECIFIED", 0])
def test_a_status_that_is_unset_filters_nothing_whether_or_not_it_is_said(
    client: Client, status: object
) -> None:
    task = client.task()

    assert [each["id"] for each in client.list(status=status)["tasks"]] == [task["id"]]


@requirement("3.1.4:page-size")
def test_a_page_holds_fifty_tasks_unless_told_otherwise_and_never_more_than_a_hundred(client: Client) -> None:
    assert client.list()["pageSize"] == 50
    assert client.list(pageSize=1)["pageSize"] == 1
    assert client.list(pageSize=100)["pageSize"] == 100
    for size in (0, 101, -1, 2**31, 2**63):
        with pytest.raises(Refused, match="INVALID_PARAMS") as refused:
            client.list(pageSize=size)
        assert list(refused.value.fields) == ["pageSize"]


@requirement("3.1.4:pages")
def test_following_the_token_shows_every_task_once(client: Client) -> None:
    made = {client.task()["id"] for _ in range(5)}

    seen, token, sizes = [], "", []
    while True:
        page = client.list(pageSize=2, **({"pageToken": token} if token else {}))
        assert (page["pageSize"], page["totalSize"]) == (2, 5)
        seen += [task["id"] for task in page["tasks"]]
        sizes.append(len(page["tasks"]))
        token = page["nextPageToken"]
        if token == "":
            break

    assert sizes == [2, 2, 1]
    assert len(seen) == len(set(seen))
    assert set(seen) == made


@requirement("3.1.4:page-token")
@pytest.mark.parametrize("token", ["2", "not a token", "é", "AAAA", "=" * 300])
def test_a_token_that_was_never_given_is_refused(client: Client, token: str) -> None:
    with pytest.raises(Refused, match="INVALID_PARAMS") as refused:
        client.list(pageToken=token)

    assert list(refused.value.fields) == ["pageToken"]


@requirement("3.1.4:all-members-are-present")
def test_an_empty_page_still_has_all_its_members(client: Client) -> None:
    assert client.list(contextId="empty", pageSize=7) == {
        "tasks": [],
        "nextPageToken": "",
        "pageSize": 7,
        "totalSize": 0,
    }


@requirement("3.1.4:artifacts-on-request")
def test_artifacts_are_listed_only_when_asked_for(client: Client) -> None:
    task = client.task("tck-artifact-text")

    assert "artifacts" not in client.list()["tasks"][0]
    assert "artifacts" not in client.list(includeArtifacts=False)["tasks"][0]
    assert client.list(includeArtifacts=True)["tasks"][0]["artifacts"] == task["artifacts"]
