"""Routes in the table of a deployment, for everybody who may read it."""

import json

import pytest

from a2a_serverless.adapters.dynamodb_documents import DocumentChangedError, DynamoDocuments
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.adapters.system_clock import SystemClock
from tests.integration.cli.desk import Desk


def test_routes_are_kept_in_the_registry_of_a_deployment(desk: Desk) -> None:
    place = ("--routes", "registry:team")
    orders = "orders=https://orders.example;skills=order_investigation;tags=delivery"

    saved = desk.operate("route", "save", *place, "--route", orders, "--route", "b=https://b.example")
    found = desk.operate("route", "preview", *place, "--skill", "order_investigation")
    desk.operate("route", "save", *place, "--remove", "b", "--route", "orders=https://new.example")
    left = json.loads(desk.operate("route", "preview", *place, "--json").stdout)
    others = desk.operate("route", "preview", "--routes", "registry:others")

    assert (saved.exit_code, saved.stderr) == (0, "")
    assert saved.stdout.endswith("kept in registry:team\n")
    assert found.stdout.startswith("orders  https://orders.example\n")
    assert left["routes"] == [{"name": "orders", "url": "https://new.example", "skills": [], "tags": []}]
    assert others.stdout == "No route.\n"


def test_a_document_that_somebody_else_has_written_is_not_overwritten(desk: Desk) -> None:
    table = DynamoTable(desk.backend.dynamodb, desk.backend.table, SystemClock())
    documents = DynamoDocuments(table, "test")
    documents.keep("a", "first", seen=None)
    seen = documents.read("a")
    assert seen is not None

    documents.keep("a", "second", seen=seen)
    documents.keep("a", "second", seen=seen)  # the same attempt again, whose answer was lost

    with pytest.raises(DocumentChangedError):
        documents.keep("a", "third", seen=seen)
    with pytest.raises(DocumentChangedError):
        documents.keep("a", "third", seen=None)
    assert documents.read("a") == (2, "second")
    assert DynamoDocuments(table, "other").read("a") is None
