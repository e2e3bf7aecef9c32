"""The artifacts route: whose content it is, and how a browser is told to treat it."""

import base64
import hashlib

import pytest

from a2a_serverless.agent import Part
from a2a_serverless.bindings.caller import Admittance
from a2a_serverless.bindings.content import disposition
from tests.unit.bindings.asking import endpoint, parsed, rest, violations
from tests.unit.bindings.delivered import delivered

CONTENT = bytes(range(256)) * 4
DIGEST = hashlib.sha256(CONTENT).hexdigest()


FILE = Part(raw=CONTENT, media_type="application/pdf", filename="Bericht für März.pdf")


def test_a_large_part_is_shown_as_the_address_that_serves_it() -> None:
    ports, task_id = delivered(FILE)

    [part] = parsed(rest("GET", f"/tasks/{task_id}", at=endpoint(ports)))["artifacts"][0]["parts"]
    assert part["metadata"] == {"byteSize": len(CONTENT), "sha256": DIGEST}
    path = part["url"].removeprefix("https://agent.example/prod")
    response = rest("GET", path, at=endpoint(ports))

    assert (response.status, response.body) == (200, CONTENT)
    assert response.headers == {
        "Content-Type": "application/pdf",
        "Content-Disposition": (
            'attachment; filename="Bericht f_r M_rz.pdf"'
            "; filename*=UTF-8''Bericht%20f%C3%BCr%20M%C3%A4rz.pdf"
        ),
        "Content-Security-Policy": "sandbox",
        "X-Content-Type-Options": "nosniff",
        "Repr-Digest": f"sha-256=:{base64.b64encode(bytes.fromhex(DIGEST)).decode()}:",
        "ETag": f'"{DIGEST}"',
        "Cache-Control": "private, no-cache",
        "Accept-Ranges": "bytes",
    }


def test_content_of_a_tenant_has_an_address_of_the_tenant() -> None:
    ports, task_id = delivered(FILE, tenant="acme")

    [part] = parsed(rest("GET", f"/acme/tasks/{task_id}", at=endpoint(ports)))["artifacts"][0]["parts"]

    assert part["url"] == f"https://agent.example/prod/acme/artifacts/{task_id}/report%3A1/0"
    assert rest("GET", f"/acme/artifacts/{task_id}/report%3A1/0", at=endpoint(ports)).body == CONTENT
    assert rest("GET", f"/artifacts/{task_id}/report%3A1/0", at=endpoint(ports)).status == 404


def test_what_the_client_sent_has_an_address_too() -> None:
    ports, task_id = delivered(FILE)

    response = rest("GET", f"/artifacts/{task_id}/history/0/0", at=endpoint(ports))

    assert (response.body, response.headers["Content-Type"]) == (b"hello", "text/plain")
    assert response.headers["Content-Disposition"] == "attachment"


def test_content_of_somebody_else_is_not_found() -> None:
    ports, task_id = delivered(FILE)
    stranger = endpoint(ports, Admittance(local_principal="stranger"))

    foreign = rest("GET", f"/artifacts/{task_id}/report:1/0", at=stranger)
    missing = rest("GET", "/artifacts/none/report:1/0", at=stranger)

    assert (foreign.status, foreign.body) == (404, missing.body)


@pytest.mark.parametrize(
    "place", ["report:1/1", "report:1/x", "report:1/-1", "other/0", "status/0", "a/b/c/d"]
)
def test_there_is_nothing_where_there_is_no_part(place: str) -> None:
    ports, task_id = delivered(FILE)

    assert rest("GET", f"/artifacts/{task_id}/{place}", at=endpoint(ports)).status == 404


def test_no_version_is_needed_to_follow_a_link() -> None:
    ports, task_id = delivered(FILE)

    response = rest(
        "GET", f"/artifacts/{task_id}/report:1/0", at=endpoint(ports), headers={"A2A-Version": ""}
    )

    assert response.status == 200


@pytest.mark.parametrize("tags", [f'"{DIGEST}"', f'W/"{DIGEST}"', f'"x", "{DIGEST}"', "*"])
def test_a_client_that_has_the_content_is_told_so(tags: str) -> None:
    ports, task_id = delivered(FILE)

    response = rest(
        "GET", f"/artifacts/{task_id}/report:1/0", at=endpoint(ports), headers={"If-None-Match": tags}
    )

    assert (response.status, response.body) == (304, b"")
    assert response.headers["ETag"] == f'"{DIGEST}"'


def test_content_can_only_be_read() -> None:
    ports, task_id = delivered(FILE)

    head = rest("HEAD", f"/artifacts/{task_id}/report:1/0", at=endpoint(ports))
    post = rest("POST", f"/artifacts/{task_id}/report:1/0", at=endpoint(ports))

    assert (head.status, head.body, head.headers["ETag"]) == (200, b"", f'"{DIGEST}"')
    assert (post.status, post.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")


@pytest.mark.parametrize(
    "media_type",
    [
        "text/html\r\nSet-Cookie: a=b",
        "nonsense",
        "text/ html",
        "",
        "text/html; x=ä",
        "/",
        "text/html; x=" + "y" * 300,
    ],
)
def test_a_media_type_that_is_none_is_no_header(media_type: str) -> None:
    ports, task_id = delivered(Part(raw=b"x", media_type=media_type))

    response = rest("GET", f"/artifacts/{task_id}/report:1/0", at=endpoint(ports))

    assert response.headers["Content-Type"] == "application/octet-stream"


def test_ids_in_the_address_are_held_to_their_limits() -> None:
    response = rest("GET", "/artifacts/a%20b/report/0")

    assert list(violations(parsed(response)["error"]["details"])) == ["id"]


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        (None, "attachment"),
        ("", "attachment"),
        ("a.txt", 'attachment; filename="a.txt"'),
        ("../../etc/passwd", 'attachment; filename=".._.._etc_passwd"'),
        ("a\r\nb: c", 'attachment; filename="a__b: c"'),
        ('a"b', "attachment; filename=\"a_b\"; filename*=UTF-8''a%22b"),
        ("日本.txt", "attachment; filename=\"__.txt\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.txt"),
        ("x" * 1000, f'attachment; filename="{"x" * 128}"'),
        ("100%.txt", "attachment; filename=\"100_.txt\"; filename*=UTF-8''100%25.txt"),
    ],
)
def test_a_file_is_saved_under_its_name_and_nowhere_else(filename: str | None, expected: str) -> None:
    assert disposition(filename) == expected
