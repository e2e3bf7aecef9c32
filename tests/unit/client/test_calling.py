"""Calls that answer once, over both bindings: what is asked, what comes back, what is tried again."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from a2a_serverless.client import (
    Client,
    Limits,
    Retries,
    TimedOutError,
    Timeouts,
    UnavailableError,
    UnexpectedAnswerError,
    UnknownError,
    UnreachableError,
    connect,
    text_message,
)
from a2a_serverless.protocol.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    RateLimitedError,
    TaskNotFoundError,
    UnauthenticatedError,
)
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.protocol.requests import SendMessageConfiguration, TaskPushNotificationConfig
from tests.unit.client.agents_on_paper import URL, Answering, Paper, card, rpc, rpc_error, task

Calling = Callable[[Client], Awaitable[Any]]

REST = {"bindings": ("HTTP+JSON",)}


def called(paper: Paper, calling: Calling, **options: Any) -> Any:
    async def run() -> Any:
        async with connect(URL, options=paper.options(**options)) as agent:
            return await calling(agent)

    return asyncio.run(run())


def rpc_reply(request: httpx.Request, said: dict[str, Any]) -> httpx.Response:
    return httpx.Response(200, json={"jsonrpc": "2.0", "id": json.loads(request.content)["id"], **said})


def plain(status: int, body: Any = None, **headers: str) -> Answering:
    return lambda _: httpx.Response(status, json=body, headers=headers)


def test_a_message_goes_to_the_first_interface_and_its_task_comes_back() -> None:
    paper = Paper([lambda request: rpc(request, {"task": task()})])

    answer = called(paper, lambda agent: agent.send_message("Hello"))

    (asked,) = paper.asked
    sent = json.loads(asked.content)
    assert (asked.method, str(asked.url), asked.headers["A2A-Version"]) == ("POST", f"{URL}/", "1.0")
    assert (sent["jsonrpc"], sent["method"]) == ("2.0", "SendMessage")
    message = sent["params"]["message"]
    assert message == {"messageId": message["messageId"], "role": "ROLE_USER", "parts": [{"text": "Hello"}]}
    assert answer.task.status.state is TaskState.COMPLETED


OPERATIONS: list[tuple[Calling, Any, str, str, dict[str, Any] | None]] = [
    (
        lambda a: a.send_message(
            text_message("Hi", message_id="m1", task_id="t1"),
            configuration=SendMessageConfiguration(return_immediately=True, history_length=0),
            metadata={"skill": "x"},
        ),
        {"task": task()},
        "POST",
        "/message:send",
        {
            "message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Hi"}], "taskId": "t1"},
            "configuration": {"returnImmediately": True, "historyLength": 0},
            "metadata": {"skill": "x"},
        },
    ),
    (lambda a: a.get_task("t/1", history_length=0), task(), "GET", "/tasks/t%2F1?historyLength=0", None),
    (
        lambda a: a.list_tasks(
            context_id="c1",
            status=TaskState.WORKING,
            page_size=5,
            page_token="a b",
            include_artifacts=True,
            status_timestamp_after=datetime(2026, 1, 31, tzinfo=UTC),
        ),
        {"tasks": [task()], "nextPageToken": "", "pageSize": 5, "totalSize": 1},
        "GET",
        (
            "/tasks?contextId=c1&status=TASK_STATE_WORKING&pageSize=5&pageToken=a+b"
            "&statusTimestampAfter=2026-01-31T00%3A00%3A00.000Z&includeArtifacts=true"
        ),
        None,
    ),
    (lambda a: a.cancel_task("t1"), task("TASK_STATE_CANCELED"), "POST", "/tasks/t1:cancel", {}),
    (
        lambda a: a.create_task_push_notification_config(
            TaskPushNotificationConfig(task_id="t1", url="https://hook.example")
        ),
        {"id": "c 1", "taskId": "t1", "url": "https://hook.example"},
        "POST",
        "/tasks/t1/pushNotificationConfigs",
        {"url": "https://hook.example"},
    ),
    (
        lambda a: a.get_task_push_notification_config("t1", "c 1"),
        {"id": "c 1", "taskId": "t1", "url": "https://hook.example"},
        "GET",
        "/tasks/t1/pushNotificationConfigs/c%201",
        None,
    ),
    (
        lambda a: a.list_task_push_notification_configs("t1"),
        {"configs": [{"id": "c 1", "taskId": "t1", "url": "https://hook.example"}]},
        "GET",
        "/tasks/t1/pushNotificationConfigs",
        None,
    ),
    (
        lambda a: a.delete_task_push_notification_config("t1", "c1"),
        {},
        "DELETE",
        "/tasks/t1/pushNotificationConfigs/c1",
        None,
    ),
    (lambda a: a.get_extended_agent_card(), card(), "GET", "/extendedAgentCard", None),
]


@pytest.mark.parametrize(("calling", "answer", "verb", "path", "body"), OPERATIONS)
def test_every_operation_has_its_address_over_http_json(
    calling: Calling, answer: Any, verb: str, path: str, body: dict[str, Any] | None
) -> None:
    paper = Paper([plain(200, answer)])

    result = called(paper, calling, **REST)

    (asked,) = paper.asked
    assert (asked.method, str(asked.url)) == (verb, URL + path)
    assert (json.loads(asked.content) if asked.content else None) == body
    assert result is None or result.to_dict() == type(result).from_dict(answer).to_dict()


@pytest.mark.parametrize(("calling", "answer", "verb", "path", "body"), OPERATIONS)
def test_every_operation_gives_the_same_over_json_rpc(
    calling: Calling, answer: Any, verb: str, path: str, body: dict[str, Any] | None
) -> None:
    paper = Paper([lambda request: rpc(request, answer)])

    result = called(paper, calling)

    assert result is None or result.to_dict() == type(result).from_dict(answer).to_dict()


@pytest.mark.parametrize("parts", [{}, {"parts": []}, {"parts": None}])
def test_what_lacks_its_parts_has_an_empty_text(parts: dict[str, Any]) -> None:
    kept = {"parts": [{"data": {"messageId": "mine", "parts": []}}]}
    said = {"messageId": "m", "role": "ROLE_AGENT", **parts}
    answer = task(artifacts=[{"artifactId": "a", **parts}, {"artifactId": "b", **kept}], history=[said])

    read = called(Paper([plain(200, answer)]), lambda agent: agent.get_task("t1"), **REST).to_dict()

    assert read["artifacts"] == [{"artifactId": "a", "parts": [{"text": ""}]}, {"artifactId": "b", **kept}]
    assert read["history"][0]["parts"] == [{"text": ""}]


def test_parts_that_are_something_else_are_still_none() -> None:
    answer = task(artifacts=[{"artifactId": "a", "parts": "text"}])

    with pytest.raises(UnexpectedAnswerError, match=r"the answer is no Task: artifacts\[0\].parts must be"):
        called(Paper([plain(200, answer)]), lambda agent: agent.get_task("t1"), **REST)


@pytest.mark.parametrize("said", [{"result": None}, {"result": {}}, {}])
def test_nothing_is_a_result_however_it_is_printed(said: dict[str, Any]) -> None:
    paper = Paper([lambda request: rpc_reply(request, said)])

    called(paper, lambda agent: agent.delete_task_push_notification_config("t1", "c1"))

    assert len(paper.asked) == 1


def test_nothing_is_no_result_where_there_must_be_one() -> None:
    with pytest.raises(UnexpectedAnswerError, match="no JSON-RPC reply"):
        called(Paper([lambda request: rpc_reply(request, {})]), lambda agent: agent.get_task("t1"))


def test_the_tenant_of_an_interface_is_echoed_as_it_stands_there() -> None:
    interface = {"url": URL, "protocolVersion": "1.0", "tenant": "a b"}
    over_rpc = Paper(
        [lambda request: rpc(request, task())], card=card({**interface, "protocolBinding": "JSONRPC"})
    )
    over_rest = Paper([plain(200, task())], card=card({**interface, "protocolBinding": "HTTP+JSON"}))

    called(over_rpc, lambda agent: agent.get_task("t1"))
    called(over_rest, lambda agent: agent.get_task("t1"))

    assert over_rpc.params() == {"tenant": "a b", "id": "t1"}
    assert str(over_rest.asked[0].url) == f"{URL}/a%20b/tasks/t1"


def test_extensions_that_are_opted_into_are_named_in_every_request() -> None:
    paper = Paper([lambda request: rpc(request, task())])

    called(paper, lambda agent: agent.get_task("t1"), extensions=("urn:a", "urn:b"))

    assert paper.asked[0].headers["A2A-Extensions"] == "urn:a, urn:b"


OF_ANOTHER_TYPE = {
    "error": {
        "code": 415,
        "status": "INVALID_ARGUMENT",
        "message": "This content type is not supported",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "CONTENT_TYPE_NOT_SUPPORTED",
                "domain": "a2a-protocol.org",
            }
        ],
    }
}


@pytest.mark.parametrize("status", [400, 415])
def test_an_agent_that_takes_only_plain_json_is_spoken_to_in_that_from_then_on(status: int) -> None:
    paper = Paper(
        [plain(status, OF_ANOTHER_TYPE), plain(200, {"task": task()}), plain(200, {"task": task()})]
    )

    async def twice(agent: Client) -> None:
        await agent.send_message("Hello")
        await agent.send_message("Hello again")

    called(paper, twice, **REST)

    types = [asked.headers["Content-Type"] for asked in paper.asked]
    assert types == ["application/a2a+json", "application/json", "application/json"]
    assert paper.asked[0].content == paper.asked[1].content


@pytest.mark.parametrize(("binding", "requests"), [("HTTP+JSON", 2), ("JSONRPC", 1)])
def test_whoever_takes_a_message_as_neither_is_not_asked_for_ever(binding: str, requests: int) -> None:
    paper = Paper([plain(400, OF_ANOTHER_TYPE)])
    if binding == "JSONRPC":
        paper = Paper([lambda request: rpc_error(request, {"code": -32005, "message": "Not of this type"})])

    with pytest.raises(ContentTypeNotSupportedError):
        called(paper, lambda agent: agent.send_message("Hello"), bindings=(binding,))

    assert len(paper.asked) == requests


INFO = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "TASK_NOT_FOUND",
    "domain": "a2a-protocol.org",
    "metadata": {"taskId": "t1"},
}
FIELDS = {
    "@type": "type.googleapis.com/google.rpc.BadRequest",
    "fieldViolations": [{"field": "id", "description": "is required"}],
}


def refused(paper: Paper, **options: Any) -> BaseException:
    with pytest.raises((A2AError, UnexpectedAnswerError, UnavailableError)) as caught:
        called(paper, lambda agent: agent.get_task("t1"), **options)
    return caught.value


@pytest.mark.parametrize("options", [{}, REST])
def test_an_address_that_leads_to_another_is_said_to_and_not_followed(options: Any) -> None:
    elsewhere = httpx.Response(307, headers={"Location": "https://elsewhere.example/"})
    paper = Paper([lambda _: elsewhere])

    error = refused(paper, **options)

    assert str(error) == "the address leads to another (status 307), which the card has to name itself"
    assert len(paper.asked) == 1


def test_an_error_is_the_same_class_with_the_same_details_over_both_bindings() -> None:
    over_rpc = Paper([lambda r: rpc_error(r, {"code": -32001, "message": "Gone", "data": [INFO, FIELDS]})])
    status = {"error": {"code": 404, "status": "NOT_FOUND", "message": "Gone", "details": [INFO, FIELDS]}}
    over_rest = Paper([plain(404, status)])

    errors = [refused(over_rpc), refused(over_rest, **REST)]

    for error in errors:
        assert isinstance(error, TaskNotFoundError)
        assert (error.message, error.metadata) == ("Gone", {"taskId": "t1"})
        assert [each.field for each in error.violations] == ["id"]


def test_an_error_that_no_class_is_known_for_keeps_what_was_said() -> None:
    data = [{"@type": "type.example/Own", "n": 1}]
    over_rpc = refused(Paper([lambda r: rpc_error(r, {"code": -32050, "message": "Odd", "data": data})]))
    over_rest = refused(
        Paper([plain(418, {"error": {"code": 418, "status": "TEAPOT", "message": "Odd", "details": data}})]),
        **REST,
    )

    assert isinstance(over_rpc, UnknownError)
    assert (over_rpc.message, over_rpc.answered_code, over_rpc.data) == ("Odd", -32050, data)
    assert isinstance(over_rest, UnknownError)
    assert (over_rest.answered_http_status, over_rest.answered_status) == (418, "TEAPOT")
    assert over_rest.data == data


@pytest.mark.parametrize("options", [{}, REST])
def test_what_http_alone_refuses_is_an_error_of_its_own_whatever_the_body(options: Any) -> None:
    page = httpx.Response(401, html="<h1>No</h1>", headers={"WWW-Authenticate": 'Bearer realm="a"'})

    error = refused(Paper([lambda _: page]), **options)

    assert isinstance(error, UnauthenticatedError)
    assert error.metadata == {"challenge": 'Bearer realm="a"'}


@pytest.mark.parametrize("options", [{}, REST])
@pytest.mark.parametrize(
    "page",
    [
        httpx.Response(200, html="<h1>Welcome</h1>"),
        httpx.Response(500, html="<h1>Oops</h1>"),
        httpx.Response(200, text="not json", headers={"Content-Type": "application/json"}),
        httpx.Response(200, json=[1]),
        httpx.Response(302, headers={"Location": "https://elsewhere.example/"}),
    ],
)
def test_an_answer_that_is_not_of_the_protocol_is_told_from_one_that_is(
    options: Any, page: httpx.Response
) -> None:
    error = refused(Paper([lambda _: page]), **options)

    assert isinstance(error, UnexpectedAnswerError)
    assert "elsewhere.example" not in str(error)


def test_a_reply_to_another_request_is_none() -> None:
    other = {"jsonrpc": "2.0", "id": "another", "result": task()}

    assert isinstance(refused(Paper([plain(200, other)])), UnexpectedAnswerError)


def test_an_answer_that_is_not_the_object_asked_for_names_what_is_wrong_with_it() -> None:
    error = refused(Paper([lambda r: rpc(r, {"task": task()})]))

    assert isinstance(error, UnexpectedAnswerError)
    assert not isinstance(error, InvalidParamsError)
    assert "id is required" in str(error)


def test_a_message_is_sent_again_under_its_own_id_until_there_is_an_answer() -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("gone", request=request)

    paper = Paper(
        [
            broken,
            plain(503, None, **{"Retry-After": "0"}),
            plain(429, None, **{"Retry-After": "0"}),
            lambda r: rpc(r, {"task": task()}),
        ]
    )

    called(paper, lambda agent: agent.send_message("Once"))

    ids = {json.loads(each.content)["params"]["message"]["messageId"] for each in paper.asked}
    assert (len(paper.asked), len(ids)) == (4, 1)


def test_a_message_that_may_have_been_heard_is_not_sent_again_where_that_is_not_wanted() -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("gone", request=request)

    paper = Paper([broken])

    with pytest.raises(UnreachableError) as caught:
        called(paper, lambda agent: agent.send_message("Once"), retries=Retries(resend=False))

    assert caught.value.request_sent
    assert len(paper.asked) == 1


def test_trying_again_ends() -> None:
    paper = Paper([plain(503)])

    with pytest.raises(UnavailableError):
        called(paper, lambda agent: agent.get_task("t1"))

    assert len(paper.asked) == 4


def test_an_agent_that_wants_to_be_left_alone_for_longer_than_one_waits_is_not_waited_for() -> None:
    paper = Paper([plain(429, None, **{"Retry-After": "3600"})])

    with pytest.raises(RateLimitedError) as caught:
        called(paper, lambda agent: agent.get_task("t1"))

    assert (caught.value.retry_after, len(paper.asked)) == (3600, 1)


def test_an_answer_that_does_not_begin_in_time_is_given_up_and_says_which_phase_it_was() -> None:
    class Silent(Paper):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path == "/":
                await asyncio.Event().wait()
            return await super().handle_async_request(request)

    with pytest.raises(TimedOutError) as caught:
        called(Silent([plain(200)]), lambda agent: agent.get_task("t1"), timeouts=Timeouts(first_byte=0.01))

    assert caught.value.phase == "first byte"


def test_a_call_as_a_whole_has_a_limit_of_its_own() -> None:
    paper = Paper([plain(503, None, **{"Retry-After": "5"})])

    with pytest.raises(TimedOutError) as caught:
        called(paper, lambda agent: agent.get_task("t1"), timeouts=Timeouts(total=0.01))

    assert caught.value.phase == "total"


def test_an_answer_longer_than_the_limit_is_not_read_to_its_end() -> None:
    endless = httpx.Response(200, content=b" " * 100, headers={"Content-Type": "application/json"})

    with pytest.raises(UnexpectedAnswerError, match="more than 50 bytes"):
        called(Paper([lambda _: endless]), lambda agent: agent.get_task("t1"), limits=Limits(answer=50))


@pytest.mark.parametrize("options", [{}, REST])
def test_an_agent_that_is_away_is_told_from_one_that_refuses_whatever_says_so(options: Any) -> None:
    unavailable = {"error": {"code": 503, "status": "UNAVAILABLE", "message": "Later"}}

    for answer in (plain(503, unavailable), plain(502, None), plain(504, {"message": "Timeout"})):
        assert isinstance(refused(Paper([answer]), **options), UnavailableError)


def test_an_answer_that_breaks_off_is_asked_for_again_and_one_that_goes_silent_is_not() -> None:
    class Breaking(httpx.AsyncByteStream):
        def __init__(self, error: type[httpx.TransportError]) -> None:
            self.error = error

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"{"
            raise self.error("gone")

    def broken(error: type[httpx.TransportError]) -> Answering:
        return lambda _: httpx.Response(
            200, stream=Breaking(error), headers={"Content-Type": "application/json"}
        )

    paper = Paper([broken(httpx.ReadError), lambda request: rpc(request, task())])
    called(paper, lambda agent: agent.get_task("t1"))
    with pytest.raises(TimedOutError) as caught:
        called(Paper([broken(httpx.ReadTimeout)]), lambda agent: agent.get_task("t1"))

    assert len(paper.asked) == 2
    assert caught.value.phase == "idle"


@pytest.mark.parametrize(
    ("error", "phase"), [(httpx.ConnectTimeout, "connect"), (httpx.ReadTimeout, "first byte")]
)
def test_a_timeout_says_which_phase_it_was(error: type[httpx.TransportError], phase: str) -> None:
    def late(request: httpx.Request) -> httpx.Response:
        raise error("late", request=request)

    with pytest.raises(TimedOutError) as caught:
        called(Paper([late]), lambda agent: agent.get_task("t1"))

    assert caught.value.phase == phase


def test_white_space_before_an_answer_is_a_sign_of_life_and_no_part_of_it() -> None:
    def slow(request: httpx.Request) -> httpx.Response:
        content = b"   " + rpc(request, {"task": task()}).content
        return httpx.Response(200, content=content, headers={"Content-Type": "application/json"})

    assert called(Paper([slow]), lambda agent: agent.send_message("Hi")).task is not None


def test_an_operation_that_answers_with_nothing_at_all_has_answered() -> None:
    paper = Paper([lambda _: httpx.Response(204)])

    called(paper, lambda agent: agent.delete_task_push_notification_config("t1", "c1"), **REST)
