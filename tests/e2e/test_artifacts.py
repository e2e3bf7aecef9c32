"""Artifacts of any size on the whole deployment: stored while they are made, fetched by whoever owns them."""

import hashlib
import http.client
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import botocore.session
import httpx
import pytest

from tests.e2e.agents import megabyte
from tests.e2e.callers import Caller, Task, TaskState
from tests.e2e.conftest import TOKENS, WORKSHOP, Call
from tests.e2e.desk import Desk
from tests.e2e.stack import PATIENCE, LocalStack, running

MB = 1024 * 1024
LARGE, SMALL = 40, 5
"""Megabytes of a file that is fetched from S3, and of one that the API gives itself."""

ALICE = {"Authorization": f"Bearer {TOKENS['alice']}"}


def content(megabytes: int) -> bytes:
    """What the agent packs."""
    return b"".join(map(megabyte, range(megabytes)))


def packed(call: Call, stack: LocalStack, megabytes: int) -> Task:
    """The task after a file of this size was packed."""
    task = call(stack, name="alice").send(f"pack {megabytes}")
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    return task


@pytest.fixture
def web() -> Iterator[httpx.Client]:
    """A client as people have it: it follows where it is sent, and sends no credential along to others."""
    with httpx.Client(headers=ALICE, timeout=PATIENCE, follow_redirects=True) as client:
        yield client


@pytest.fixture(scope="session")
def linking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A deployment that gives all that is stored by links, each for a few seconds."""
    chosen = ("ContentLinks=always", "ContentLinkSeconds=8")
    parameters = [word for each in chosen for word in ("--parameter", each)]
    tokens = [word for name, token in TOKENS.items() for word in ("--token", f"{name}={token}")]
    with running(tmp_path_factory.mktemp("linking"), *WORKSHOP, *parameters, *tokens) as stack:
        yield stack


def test_a_large_file_is_shown_by_its_address_and_fetched_from_where_it_lies(
    workshop: LocalStack, call: Call, web: httpx.Client
) -> None:
    task = packed(call, workshop, LARGE)

    [part] = task.artifacts[0].parts
    whole = content(LARGE)
    digest = hashlib.sha256(whole).hexdigest()
    assert part.url == f"{workshop.url}/artifacts/{task.id}/dump/0"
    assert (part.media_type, part.filename) == ("application/zip", "Datenabzug März.zip")
    assert (part.metadata["byteSize"], part.metadata["sha256"]) == (LARGE * MB, digest)
    answer = web.get(part.url)

    assert answer.content == whole
    [sent_on] = answer.history
    assert (sent_on.status_code, sent_on.headers["Cache-Control"]) == (302, "no-store")
    assert answer.url.netloc == urlsplit(workshop.aws).netloc.encode()
    assert "authorization" not in answer.request.headers
    assert answer.headers["Content-Type"] == "application/zip"
    assert answer.headers["Content-Disposition"].startswith("attachment; ")
    assert "M%C3%A4rz" in answer.headers["Content-Disposition"]


def test_a_download_that_broke_off_is_gone_on_with(
    workshop: LocalStack, call: Call, web: httpx.Client
) -> None:
    url = packed(call, workshop, LARGE).artifacts[0].parts[0].url
    got = bytearray()
    with web.stream("GET", url) as answer:
        for piece in answer.iter_bytes(MB):
            got += piece
            if len(got) > 10 * MB:
                break
        etag = answer.headers["ETag"]

    rest = web.get(url, headers={"Range": f"bytes={len(got)}-", "If-Range": etag})

    assert rest.status_code == 206
    assert rest.headers["Content-Range"] == f"bytes {len(got)}-{LARGE * MB - 1}/{LARGE * MB}"
    assert bytes(got) + rest.content == content(LARGE)


@pytest.mark.parametrize("megabytes", [SMALL, LARGE])
def test_a_head_tells_how_much_it_is_and_what_a_get_will_be_of(
    workshop: LocalStack, call: Call, web: httpx.Client, megabytes: int
) -> None:
    url = packed(call, workshop, megabytes).artifacts[0].parts[0].url

    head = web.head(url)

    assert (head.status_code, head.content, head.history) == (200, b"", [])
    assert head.headers["Content-Length"] == str(megabytes * MB)
    assert head.headers["Accept-Ranges"] == "bytes"
    got = web.get(url)
    assert got.headers["ETag"] == head.headers["ETag"]
    assert got.headers["Content-Disposition"] == head.headers["Content-Disposition"]


def test_what_is_not_large_is_given_by_the_api_itself_and_in_ranges(
    workshop: LocalStack, call: Call, web: httpx.Client
) -> None:
    url = packed(call, workshop, SMALL).artifacts[0].parts[0].url

    whole = web.get(url)
    part = web.get(url, headers={"Range": f"bytes=100-{MB}", "If-Range": whole.headers["ETag"]})
    other = web.get(url, headers={"Range": "bytes=100-", "If-Range": '"another"'})
    beyond = web.get(url, headers={"Range": f"bytes={SMALL * MB}-"})
    again = web.get(url, headers={"If-None-Match": whole.headers["ETag"]})

    assert (whole.content, whole.history) == (content(SMALL), [])
    assert whole.headers["X-Content-Type-Options"] == "nosniff"
    assert (part.status_code, part.content) == (206, content(SMALL)[100 : MB + 1])
    assert part.headers["Content-Range"] == f"bytes 100-{MB}/{SMALL * MB}"
    assert (other.status_code, other.content) == (200, whole.content)
    assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, f"bytes */{SMALL * MB}")
    assert (again.status_code, again.content) == (304, b"")


def test_curl_follows_and_goes_on(workshop: LocalStack, call: Call, tmp_path: Path) -> None:
    url = packed(call, workshop, LARGE).artifacts[0].parts[0].url
    curl = ["/usr/bin/curl", "-sSfL", "-H", "Accept:", "-H", f"Authorization: {ALICE['Authorization']}"]
    file = tmp_path / "dump.zip"
    file.write_bytes(content(LARGE)[: 3 * MB])

    subprocess.run([*curl, "-C", "-", "-o", str(file), url], check=True, timeout=PATIENCE)

    assert file.read_bytes() == content(LARGE)


def test_nobody_else_is_given_a_link(workshop: LocalStack, call: Call) -> None:
    task = packed(call, workshop, LARGE)
    bob = {"Authorization": f"Bearer {TOKENS['bob']}"}
    address = f"{workshop.url}/artifacts/{{}}/dump/0"
    missing = str(uuid4())

    foreign, absent = (httpx.get(address.format(each), headers=bob) for each in (task.id, missing))
    stranger = httpx.get(address.format(task.id))

    assert foreign.status_code == 404
    assert seen(foreign, task.id) == seen(absent, missing)
    assert stranger.status_code == 401


def seen(answer: httpx.Response, task_id: str) -> tuple[int, dict[str, str], str]:
    """All that an answer tells, but for the id that was asked for and the gateway's names of the request."""
    headers = {name: value for name, value in answer.headers.items() if not name.startswith("x-amzn-")}
    return answer.status_code, headers, answer.text.replace(task_id, "…")


def test_a_link_is_good_for_what_it_was_signed_for_and_for_as_long(
    linking: LocalStack, call: Call, web: httpx.Client
) -> None:
    url = packed(call, linking, 1).artifacts[0].parts[0].url
    link = web.get(url, follow_redirects=False).headers["Location"]
    with httpx.Client(timeout=PATIENCE) as anybody:
        assert anybody.get(link).content == content(1)
        tampered = (link.replace("attachment", "inline"), link.replace("/dump", "/other"), link + "0")
        assert [anybody.get(each).status_code for each in tampered if each != link] == [403] * 2
        give_up, never = time.monotonic() + PATIENCE, threading.Event()
        while (answer := anybody.get(link)).status_code == 200:
            assert time.monotonic() < give_up
            never.wait(0.1)

    assert answer.status_code == 403
    assert "Request has expired" in answer.text
    assert web.get(url).content == content(1)


def test_a_credential_sent_along_to_s3_is_one_too_many(workshop: LocalStack, call: Call) -> None:
    url = packed(call, workshop, LARGE).artifacts[0].parts[0].url
    parts = urlsplit(httpx.get(url, headers=ALICE).headers["Location"])
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)

    connection.request("GET", f"{parts.path}?{parts.query}", headers=ALICE)

    answer = connection.getresponse()
    assert (answer.status, b"Only one auth mechanism" in answer.read()) == (400, True)
    connection.close()


def test_a_later_turn_weighs_the_file_of_an_earlier_one(workshop: LocalStack, call: Call) -> None:
    alice = call(workshop, name="alice")
    asked = alice.send("deposit 20")
    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED

    done = alice.send("yes", task_id=asked.id)

    [_, weight] = done.artifacts
    told = dict(weight.parts[0].data.struct_value)
    assert told == {"bytes": 20 * MB, "sha256": hashlib.sha256(content(20)).hexdigest()}


# --- uploads that end badly ------------------------------------------------


def test_a_task_canceled_while_its_file_is_stored_leaves_nothing_of_it(
    workshop: LocalStack, call: Call, background: ThreadPoolExecutor, desk: Desk
) -> None:
    alice = call(workshop, name="alice")
    waiting = background.submit(sending, workshop, f"pack 100000 {desk.order.split()[1]}")
    desk.wait_until_working()
    [working] = alice.list(status=TaskState.TASK_STATE_WORKING).tasks
    until_uploading(workshop, working.id, begun=True)

    canceled = alice.cancel(working.id)

    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    desk.wait_until_stopped()
    assert waiting.result(PATIENCE).artifacts == alice.get(working.id).artifacts
    assert len(canceled.artifacts) == 0
    until_uploading(workshop, working.id, begun=False)


def test_a_turn_killed_while_its_file_is_stored_shows_nothing_of_it(
    workshop: LocalStack, call: Call, background: ThreadPoolExecutor, desk: Desk
) -> None:
    alice = call(workshop, name="alice")
    waiting = background.submit(sending, workshop, f"pack 100000 {desk.order.split()[1]}")
    desk.wait_until_working()
    [working] = alice.list(status=TaskState.TASK_STATE_WORKING).tasks
    until_uploading(workshop, working.id, begun=True)

    os.kill(desk.pid, signal.SIGKILL)

    failed = waiting.result(PATIENCE)
    assert (failed.status.state, len(failed.artifacts)) == (TaskState.TASK_STATE_FAILED, 0)
    answer = httpx.get(f"{workshop.url}/artifacts/{working.id}/dump/0", headers=ALICE)
    assert answer.status_code == 404


def sending(stack: LocalStack, text: str) -> Task:
    """A blocking SendMessage of somebody who waits."""
    with Caller(stack, token=TOKENS["alice"]) as caller:
        return caller.send(text)


def until_uploading(stack: LocalStack, task_id: str, *, begun: bool) -> None:
    """Wait until a file of the task is on its way to the bucket, or none is any more."""
    session = botocore.session.get_session()
    session.set_credentials("local", "local")
    s3: Any = session.create_client("s3", region_name="us-east-1", endpoint_url=stack.aws)
    [bucket] = [each["Name"] for each in s3.list_buckets()["Buckets"] if re.search("content", each["Name"])]
    give_up, never = time.monotonic() + PATIENCE, threading.Event()
    while begun is not any(
        task_id in upload["Key"] for upload in s3.list_multipart_uploads(Bucket=bucket).get("Uploads", ())
    ):
        if time.monotonic() > give_up:
            raise TimeoutError(f"uploads of {task_id}: not {begun}")
        never.wait(0.05)
    s3.close()
