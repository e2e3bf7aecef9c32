"""What a caller shows: where it goes, when it is renewed, and that nobody reads it by accident."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from a2a_serverless.client import ApiKey, Basic, Bearer, Together, connect
from a2a_serverless.protocol.errors import UnauthenticatedError
from tests.unit.client.agents_on_paper import URL, Paper, rpc, task


def shown(auth: httpx.Auth, *refusals: int) -> list[httpx.Request]:
    """The requests of one call of an agent that refuses so many before it answers."""
    paper = Paper([*[lambda _: httpx.Response(401)] * len(refusals), lambda request: rpc(request, task())])

    async def run() -> None:
        async with connect(URL, options=paper.options(auth=auth)) as agent:
            await agent.get_task("t1")

    asyncio.run(run())
    return paper.asked


class Renewed:
    """A source of tokens, each another one."""

    def __init__(self) -> None:
        self.given = 0

    async def __call__(self) -> str:
        self.given += 1
        return f"token-{self.given}"


def test_a_token_is_shown_as_a_bearers() -> None:
    assert [each.headers["authorization"] for each in shown(Bearer("abc"))] == ["Bearer abc"]


def test_a_name_and_password_are_shown_as_rfc_7617_has_them() -> None:
    (request,) = shown(Basic("aladdin", "öpen:sesame"))

    assert request.headers["authorization"] == "Basic YWxhZGRpbjrDtnBlbjpzZXNhbWU="


def test_a_key_goes_where_the_scheme_wants_it() -> None:
    assert shown(ApiKey("k"))[0].headers["x-api-key"] == "k"
    assert shown(ApiKey("k", "X-Own"))[0].headers["x-own"] == "k"
    assert str(shown(ApiKey("k &", "key", "query"))[0].url) == f"{URL}/?key=k+%26"
    assert shown(ApiKey("k", "session", "cookie"))[0].headers["cookie"] == "session=k"


def test_a_token_that_was_refused_is_renewed_once() -> None:
    source = Renewed()

    assert [each.headers["authorization"] for each in shown(Bearer(source), 401)] == [
        "Bearer token-1",
        "Bearer token-2",
    ]
    with pytest.raises(UnauthenticatedError):
        shown(Bearer(source), 401, 401)


def test_a_token_that_does_not_change_is_not_shown_twice() -> None:
    with pytest.raises(UnauthenticatedError):
        shown(Bearer("abc"), 401)


def test_a_source_that_has_no_other_token_is_believed() -> None:
    async def source() -> str:
        return "the same"

    paper = Paper([lambda _: httpx.Response(401)])

    async def run() -> None:
        async with connect(URL, options=paper.options(auth=Bearer(source))) as agent:
            await agent.get_task("t1")

    with pytest.raises(UnauthenticatedError):
        asyncio.run(run())
    assert len(paper.asked) == 1


def test_several_schemes_go_together_and_one_of_them_may_look_at_answers() -> None:
    first, second = shown(Together(ApiKey("k"), Bearer(Renewed())), 401)

    for request, token in ((first, "Bearer token-1"), (second, "Bearer token-2")):
        assert (request.headers["x-api-key"], request.headers["authorization"]) == ("k", token)
    assert shown(Together(ApiKey("k")))[0].headers["x-api-key"] == "k"
    with pytest.raises(ValueError, match="one"):
        Together(Bearer("a"), Bearer("b"))


def test_an_auth_of_somebodys_own_does_what_it_does() -> None:
    class Own(httpx.Auth):
        async def async_auth_flow(
            self, request: httpx.Request
        ) -> AsyncGenerator[httpx.Request, httpx.Response]:
            request.headers["X-Signature"] = str(len(request.content))
            yield request

    (request,) = shown(Own())

    assert request.headers["x-signature"] == str(len(request.content))


@pytest.mark.parametrize("auth", [Bearer("hidden"), Basic("user", "hidden"), ApiKey("hidden")])
def test_nobody_reads_a_credential_by_accident(auth: Any) -> None:
    assert "hidden" not in repr(auth) + str(auth)
