"""Links to stored content: who is given one, for what, and for how long."""

import hashlib
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from a2a_serverless.agent import Part
from a2a_serverless.bindings import http_json
from a2a_serverless.bindings.caller import Admittance
from a2a_serverless.bindings.content import MAX_CONTENT
from a2a_serverless.bindings.http import HttpResponse, StreamedResponse
from a2a_serverless.ports import ContentLinks, LinkPolicy, Ports
from tests.unit.bindings.asking import endpoint, parsed, plain, request, rest
from tests.unit.bindings.delivered import delivered

KB = 1024
ALWAYS = LinkPolicy(given=ContentLinks.ALWAYS)
LARGE = LinkPolicy(given=ContentLinks.LARGE, large=200 * KB)
NEVER = LinkPolicy(given=ContentLinks.NEVER)
FILE = Part(raw=bytes(100 * KB), media_type="text/html", filename="März.html")


def asked(
    ports: Ports, task_id: str, method: str = "GET", *, streaming: bool = True, **headers: str
) -> HttpResponse | StreamedResponse:
    """The answer to a request for the content."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    at = replace(endpoint(ports), streaming=streaming)
    return http_json.answer(at, request(method, f"/artifacts/{task_id}/report:1/0", headers=named))


def leads_to(response: HttpResponse | StreamedResponse) -> dict[str, str]:
    """What the link of an answer asks for, and the key it leads to."""
    assert response.status == 302
    link = urlsplit(response.headers["Location"])
    return {"path": link.path, **{name: value for name, [value] in parse_qs(link.query).items()}}


@pytest.mark.parametrize(
    ("links", "size", "status"),
    [
        (ALWAYS, 100, 200),
        (ALWAYS, 64 * KB, 200),
        (ALWAYS, 64 * KB + 1, 302),
        (LARGE, 200 * KB, 200),
        (LARGE, 200 * KB + 1, 302),
        (LinkPolicy(), 10 * KB * KB, 200),
        (LinkPolicy(), 10 * KB * KB + 1, 302),
        (NEVER, 10 * KB * KB + 1, 200),
    ],
)
def test_links_are_given_as_the_deployment_has_it(links: LinkPolicy, size: int, status: int) -> None:
    assert asked(*delivered(Part(raw=bytes(size)), links=links)).status == status


@pytest.mark.parametrize(("size", "status"), [(MAX_CONTENT, 200), (MAX_CONTENT + 1, 302)])
def test_where_answers_do_not_stream_a_link_is_given_for_what_fits_into_none(size: int, status: int) -> None:
    assert asked(*delivered(Part(raw=bytes(size))), streaming=False).status == status


def test_a_link_leads_to_a_download_under_the_contents_own_name_and_type() -> None:
    ports, task_id = delivered(FILE, links=ALWAYS)

    response = plain(asked(ports, task_id))

    [key] = ports.contents.stored  # type: ignore[attr-defined]
    assert leads_to(response) == {
        "path": f"/{key}",
        "seconds": "300",
        "type": "text/html",
        "disposition": "attachment; filename=\"M_rz.html\"; filename*=UTF-8''M%C3%A4rz.html",
    }
    assert response.body == b""
    assert response.headers["Cache-Control"] == "no-store"
    assert "ETag" not in response.headers


def test_a_type_that_is_none_is_in_no_link_either() -> None:
    ports, task_id = delivered(Part(raw=FILE.raw, media_type="text/html\r\nx: y"), links=ALWAYS)

    assert leads_to(asked(ports, task_id))["type"] == "application/octet-stream"


def test_ranges_and_conditions_are_left_to_where_the_link_leads() -> None:
    ports, task_id = delivered(FILE, links=ALWAYS)

    response = asked(ports, task_id, range="bytes=0-9", if_range='"x"', if_none_match="*", if_match='"y"')

    assert response.status == 302


@pytest.mark.parametrize("streaming", [False, True])
def test_a_head_is_answered_here_by_the_entity_tag_of_where_the_link_leads(*, streaming: bool) -> None:
    ports, task_id = delivered(FILE, links=ALWAYS)

    response = plain(asked(ports, task_id, "HEAD", streaming=streaming))

    [key] = ports.contents.stored  # type: ignore[attr-defined]
    assert response.status == 200
    assert response.headers["Content-Length"] == str(100 * KB)
    assert response.headers["ETag"] == ports.contents.describe(key).etag
    assert response.headers["ETag"] != f'"{hashlib.sha256(bytes(100 * KB)).hexdigest()}"'
    assert response.headers["Accept-Ranges"] == "bytes"


@pytest.mark.parametrize(("left", "seconds"), [(1000, "300"), (100, "100"), (0.2, "1")])
def test_no_link_outlives_its_task(left: float, seconds: str) -> None:
    ports, task_id = delivered(FILE, links=ALWAYS)
    clock = ports.clock
    clock.sleep((timedelta(days=30) - timedelta(seconds=left)).total_seconds())

    assert leads_to(asked(ports, task_id))["seconds"] == seconds


def test_no_link_outlives_the_credential_that_it_was_asked_for_with() -> None:
    ports, task_id = delivered(FILE, links=ALWAYS)
    at = endpoint(ports)
    ends = ports.clock.now() + timedelta(seconds=45)
    known = at.admittance.authenticate(request("GET"))

    class Expiring(Admittance):
        def authenticate(self, _: object) -> object:  # type: ignore[override]
            return replace(known, expires=ends)

    response = http_json.answer(
        replace(at, admittance=Expiring(local_principal="tester")),
        request("GET", f"/artifacts/{task_id}/report:1/0"),
    )

    assert leads_to(response)["seconds"] == "45"


def test_the_link_lasts_as_long_as_the_deployment_has_it() -> None:
    links = LinkPolicy(given=ContentLinks.ALWAYS, lasts=timedelta(seconds=7))

    assert leads_to(asked(*delivered(FILE, links=links)))["seconds"] == "7"


def test_nobody_is_given_a_link_to_what_is_somebody_elses() -> None:
    ports, task_id = delivered(FILE, links=ALWAYS)
    stranger = endpoint(ports, Admittance(local_principal="stranger"))

    foreign = rest("GET", f"/artifacts/{task_id}/report:1/0", at=stranger)
    missing = rest("GET", "/artifacts/none/report:1/0", at=stranger)

    assert (foreign.status, foreign.body, foreign.headers) == (404, missing.body, missing.headers)
    assert parsed(foreign)["error"]["details"][0]["reason"] == "TASK_NOT_FOUND"
