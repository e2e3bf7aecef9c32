"""What a line of the log says, and what it leaves out: credentials, however an author wrote them down."""

import json
import time

import pytest

from a2a_serverless.adapters.log_lines import MOST, printed, redacted

SECRET = "hunter2-" * 4

WRITTEN = [
    f"Authorization: Bearer {SECRET}",
    f"authorization: Token {SECRET}",
    f"Authorization: {SECRET}",
    f"Proxy-Authorization: Basic {SECRET}",
    f"sent bearer {SECRET} to the server",
    f"{{'Authorization': 'Bearer {SECRET}', 'x': 1}}",
    f'{{"Authorization": ["Bearer {SECRET}"]}}',
    f'{{\\"authorization\\":\\"Bearer {SECRET}\\"}}',
    f"headers=[('authorization', 'Bearer {SECRET}'), ('a', 'b')]",
    f"headers=[(b'authorization', b'Bearer {SECRET}')]",
    f"Cookie: a=b; session={SECRET}",
    f"X-API-Key: {SECRET}",
    f"api_key={SECRET}",
    f"apikey = '{SECRET}'",
    f"X-A2A-Notification-Token: {SECRET}",
    f'"token": "{SECRET}"',
    f"token={SECRET}&x=1",
    f"TaskPushNotificationConfig(url='https://h/', token='{SECRET}')",
    f'"credentials":"{SECRET}"',
    f"credentials={{'scheme': '{SECRET}'}}",
    f"password: {SECRET}",
    f"PASSWORD={SECRET}",
    f"os.environ['DB_PASSWORD'] = '{SECRET}'",
    f"client_secret => {SECRET}",
    f"aws_secret_access_key = {SECRET}",
    f"X-Amz-Security-Token={SECRET}",
    f"X-Amz-Signature={SECRET}",
    f"https://alice:{SECRET}@host.example/path",
    f"postgres://alice:{SECRET}@db/x",
    f"https://hooks.example/path?key={SECRET}",
    f"https://hooks.example/path#{SECRET}",
    f"-----BEGIN EC PRIVATE KEY-----\n{SECRET}\n-----END EC PRIVATE KEY-----",
    f"-----BEGIN PRIVATE KEY-----\\n{SECRET}",
    f"eyJhbGciOiJSUzI1NiJ9.{SECRET}.{SECRET}",
    f"token 'AKIAIOSFODNN7EXAMPLE', secret: \"{SECRET}",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_credential_is_cut_out_however_it_is_written(text: str) -> None:
    around = redacted(f"before {text}\nafter")

    assert "hunter2" not in around
    assert "AKIA" not in around
    assert around.startswith("before ")


@pytest.mark.parametrize(
    "text",
    [
        "Task 0f8fad5b-d9cb-469f-a165-70867728950e is gone",
        "An error occurred (AccessDeniedException) when calling the PutItem operation: denied",
        "User: arn:aws:sts::123456789012:assumed-role/turn/x is not authorized to perform: s3:PutObject",
        'Could not connect to the endpoint URL: "https://dynamodb.eu-west-1.amazonaws.com/"',
        "max_tokens=4096, total_tokens: 12",
        "SECRETS_KEY is missing",
        "Invalid signature",
        'File "/var/task/app.py", line 12, in handler',
        "KeyError: 'token'",
    ],
)
def test_what_explains_a_failure_stays(text: str) -> None:
    assert redacted(text) == text


def test_members_whose_names_mean_secrets_lose_their_values_at_any_depth() -> None:
    record = {
        "message": "x",
        "facts": {"token": SECRET, "list": [{"Authorization": SECRET}], "password": {"deep": SECRET}},
        "apiKey": SECRET,
        "nothing": {"secret": None, "token": ""},
    }

    line = json.loads(printed(record))

    assert line == {
        "message": "x",
        "facts": {"token": "[redacted]", "list": [{"Authorization": "[redacted]"}], "password": "[redacted]"},
        "apiKey": "[redacted]",
        "nothing": {"secret": None, "token": ""},
    }


def test_a_line_is_one_line_of_utf8_whatever_it_holds() -> None:
    class Odd:
        def __str__(self) -> str:
            return f"token={SECRET}"

    line = printed({"message": "a\nb \ud800 \N{FIRE}", "odd": Odd(), "number": 1.5, "none": None})

    assert "\n" not in line
    assert json.loads(line.encode()) == {
        "message": "a\nb \ud800 \N{FIRE}",
        "odd": "token=[redacted]",
        "number": 1.5,
        "none": None,
    }


def test_of_a_text_that_is_too_long_beginning_and_end_are_written() -> None:
    text = redacted("begin " + "x" * 10 * MOST + " end")

    assert len(text) <= MOST + 10
    assert text.startswith("begin ")
    assert text.endswith(" end")


@pytest.mark.parametrize(
    "piece",
    [
        "token",
        '"',
        "a.b-",
        "eyJ",
        "://",
        'token="\\"',
        "password ",
        "-----BEGIN PRIVATE KEY-----",
        "http://a",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    began = time.process_time()

    redacted(piece * (2_000_000 // len(piece)))

    assert time.process_time() - began < 2
