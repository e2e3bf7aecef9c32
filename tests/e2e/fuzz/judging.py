"""What may be answered to a request that is almost right: a clean refusal, or what it asked for.

Knows the shapes of answers and what must never be in one, not why a request is refused.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.e2e.attackers import Answer
from tests.e2e.fuzz.requests import Sent

STATUSES = frozenset({200, 204, 304, 400, 401, 403, 404, 405, 408, 413, 414, 415, 429, 431, 501})
"""403 is the gateway's, for a verb or an address that it has no route for."""

OF_A_PART = frozenset({206, 416})
"""What may be answered besides where a part of something was asked for (`Range`)."""

CODES = frozenset(
    {-32700, -32600, -32601, -32602, -31429, *range(-32009, -32000)},
)
"""JSON-RPC's own, the protocol's (specification 5.4), and ours for too many calls; no internal error."""

LEAKS = re.compile(
    rb"Traceback|File \\?\"|/work/|/root/|/usr/|/var/task|site-packages|\.py\b|arn:aws|botocore|pydantic|"
    rb"a2a_serverless|a2a_runtime|0x[0-9a-f]{8,}|Error\(|Exception|InternalError|tasks_?table|AKIA",
    re.IGNORECASE,
)
"""Of what is behind the door nothing shows: no path, no name of code, no ARN."""


@dataclass(frozen=True)
class Exchange:
    """One request with what came of it: an answer, or none because the other side closed."""

    number: int
    sent: Sent
    answer: Answer | None
    seconds: float
    """Until its status was there."""
    whole: bool = True
    """Whether the body was read to its end; of a stream that stays open it is not."""

    def __str__(self) -> str:
        told = f"{self.answer.status} {self.answer.body[:400]!r}" if self.answer else "no answer"
        return f"#{self.number} {self.sent.name}: {self.sent.encoded()[:600]!r} -> {told}"


def faults(exchange: Exchange, secrets: Mapping[str, bytes]) -> Iterator[str]:
    """What is wrong with it."""
    answer = exchange.answer
    if answer is None:
        if exchange.sent.raw is None:
            yield "was not answered"
        return
    if answer.status not in (STATUSES | OF_A_PART if exchange.sent.asks_for_a_part else STATUSES):
        yield f"status {answer.status}"
    headers = [each for each in answer.headers if each[0] != "x-amzn-errortype"]  # AWS's own names
    told = answer.body + str(headers).encode()
    given = exchange.sent.encoded()
    for leak in {found[0] for found in LEAKS.finditer(told)}:
        if leak.lower() not in given.lower():
            yield f"says {leak!r}"
    for name, secret in secrets.items():
        if secret in told:
            yield f"tells the secret {name}"
    yield from _misshapen(exchange, answer)


def _misshapen(exchange: Exchange, answer: Answer) -> Iterator[str]:
    """Whether a client could not make sense of the answer."""
    if answer.status == 401 and exchange.sent.authorized and _credential_is_right(exchange.sent):
        yield "turns away who has the right credential"
    kind = answer.header("content-type").partition(";")[0]
    if not exchange.whole or not answer.body or not kind.endswith("json"):
        return
    try:
        said = json.loads(answer.body)
    except ValueError:
        yield "is no JSON"
        return
    if answer.header("x-amzn-errortype") or answer.status in (401, 403) or not isinstance(said, dict):
        return
    if answer.status >= 400 and "jsonrpc" not in said:
        yield from _not_a_status(said, answer.status)
    if "jsonrpc" in said:
        yield from _not_an_envelope(said)


def _credential_is_right(sent: Sent) -> bool:
    return any(value.startswith("Bearer alice-token") and value.isascii() for _, value in sent.headers)


def _not_a_status(said: Mapping[str, Any], status: int) -> Iterator[str]:
    error = said.get("error")
    if not isinstance(error, dict) or error.keys() != {"code", "status", "message", "details"}:
        yield "is no google.rpc.Status"
    elif error["code"] != status:
        yield f"says {error['code']} with status {status}"


def _not_an_envelope(said: Mapping[str, Any]) -> Iterator[str]:
    if not said.keys() <= {"jsonrpc", "id", "result", "error"} or ("result" in said) == ("error" in said):
        yield "is no reply of JSON-RPC"
    elif "error" in said and said["error"]["code"] not in CODES:
        yield f"error {said['error']['code']}"
