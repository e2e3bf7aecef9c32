"""An access document where AWS keeps it: found, followed as it changes, and refused without its values."""

import hashlib
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.aws_values import ParameterValue, SecretsManagerValue
from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.bindings.caller import Access, Admittance, rereading
from a2a_serverless.bindings.caller.document import AccessDocument
from a2a_serverless.bindings.caller.refusals import UnknownCallerError
from a2a_serverless.bindings.caller.rereading import RereadAccess
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.ports.access import SecretValue, UnreadableValueError
from a2a_serverless.settings import Settings, SettingsError
from a2a_serverless.wiring.access import DocumentReader
from a2a_serverless.wiring.decided import admittance
from tests.fakes.issuers import AUDIENCE, ISSUER, FakeIssuer
from tests.fakes.world import FakeClock, FakeIncidents
from tests.integration.access.test_https_keys import Issuer, running, text

LEAST = {
    "TASKS_TABLE": "tasks",
    "CONTENT_BUCKET": "content",
    "TURN_STATE_MACHINE_ARN": "arn",
    "AGENT": "a2a_agents.echo:agent",
}


def document(token: str) -> str:
    return json.dumps({"bearer": [{"name": "ada", "sha256": hashlib.sha256(token.encode()).hexdigest()}]})


def bearing(token: str) -> HttpRequest:
    return HttpRequest("GET", "/", {"authorization": (f"Bearer {token}",)})


def settings(credentials: str, **more: str) -> Settings:
    return Settings.from_environment({**LEAST, "CREDENTIALS": credentials, **more})


class Place:
    """One of the two places that a document may be kept in, under a name of its own."""

    def __init__(self, kind: str, client: Any) -> None:
        self.kind, self.client = kind, client
        self.name = f"/a2a/{uuid4()}"
        self.reference = f"{kind}:{self.name}"

    def keep(self, text: str) -> None:
        """Put it there, or in place of what is there."""
        if self.kind == "ssm":
            self.client.put_parameter(Name=self.name, Value=text, Type="SecureString", Overwrite=True)
            return
        try:
            self.client.create_secret(Name=self.name, SecretString=text)
        except self.client.exceptions.ResourceExistsException:
            self.client.put_secret_value(SecretId=self.name, SecretString=text)

    def value(self) -> SecretValue:
        """What reads it."""
        return (ParameterValue if self.kind == "ssm" else SecretsManagerValue)(self.client, self.name)


@pytest.fixture(params=["secretsmanager", "ssm"])
def place(request: pytest.FixtureRequest, secrets: Any, parameters: Any) -> Place:
    return Place(request.param, parameters if request.param == "ssm" else secrets)


def test_callers_are_let_in_by_the_document_where_it_is_kept(place: Place, clients: AwsClients) -> None:
    place.keep(document("first"))
    door = admittance(settings(place.reference), clients)

    assert door.authenticate(bearing("first")).name == "ada"
    with pytest.raises(UnknownCallerError):
        door.authenticate(bearing("second"))


def test_tokens_of_the_environment_are_let_in_beside_it(place: Place, clients: AwsClients) -> None:
    place.keep(document("first"))
    theirs = f"eve:{hashlib.sha256(b'theirs').hexdigest()}"
    door = admittance(settings(place.reference, BEARER_TOKENS=theirs), clients)

    assert [door.authenticate(bearing(token)).name for token in ("first", "theirs")] == ["ada", "eve"]


def test_a_document_that_was_changed_counts_and_tasks_stay_their_principals(place: Place) -> None:
    def understood(text: str) -> Access:
        return AccessDocument.read(text).access((), lambda _: pytest.fail("nobody named an issuer"))

    place.keep(document("first"))
    clock = FakeClock()
    door = Admittance(access=RereadAccess(place.value(), understood, clock, FakeIncidents()))
    owner = door.authenticate(bearing("first")).caller(None, "").owner

    place.keep(document("second"))
    assert door.authenticate(bearing("first")).name == "ada"
    clock.moment += timedelta(minutes=5)

    assert door.authenticate(bearing("second")).caller(None, "").owner == owner
    with pytest.raises(UnknownCallerError):
        door.authenticate(bearing("first"))


def test_a_secret_is_found_by_its_arn_too(secrets: Any, clients: AwsClients) -> None:
    arn = secrets.create_secret(Name=str(uuid4()), SecretString=document("first"))["ARN"]

    assert admittance(settings(f"secretsmanager:{arn}"), clients).authenticate(bearing("first")).name == "ada"


def test_what_is_wrong_with_a_changed_document_is_logged_without_its_values(
    place: Place, clients: AwsClients, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rereading, "READ_AGAIN", timedelta(0))
    place.keep(document("first"))
    door = admittance(settings(place.reference), clients)

    place.keep('{"bearer":[{"name":"ada","sha256":"hunter2"}]}')

    assert door.authenticate(bearing("first")).name == "ada"
    [line] = caplog.records
    assert line.levelname == "ERROR"
    assert "AccessDocumentError: bearer[0].sha256 must be" in caplog.text
    assert "hunter2" not in caplog.text


def test_what_is_not_there_stops_the_start_in_words(place: Place, clients: AwsClients) -> None:
    with pytest.raises(
        SettingsError, match=r"CREDENTIALS: the (secret|parameter) cannot be read: \w*NotFound"
    ):
        admittance(settings(place.reference), clients)


def test_a_document_that_makes_no_sense_stops_the_start_in_words(place: Place, clients: AwsClients) -> None:
    place.keep('{"bearer":[{"name":"ada","sha256":"hunter2"}]}')

    with pytest.raises(SettingsError, match=r"CREDENTIALS: bearer\[0\].sha256 must be") as refused:
        admittance(settings(place.reference), clients)
    assert "hunter2" not in str(refused.value)


def test_a_secret_that_is_not_text_is_none(secrets: Any) -> None:
    name = str(uuid4())
    secrets.create_secret(Name=name, SecretBinary=b"\x00")

    with pytest.raises(UnreadableValueError, match="not text"):
        SecretsManagerValue(secrets, name).read()


def test_an_aws_that_cannot_be_reached_is_told_by_the_kind_of_fault_alone(session: Any) -> None:
    gone = session.create_client("ssm", endpoint_url="http://127.0.0.1:9")

    with pytest.raises(UnreadableValueError, match=r"^the parameter cannot be read: \w+$"):
        ParameterValue(gone, "/a").read()


# --- documents that stand in the setting itself -----------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "it names nobody"),
        ('{"publicCard":false}', "it names nobody"),
        ('{"jwt":[]}', "it names nobody"),
        ("{", "it must be JSON"),
    ],
)
def test_a_document_that_lets_nobody_in_stops_the_start(text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=f"CREDENTIALS: {words}"):
        admittance(settings(f"inline:{text}"))


@pytest.mark.parametrize(
    "beside", [{"ANONYMOUS": "allowed"}, {"LOCAL_PRINCIPAL": "me"}, {"BEARER_TOKENS": f"a:{'0a' * 32}"}]
)
def test_a_document_may_only_close_the_card_where_others_say_who_comes_in(beside: dict[str, str]) -> None:
    door = admittance(settings('inline:{"publicCard":false}', **beside))

    assert not door.access().public_card


@pytest.fixture
def signed() -> FakeIssuer:
    """An issuer whose tokens are good now."""
    return FakeIssuer(FakeClock(datetime.now(UTC)))


@pytest.fixture
def without_modules(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Takes a module away, as where its layer is not attached, from adapters that are to be loaded anew."""

    def take(name: str) -> None:
        for adapter in ("pyjwt_tokens", "verification_keys", "issuer_keys", "https_keys"):
            monkeypatch.delitem(sys.modules, f"a2a_serverless.adapters.{adapter}", raising=False)
        monkeypatch.setitem(sys.modules, name, None)

    return take


def issuers(*entries: dict[str, Any]) -> str:
    return "inline:" + json.dumps({"jwt": entries})


def trusting(issuer: FakeIssuer) -> dict[str, Any]:
    """The issuer, with its keys, as a document trusts it."""
    keys = {"keys": [issuer.jwk()]}
    return {"issuer": ISSUER, "audience": AUDIENCE, "algorithms": ["RS256"], "jwks": keys}


def test_tokens_of_an_issuer_are_verified_where_the_document_trusts_it(signed: FakeIssuer) -> None:
    entry = {
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "algorithms": ["RS256"],
        "jwks": {"keys": [signed.jwk()]},
    }
    door = admittance(settings(issuers(entry)))

    assert door.authenticate(bearing(signed.token())).name == "alice"
    with pytest.raises(UnknownCallerError):
        door.authenticate(bearing(signed.token(aud="somebody else")))


def test_keys_that_verify_nothing_stop_the_start_by_the_number_of_their_issuer(signed: FakeIssuer) -> None:
    good = trusting(signed)
    bad = {**good, "issuer": "another", "algorithms": ["ES256"]}

    with pytest.raises(SettingsError, match=r"CREDENTIALS: jwt\[1\] has no key for its algorithms"):
        admittance(settings(issuers(good, bad)))


@pytest.mark.parametrize("missing", ["jwt.algorithms", "cryptography.exceptions"])
def test_without_what_verifies_tokens_an_issuer_stops_the_start_in_words(
    missing: str, without_modules: Callable[[str], None]
) -> None:
    without_modules(missing)
    entry = {"issuer": "https://issuer.example", "audience": "a", "algorithms": ["RS256"]}

    with pytest.raises(SettingsError, match="CREDENTIALS: jwt needs the signing layer: deploy with Jwt=on"):
        admittance(settings(issuers(entry)))


def test_a_fault_of_our_own_while_loading_is_told_as_it_is(without_modules: Callable[[str], None]) -> None:
    without_modules("urllib3")
    entry = {"issuer": "https://issuer.example", "audience": "a", "algorithms": ["RS256"]}

    with pytest.raises(ModuleNotFoundError):
        admittance(settings(issuers(entry)))


def through(access: Access) -> Admittance:
    return Admittance(access=lambda: access)


def test_keys_that_were_fetched_outlive_the_document_they_were_fetched_for(signed: FakeIssuer) -> None:
    for web in running(Issuer()):
        signed.name = web.url
        web.configured()
        web.answers["/keys"] = text(json.dumps({"keys": [signed.jwk()]}).encode())
        entry = {"issuer": web.url, "audience": AUDIENCE, "algorithms": ["RS256"]}
        given = settings("ssm:/callers", LOOPBACK_ISSUERS="allowed")
        reader = DocumentReader(given, SystemClock())
        readings = [reader.read(json.dumps({"jwt": [entry], **more})) for more in ({}, {"publicCard": False})]

        assert [door.authenticate(bearing(signed.token())).name for door in map(through, readings)] == [
            "alice"
        ] * 2
        assert web.asked == ["/.well-known/openid-configuration", "/keys"]
