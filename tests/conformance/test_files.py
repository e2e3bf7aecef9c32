"""Files of a conversation: whose they are, what may be named, and that both bindings judge parts alike."""

import json
from base64 import b64encode
from typing import Any

import pytest

from a2a_serverless.bindings import http_json
from a2a_serverless.bindings.http import HttpRequest, HttpResponse
from tests.conformance.requirements import requirement
from tests.conformance.test_isolation import OTHERS, Others, deployment, everything, speaking
from tests.conformance.wire import Client, Connect, Fields, Refused, whole

MIB = 1024 * 1024
CUP = b"\x89PNG of a cup"
FILE = {"name": "cup.png", "mediaType": "image/png", "byteSize": len(CUP)}

MISSING = "A2A file URL parts must reference an existing file."


def offered(client: Client, tenant: Fields, context: str = "shared", **changed: Any) -> HttpResponse:
    """The answer to who wants to upload a file."""
    path = f"/{tenant['tenant']}/contexts/{context}/files" if tenant else f"/contexts/{context}/files"
    body = json.dumps({**FILE, **changed}).encode()
    request = HttpRequest("POST", path, client.headers, {}, body, "https://agent.example")
    return whole(http_json.answer(client.deployment.endpoint, request))


def uploaded(client: Client, tenant: Fields) -> Any:
    """The part of a file that was uploaded to where the route said."""
    told = json.loads(offered(client, tenant).body)
    uploads: Any = client.deployment.ports.uploads
    key = told["upload"]["url"].removeprefix("https://uploads.example/")
    uploads.put(key, CUP, "image/png")
    return told["part"]


def naming(client: Client, part: Fields, tenant: Fields, method: str = "SendMessage") -> HttpResponse:
    """The answer to a message that names a file."""
    sent = client.message("", contextId="shared", parts=[{"text": "tck-complete-task"}, part], **tenant)
    return client.answer(method, sent)


# --- whose a file is ------------------------------------------------


@requirement("13.1:files-are-ones-own")
@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
@pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
def test_a_file_of_somebody_else_is_answered_for_like_one_that_never_was(
    connect: Connect, others: Others, method: str
) -> None:
    client = connect(deployment())
    owner, asker = speaking(client, others.owner), speaking(client, others.asker)
    part = uploaded(owner, others.owners)
    before = everything(client.deployment)

    about = naming(asker, part, others.askers, method)
    about_none = naming(asker, {**part, "url": "file:///never"}, others.askers, method)

    assert about == about_none
    assert b"PERMISSION_DENIED" in about.body or about.status == 403 or MISSING.encode() in about.body
    assert everything(client.deployment) == before


@requirement("13.1:files-are-ones-own")
def test_to_its_owner_a_file_is_there(connect: Connect) -> None:
    client = speaking(connect(deployment()), "alice")

    answer = naming(client, uploaded(client, {}), {})

    assert b"TASK_STATE_COMPLETED" in answer.body


@requirement("13.1:files-are-ones-own")
def test_two_callers_upload_to_two_places_under_one_name(connect: Connect) -> None:
    client = connect(deployment())
    places = {
        json.loads(offered(speaking(client, who), tenant).body)["upload"]["url"]
        for who in ("alice", "bob", "nobody")
        for tenant in ({}, {"tenant": "acme"}, {"tenant": "globex"})
    }

    assert len(places) == 9


@requirement("13.1:tenant-of-a-token")
def test_whom_a_token_binds_to_a_tenant_uploads_for_no_other(connect: Connect) -> None:
    ann = speaking(connect(deployment()), "ann-at-acme")

    own, bound, foreign = (offered(ann, tenant) for tenant in ({"tenant": "acme"}, {}, {"tenant": "globex"}))

    assert json.loads(own.body)["upload"]["url"] == json.loads(bound.body)["upload"]["url"]
    assert (foreign.status, foreign.body) == (403, b'{"error":"Forbidden"}')


@requirement("3.3.2:credentials-are-required")
def test_without_credentials_no_place_is_offered(connect: Connect) -> None:
    client = speaking(connect(deployment()), "mallory")

    answer = offered(client, {})

    assert (answer.status, answer.body) == (401, b'{"error":"Unauthorized"}')


@requirement("13.1:contexts-are-ones-own")
def test_no_context_id_leads_to_the_files_of_another_context(connect: Connect) -> None:
    client = speaking(connect(deployment()), "alice")
    contexts = ("..", "%2E%2E", "a%2Fb", "a b", "x" * 129)

    assert {offered(client, {}, context).status for context in contexts} <= {400, 404}


# --- what a part may be ------------------------------------------------


def raw(content: bytes, media_type: str) -> dict[str, str]:
    return {"raw": b64encode(content).decode(), "mediaType": media_type}


@requirement("3.3.2:all-input-is-validated")
@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
@pytest.mark.parametrize(
    ("part", "field", "text"),
    [
        ({"text": "x" * (MIB + 1)}, "text", "A2A text part content is too large."),
        ({"data": "x" * MIB}, "data", "A2A data part content is too large."),
        (raw(bytes(MIB + 1), "text/csv"), "raw", "A2A raw part content is too large."),
        (raw(b"\xff", "text/plain"), "raw", "A2A raw parts must contain valid UTF-8."),
        ({"url": "https://example.com/x"}, "url", "A2A file URL parts must use local file:// URLs."),
        ({"url": "file:///a/../../x"}, "url", "A2A file URL part is outside the allowed workspace."),
        ({"url": "file:///never"}, "url", MISSING),
    ],
)
def test_a_part_that_cannot_be_taken_is_refused_by_name_and_nothing_is_done(
    connect: Connect, method: str, part: Fields, field: str, text: str
) -> None:
    client = speaking(connect(deployment()), "alice")

    with pytest.raises(Refused) as refused:
        client.call(method, client.message("", parts=[{"text": "hi"}, part]))

    assert (refused.value.reason, refused.value.message) == ("INVALID_PARAMS", text)
    assert list(refused.value.fields) == [f"message.parts[1].{field}"]
    assert client.deployment.table.items == {}
    assert client.deployment.executions.started == []


@requirement("3.1.1:media-types-are-checked")
def test_data_of_another_type_than_json_is_refused(connect: Connect) -> None:
    client = speaking(connect(deployment()), "alice")

    with pytest.raises(Refused, match="CONTENT_TYPE_NOT_SUPPORTED") as refused:
        client.send("", parts=[{"data": {}, "mediaType": "application/xml"}])

    assert refused.value.metadata["field"] == "message.parts[0].mediaType"


@requirement("3.3.2:all-input-is-validated")
@pytest.mark.parametrize("texts", [[""], [" ", "\n"]])
def test_a_message_that_says_nothing_is_refused(connect: Connect, texts: list[str]) -> None:
    client = speaking(connect(deployment()), "alice")

    with pytest.raises(Refused) as refused:
        client.send("", parts=[{"text": text} for text in texts])

    assert list(refused.value.fields) == ["message.parts"]


@requirement("3.3.2:all-input-is-validated")
def test_a_context_belongs_to_the_workspace_that_was_said_first(connect: Connect) -> None:
    client = speaking(connect(deployment()), "alice")
    shop, garden = ({"urn:a2a-serverless:files:v1": {"workspace": name}} for name in ("shop", "garden"))
    client.task("tck-complete-task", contextId="c", metadata=shop)

    with pytest.raises(Refused) as refused:
        client.send("tck-complete-task", contextId="c", metadata=garden)

    assert refused.value.message == "A2A context belongs to a different workspace."
    assert client.task("tck-complete-task", contextId="c", metadata=shop)["status"]["state"] == (
        "TASK_STATE_COMPLETED"
    )
