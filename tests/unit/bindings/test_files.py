"""The files route: whom it answers, what it is called in accounts and limits, and what it is not."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.bindings.caller import Admittance
from a2a_serverless.bindings.http import HttpResponse
from a2a_serverless.ports import Policy
from a2a_serverless.ports.limits import OperationClass, RateLimit
from tests.fakes.ports import FakeAudit, fake_ports
from tests.unit.bindings.asking import endpoint, parsed, rest, violations

FILE = {"name": "cup.png", "mediaType": "image/png", "byteSize": 12}


def blamed_by(response: HttpResponse) -> set[str]:
    return set(violations(parsed(response)["error"]["details"]))


def test_a_file_is_offered_an_address_with_status_201() -> None:
    response = rest("POST", "/contexts/c/files", FILE)

    assert (response.status, response.headers["Content-Type"]) == (201, "application/json")
    assert response.headers["Cache-Control"] == "no-store"
    told = parsed(response)
    assert told["part"] == {"url": "file:///cup.png", "filename": "cup.png", "mediaType": "image/png"}
    assert told["upload"]["method"] == "PUT"
    assert told["upload"]["headers"] == {"Content-Type": "image/png"}
    assert told["upload"]["expiresAt"].endswith("Z")


def test_a_tenants_files_have_addresses_of_the_tenant() -> None:
    plain, acmes = (
        parsed(rest("POST", f"{prefix}/contexts/c/files", FILE))["upload"]["url"] for prefix in ("", "/acme")
    )

    assert "uploads//" in plain
    assert "uploads/acme/" in acmes


def test_a_tenant_in_the_address_and_another_in_the_body_are_refused() -> None:
    response = rest("POST", "/acme/contexts/c/files", {**FILE, "tenant": "globex"})

    assert (response.status, blamed_by(response)) == (400, {"tenant"})


@pytest.mark.parametrize(
    ("body", "blamed"),
    [
        ({}, {"name", "mediaType", "byteSize"}),
        ({**FILE, "name": "../cup.png"}, {"name"}),
        ({**FILE, "byteSize": 25 * 1024 * 1024 + 1}, {"byteSize"}),
        ({**FILE, "contextId": "another"}, {"contextId"}),
    ],
)
def test_what_cannot_be_uploaded_is_refused_by_name(body: dict[str, Any], blamed: set[str]) -> None:
    response = rest("POST", "/contexts/c/files", body)

    assert (response.status, blamed_by(response)) == (400, blamed)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_files_can_only_be_uploaded_here(method: str) -> None:
    response = rest(method, "/contexts/c/files")

    assert (response.status, response.headers["Allow"]) == (405, "POST, OPTIONS")


@pytest.mark.parametrize(
    "path", ["/contexts", "/contexts/c", "/contexts//files", "/contexts/c/files/", "/contexts/c/files/x"]
)
def test_other_addresses_beside_it_are_nothing(path: str) -> None:
    assert rest("POST", path, FILE).status == 404


def test_strangers_are_turned_away_before_anything_is_read() -> None:
    response = rest("POST", "/contexts/c/files", b"not JSON", at=endpoint(admittance=Admittance()))

    assert (response.status, response.body) == (401, b'{"error":"Unauthorized"}')


def test_uploads_are_limited_with_what_changes_something() -> None:
    limits = {OperationClass.WRITE: RateLimit(1, timedelta(minutes=1), 1)}
    at = endpoint(fake_ports(policy=Policy(rate_limits=limits)))

    statuses = [rest("POST", "/contexts/c/files", FILE, at=at).status for _ in range(2)]

    assert statuses == [201, 429]


def test_an_upload_is_accounted_for_under_its_own_name_and_without_its_address() -> None:
    audit = FakeAudit()
    at = replace(endpoint(), audit=audit)

    response = rest("POST", "/acme/contexts/c/files", FILE, at=at)
    response.afterwards()

    (call,) = audit.calls
    assert (call.operation, call.tenant, call.context, call.http_status) == ("CreateFile", "acme", "c", 201)
    assert json.loads(response.body)["upload"]["url"] not in repr(call)
