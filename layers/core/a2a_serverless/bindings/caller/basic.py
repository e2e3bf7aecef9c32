"""User names and passwords (RFC 7617).

People choose passwords, so they are kept as scrypt (RFC 7914) says; a long random one may be kept as its
SHA-256. Whoever is refused takes as long, whether or not there is such a user and however their password is
kept. What was right once is remembered, by a keyed hash, for as long as the list of users stays the same:
scrypt is slow on purpose, and every request carries the password anew.
"""

import binascii
import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from a2a_serverless.bindings.caller.principal import Principal, named
from a2a_serverless.bindings.caller.schemes import AUTHORIZATION, REALM, NobodyError
from a2a_serverless.protocol.card import HTTPAuthSecurityScheme, SecurityScheme

CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
REMEMBERED = 1000
"""Right pairs of name and password that are remembered at once."""

SCRYPT = re.compile(
    r"\$scrypt\$ln=([1-9][0-9]?),r=([1-9][0-9]?),p=([1-9][0-9]?)\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{43})"
)
"""As password libraries write it: the work, the salt and 32 bytes, base64 without padding."""

LEAST_WORK = 2**14 * 8
MOST_MEMORY = 64 * 1024 * 1024
MOST_WORK = 2**20


class Password(Protocol):
    """What is known of a password."""

    @property
    def work(self) -> int:
        """How long checking one takes, compared with others."""

    def is_right(self, password: str) -> bool:
        """Whether it is this one."""


@dataclass(frozen=True, slots=True)
class HashedPassword:
    """The SHA-256 of a long random password."""

    sha256: bytes = field(repr=False)

    work = 0

    def is_right(self, password: str) -> bool:
        """Compare the hashes."""
        return hmac.compare_digest(self.sha256, hashlib.sha256(password.encode()).digest())


@dataclass(frozen=True, slots=True)
class ScryptPassword:
    """A password as scrypt keeps it: cost, block size, parallelism (RFC 7914, 2)."""

    n: int
    r: int
    p: int
    salt: bytes = field(repr=False)
    key: bytes = field(repr=False)

    @classmethod
    def read(cls, text: str) -> "ScryptPassword":
        """Read `$scrypt$ln=14,r=8,p=1$salt$key`; raises ValueError, with words for who wrote it."""
        parts = SCRYPT.fullmatch(text)
        if parts is None:
            raise ValueError(
                "must be $scrypt$ln=…,r=…,p=…$salt$key, with 8 to 64 bytes of salt and 32 of key"
            )
        n, r, p = 2 ** int(parts[1]), int(parts[2]), int(parts[3])
        if n * r * p < LEAST_WORK:
            raise ValueError("takes too little work: ln=14,r=8,p=1 at least")
        if 128 * n * r > MOST_MEMORY or n * r * p > MOST_WORK:
            raise ValueError("takes too much memory or work: ln=16,r=8,p=2 at most")
        return cls(n, r, p, _unpadded(parts[4]), _unpadded(parts[5]))

    @property
    def work(self) -> int:
        """Blocks mixed."""
        return self.n * self.r * self.p

    def is_right(self, password: str) -> bool:
        """Derive the key again; takes some tens of milliseconds."""
        return hmac.compare_digest(self.key, _derived(password, self.n, self.r, self.p, self.salt))


def hashed(password: str, ln: int = 14) -> str:
    """What to keep of a password, with fresh salt: `$scrypt$ln=14,r=8,p=1$salt$key`."""
    salt = secrets.token_bytes(16)
    key = _derived(password, 2**ln, 8, 1, salt)
    salt_text, key_text = (b64encode(value).rstrip(b"=").decode() for value in (salt, key))
    return f"$scrypt$ln={ln},r=8,p=1${salt_text}${key_text}"


@dataclass(frozen=True, slots=True)
class Login:
    """A user name with its password: whose it is, and what it opens."""

    name: str
    username: str
    password: Password = field(repr=False)
    scopes: frozenset[str] = frozenset()


class Basic:
    """User names and passwords in the Authorization header."""

    header = AUTHORIZATION
    word = "basic"
    challenge = f'Basic realm="{REALM}", charset="UTF-8"'

    def __init__(self, logins: Sequence[Login]) -> None:
        self._logins = tuple(logins)
        self._most_work = tuple(_most_work(self._logins))
        self._secret = secrets.token_bytes(32)
        self._right: dict[bytes, Principal] = {}

    @property
    def announced(self) -> Mapping[str, SecurityScheme]:
        """A name and a password."""
        scheme = HTTPAuthSecurityScheme(
            scheme="Basic", description="A name and a password given to you by whoever runs the agent."
        )
        return {"basic": SecurityScheme(http_auth_security_scheme=scheme)}

    def principal(self, credential: str) -> Principal:
        """Whose name and password these are."""
        username, password = read(credential)
        key = hmac.digest(self._secret, f"{len(username)}:{username}{password}".encode(), "sha256")
        remembered = self._right.get(key)
        if remembered is not None:
            return remembered
        login = self._login(username, password)
        if len(self._right) >= REMEMBERED:
            self._right.clear()
        self._right[key] = named(login.name, login.scopes)
        return self._right[key]

    def _login(self, username: str, password: str) -> Login:
        same = [each for each in self._logins if _same(each.username, username)]
        right = [each for each in same if each.password.is_right(password)]
        if len({login.name for login in right}) != 1:
            self._take_as_long(password, same)
            raise NobodyError
        return right[0]

    def _take_as_long(self, password: str, done: Sequence[Login]) -> None:
        """Do what is left of the most work that a password makes for any user."""
        spared = Counter(login.password.work for login in done)
        for each in self._most_work:
            if spared[each.work]:
                spared[each.work] -= 1
            else:
                each.is_right(password)


def read(credential: str) -> tuple[str, str]:
    """Name and password of a credential; raises NobodyError when they are not there, or empty."""
    try:
        text = b64decode(credential.encode("ascii"), validate=True).decode()
    except (UnicodeError, binascii.Error):
        raise NobodyError from None
    username, colon, password = text.partition(":")
    if not (username and colon and password) or CONTROLS.search(text):
        raise NobodyError
    return username, password


def _most_work(logins: Sequence[Login]) -> Iterable[Password]:
    """As many passwords of each work as any user has; those that are no work count for nothing."""
    for work in {login.password.work for login in logins} - {0}:
        alike = [login for login in logins if login.password.work == work]
        [(username, _)] = Counter(login.username for login in alike).most_common(1)
        yield from (login.password for login in alike if login.username == username)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(*(hashlib.sha256(name.encode()).digest() for name in (one, other)))


def _derived(password: str, n: int, r: int, p: int, salt: bytes) -> bytes:
    memory = 128 * n * r + 128 * r * (p + 2) + 1024 * 1024
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=memory, dklen=32)


def _unpadded(text: str) -> bytes:
    return b64decode(text + "=" * (-len(text) % 4))
