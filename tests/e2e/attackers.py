"""What attackers send: bytes as they please, and tokens that nobody gave them.

Knows what is sent and what comes back, not what should.
"""

import base64
import hashlib
import hmac
import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm

from tests.e2e.stack import PATIENCE

ISSUER, AUDIENCE = "https://issuer.example", "https://agent.example"
SHARING = "https://sharing.example"
"""An issuer that signs with a secret it shares with the deployment."""

SHARED_SECRET = "a secret that two share, of more than 32 bytes"


@dataclass(frozen=True)
class Answer:
    """One answer of a server, as it came."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """The value of a header that was sent once, or an empty text."""
        values = [value for each, value in self.headers if each == name]
        assert len(values) <= 1, self.headers
        return values[0] if values else ""

    @property
    def told(self) -> tuple[int, list[tuple[str, str]], bytes]:
        """All of it, but for the names that a gateway gives each request."""
        return self.status, [each for each in self.headers if not each[0].startswith("x-amzn-")], self.body


def exchange(url: str, sent: bytes, *, patience: float = PATIENCE) -> list[Answer]:
    """Send these bytes, and read answers until the other side closes."""
    with connection(url, patience) as line:
        line.sendall(sent)
        return list(answers(line))


@contextmanager
def connection(url: str, patience: float = PATIENCE) -> Iterator[socket.socket]:
    """An open connection, on which nothing was sent."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=patience) as line:
        yield line


def answers(line: socket.socket) -> Iterator[Answer]:
    """Every answer that comes until the other side closes."""
    with line.makefile("rb") as reader:
        while first := reader.readline():
            status = int(first.split()[1])
            headers = []
            while (read := reader.readline()) not in (b"\r\n", b""):
                name, _, value = read.decode("latin-1").partition(":")
                headers.append((name.lower(), value.strip()))
            given = dict(headers)
            if given.get("transfer-encoding") == "chunked":
                body = b""
                while size := int(reader.readline(), 16):
                    body += reader.read(size)
                    reader.readline()
                reader.readline()
            else:
                body = reader.read(int(given.get("content-length", "0")))
            yield Answer(status, headers, body)


def request(method: str, target: str, *headers: str, body: bytes = b"", host: str = "agent") -> bytes:
    """A request, its header lines just as they are given, after which the connection ends."""
    length = [f"Content-Length: {len(body)}"] if body else []
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *headers, *length, "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def segment(value: object) -> str:
    """A part of a token."""
    whole = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(whole).rstrip(b"=").decode()


@dataclass(frozen=True)
class Forger:
    """Knows how tokens look, has keys, and was given none of those that count."""

    true: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    own: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))

    @cached_property
    def published(self) -> Mapping[str, Any]:
        """The key of the issuer, as everybody may know it."""
        return {**RSAAlgorithm.to_jwk(self.true.public_key(), as_dict=True), "kid": "one", "alg": "RS256"}

    def claims(self, **changed: Any) -> dict[str, Any]:
        """What a good token says; a claim that is None is left out."""
        now = int(datetime.now(UTC).timestamp())
        said = {"iss": ISSUER, "sub": "ann", "aud": AUDIENCE, "iat": now, "exp": now + 600, **changed}
        return {name: value for name, value in said.items() if value is not None}

    def good(self, **claims: Any) -> str:
        """What the issuer itself would sign."""
        return jwt.encode(self.claims(**claims), self.true, "RS256", {"kid": "one"})

    def by(self, key: rsa.RSAPrivateKey, claims: Mapping[str, Any], **header: Any) -> str:
        """Signed with another key."""
        return jwt.encode(dict(claims), key, "RS256", {"kid": "one", **header})

    def with_secret(self, secret: bytes, **claims: Any) -> str:
        """Signed with HS256, whatever the secret is."""
        header = {"alg": "HS256", "typ": "JWT", "kid": "one"}
        signed = f"{segment(header)}.{segment(self.claims(**claims))}"
        return f"{signed}.{segment(hmac.digest(secret, signed.encode(), hashlib.sha256))}"

    def unsigned(self, algorithm: str, signature: str = "") -> str:
        """Signed by nobody."""
        return f"{segment({'alg': algorithm, 'typ': 'JWT'})}.{segment(self.claims())}.{signature}"

    def forgeries(self, elsewhere: str) -> dict[str, str]:
        """Tokens that should open nothing, by what is wrong with them; `elsewhere` is a server of ours."""
        own = {**RSAAlgorithm.to_jwk(self.own.public_key(), as_dict=True), "kid": "one"}
        pem = self.true.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        head, claims, signature = self.good().split(".")
        now = int(datetime.now(UTC).timestamp())
        return {
            "expired": self.good(exp=now - 120),
            "without an end": self.good(exp=None),
            "not yet good": self.good(nbf=now + 600),
            "for somebody else": self.good(aud="https://other.example"),
            "for nobody": self.good(aud=None),
            "of nobody": self.good(sub=None),
            "of an unknown issuer": self.good(iss="https://evil.example"),
            "of no issuer": self.good(iss=None),
            "of the deployment itself": self.good(iss="principals", sub="alice"),
            "of another issuer's key": self.good(iss=SHARING),
            "unsigned": self.unsigned("none"),
            "unsigned, in other words": self.unsigned("nOnE"),
            "unsigned, with a signature": self.unsigned("none", signature),
            "signature cut off": f"{head}.{claims}.",
            "signature of other claims": f"{head}.{segment(self.claims(sub='alice'))}.{signature}",
            "another key": self.by(self.own, self.claims()),
            "a key it brings along": self.by(self.own, self.claims(), jwk=own),
            "a key that lies elsewhere": self.by(self.own, self.claims(), jku=f"{elsewhere}/keys"),
            "a certificate elsewhere": self.by(self.own, self.claims(), x5u=f"{elsewhere}/chain"),
            "a key by a path": self.by(self.own, self.claims(), kid="../../dev/null"),
            "something critical": self.by(self.true, self.claims(), crit=["exp"], exp=0),
            "public key as a secret": self.with_secret(pem),
            "public key in JSON as a secret": self.with_secret(json.dumps(self.published).encode()),
            "no secret": self.with_secret(b"", iss=SHARING),
            "the issuer's name as a secret": self.with_secret(SHARING.encode(), iss=SHARING),
            "a secret for an issuer with keys": self.with_secret(SHARED_SECRET.encode()),
            "encrypted": f"{head}.{claims}.{signature}.{claims}.{signature}",
            "two parts": f"{head}.{claims}",
            "not JSON": f"{segment(b'[')}.{claims}.{signature}",
            "a list": f"{segment([])}.{claims}.{signature}",
            "many claims": f"{head}.{segment(self.claims(x='x' * 6000))}.{signature}",
            "deep": f"{head}.{segment(b'[' * 3000)}.{signature}",
        }


def access_document(forger: Forger) -> Mapping[str, Any]:
    """Alice by three schemes, Bob by one, and two issuers."""

    def digest(secret: str) -> str:
        return hashlib.sha256(secret.encode()).hexdigest()

    issuer = {"issuer": ISSUER, "audience": AUDIENCE, "algorithms": ["RS256"], "leewaySeconds": 0}
    sharing = {"issuer": SHARING, "audience": AUDIENCE, "algorithms": ["HS256"], "secret": SHARED_SECRET}
    return {
        "bearer": [{"name": name, "sha256": digest(f"{name}-token")} for name in ("alice", "bob")],
        "basic": [{"name": "alice", "username": "alice", "sha256": digest("password")}],
        "apiKey": {"keys": [{"name": "alice", "sha256": digest("alice-key")}]},
        "jwt": [{**issuer, "jwks": {"keys": [forger.published]}}, sharing],
    }
