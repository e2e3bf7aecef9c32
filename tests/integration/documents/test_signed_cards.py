"""What the documentation shows of cards, run as it stands against a signed one and published keys."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from a2a_agents import fulfilment
from a2a_serverless.adapters.pem_card_key import pem_card_key
from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.bindings.card import CARD_PATH, CardDesk
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.bindings.keys import KEYS_PATH, KeyDesk
from a2a_serverless.cli.exits import Exit
from a2a_serverless.client.card_verification import Verdict
from a2a_serverless.operations.card_signing import signed
from a2a_serverless.ports.card_signing import CardSigning
from tests.fakes.card_signing import FakeCardKeys, FakeCardSignatures
from tests.integration.documents.fenced import ROOT, example
from tests.unit.bindings.test_card import source
from tests.unit.client.signing import P256, pem, private_pem

DOCUMENT = "layers/core/a2a_serverless/client/README.md"
TEXT = (ROOT / DOCUMENT).read_text(encoding="utf-8")
PART = "# Signed cards"


class Agent:
    """An agent on this machine with a signed card; a test may have it signed by somebody else."""

    def __init__(self) -> None:
        agent = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                request = HttpRequest("GET", self.path)
                answer = agent.desks[self.path].answer(request)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_: Any) -> None:
                """Nobody reads it."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}"
        self.sign_with(private_pem(P256))

    def sign_with(self, key: bytes) -> None:
        """Sign the card with this key; the published one stays."""
        admittance = Admittance((Token("alice", b"\x00" * 32),), base_url=self.url)
        published = pem_card_key(private_pem(P256))
        signing = CardSigning(
            FakeCardKeys([pem_card_key(key, published.kid)]), FakeCardSignatures(), self.url + KEYS_PATH
        )
        self.desks: dict[str, Any] = {
            CARD_PATH: CardDesk(source(admittance=admittance), partial(signed, signing)),
            KEYS_PATH: KeyDesk(None, lambda: [published.public] if published.public else []),
        }


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    made = Agent()
    serving = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    serving.start()
    monkeypatch.setenv("AGENT_URL", made.url)
    monkeypatch.setenv("AGENT_HOST", made.host)
    yield made
    made.server.shutdown()
    serving.join()
    made.server.server_close()


def forged(agent: Agent) -> None:
    """Somebody else signs, under the name of the published key."""
    agent.sign_with(private_pem(ec.generate_private_key(ec.SECP256R1())))


def test_our_client_believes_the_agent_and_nobody_else(agent: Agent) -> None:
    found: dict[str, Any] = {}
    exec(example(DOCUMENT, "python", after=PART), found)  # noqa: S102  that is what the example is for
    assert found["card"].supported_interfaces[0].url == agent.url

    forged(agent)

    with pytest.raises(SystemExit, match="mismatch: key"):
        exec(example(DOCUMENT, "python", after=PART), {})  # noqa: S102  as above


def test_the_official_client_believes_the_agent_and_nobody_else(agent: Agent) -> None:
    found: dict[str, Any] = {}
    exec(example(DOCUMENT, "py", after=PART), found)  # noqa: S102  as above
    assert asyncio.run(found["verified_card"](agent.url)).name == "Fulfilment"

    forged(agent)

    with pytest.raises(Exception, match="No valid signature found"):
        asyncio.run(found["verified_card"](agent.url))


def test_the_command_is_typed_like_that(agent: Agent, tmp_path: Path) -> None:
    card = agent.desks[CARD_PATH].answer(HttpRequest("GET", CARD_PATH)).body
    kid = pem_card_key(private_pem(P256)).kid
    (tmp_path / "card.json").write_bytes(card.replace(kid.encode(), b"partner"))
    (tmp_path / "partner.pem").write_bytes(pem(P256))
    (tmp_path / "shared.secret").write_text("a secret of at least thirty-two bytes\n")
    *by_address, by_keys = example(DOCUMENT, "sh", after=PART).splitlines()

    statuses = [run(line, tmp_path) for line in (*by_address, by_keys)]

    # The last card names a key of the agent's, not the partner's: nobody who is trusted signed it.
    assert statuses == [Exit.DONE, Exit.DONE, Exit.UNKNOWN_KEY]


def run(line: str, folder: Path) -> int:
    """The status of a command as it is typed in a shell."""
    command = f'a2a-serverless() {{ "{sys.executable}" -m a2a_serverless.cli "$@"; }}; {line}'
    path = ":".join(str(ROOT / each) for each in ("layers/core", "layers/agents"))
    return subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=False,
    ).returncode


def test_a_caller_gets_a_card_of_their_own_like_that() -> None:
    known = {
        name: getattr(fulfilment, name) for name in ("REPLACEMENT_POLICY", "CardAdditions", "AgentProfile")
    }
    found: dict[str, Any] = {"Mapping": Mapping, **known}
    exec(example(DOCUMENT, "python3", after=PART), found)  # noqa: S102  as above

    assert found["extended_card"]({"sub": "alice"}) == fulfilment.extended_card({"sub": "alice"})


def test_every_verdict_is_documented_with_its_status() -> None:
    for verdict in Verdict:
        status = 0 if verdict is Verdict.VALID else Exit[verdict.name]
        assert f"| `{verdict}` | {int(status)} |" in TEXT


def test_the_order_in_which_verdicts_count_is_the_one_that_is_documented() -> None:
    counted = ", ".join(verdict for verdict in Verdict if verdict is not Verdict.UNSIGNED)

    assert f"`{counted}`" in TEXT
