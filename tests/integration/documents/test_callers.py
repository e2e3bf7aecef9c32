"""What the documentation says of callers is what happens: its document, its commands, its tables."""

import hashlib
import json
import re
import subprocess
import sys
from base64 import b64encode

import pytest

from a2a_serverless.bindings.caller import Access, Admittance
from a2a_serverless.bindings.caller.basic import ScryptPassword
from a2a_serverless.bindings.caller.document import AccessDocument
from a2a_serverless.bindings.caller.issuers import IssuerEntry
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.ports.access import VerifiedToken
from tests.conformance.wire import AT_THE_DOOR
from tests.integration.documents.fenced import ROOT, example

DOCUMENT = "layers/core/a2a_serverless/bindings/README.md"


class Unasked:
    """Tokens that nobody shows."""

    def verify(self, token: str) -> VerifiedToken:
        """Never called."""
        raise NotImplementedError


@pytest.fixture
def text() -> str:
    return (ROOT / DOCUMENT).read_text(encoding="utf-8")


@pytest.fixture
def access() -> Access:
    return AccessDocument.read(example(DOCUMENT, "json", before="## Tokens of issuers")).access(
        (), lambda _: Unasked()
    )


def test_the_document_shown_names_callers_by_every_scheme(access: Access) -> None:
    assert list(access.announced) == ["bearer", "oidc", "basic", "apiKey"]
    assert access.scopes_for("SendMessage") == {"tasks.write"}
    assert access.scopes_for("GetTask") == frozenset()
    assert access.public_card


def test_the_password_shown_is_hashed_as_the_command_shown_hashes() -> None:
    commands = example(DOCUMENT, "sh")
    (python,) = re.findall(r"^python -c '(.*)' <<<", commands, flags=re.MULTILINE)
    made = subprocess.run(
        [sys.executable, "-c", python], input="correct horse\n", capture_output=True, text=True, check=True
    )

    assert ScryptPassword.read(made.stdout.strip()).is_right("correct horse")


def test_a_token_hashed_by_the_command_shown_opens() -> None:
    (python,) = re.findall(r"^TOKEN=\$\(python -c '(.*)'\);", example(DOCUMENT, "sh"), flags=re.MULTILINE)
    made = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, check=True)
    token = made.stdout.strip()
    entry = {"name": "ada", "sha256": hashlib.sha256(token.encode()).hexdigest()}
    read = AccessDocument.read(json.dumps({"bearer": [entry]})).access((), lambda _: Unasked())

    request = HttpRequest("GET", "/", {"authorization": (f"Bearer {token}",)})
    assert Admittance(access=lambda: read).authenticate(request).name == "ada"


def test_the_password_shown_is_one(access: Access) -> None:
    shown = b64encode(b"bob@example.com:open sesame").decode()

    request = HttpRequest("GET", "/", {"authorization": (f"Basic {shown}",)})
    assert Admittance(access=lambda: access).authenticate(request).name == "bob"


def test_every_member_is_explained(text: str) -> None:
    explained = set(re.findall(r"`(\w+)`", text))

    for model in (AccessDocument, IssuerEntry):
        assert {field.alias for field in model.model_fields.values()} <= explained


def test_the_answers_shown_are_the_answers_given(text: str) -> None:
    rows = re.findall(r"^\| (\d{3}) \| `(.*?)`", text, flags=re.MULTILINE)

    assert {int(status): body.encode() for status, body in rows} == {
        status: body for status, (_, body) in AT_THE_DOOR.items()
    }
