"""Ways to show who one is: each reads one credential, and whatever is wrong with it is nobody."""

import hashlib
from base64 import b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from a2a_serverless.bindings.caller import Access, Admittance, Principal, Token
from a2a_serverless.bindings.caller.basic import Basic, HashedPassword, Login, ScryptPassword, hashed
from a2a_serverless.bindings.caller.refusals import CannotTellError, MissingScopeError, UnknownCallerError
from a2a_serverless.bindings.caller.schemes import MAX_CREDENTIAL, ApiKeys, Bearer, Scheme
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.ports import owner_of
from a2a_serverless.ports.access import (
    KeysOutOfReachError,
    TrustedIssuer,
    UnbelievedTokenError,
    VerifiedToken,
)

LATER = datetime(2026, 11, 30, 13, 0, tzinfo=UTC)
ISSUER = TrustedIssuer("https://issuer.example", ("agent",), ("RS256",))


def token(name: str, secret: str, *scopes: str) -> Token:
    return Token(name, hashlib.sha256(secret.encode()).digest(), frozenset(scopes))


def basic(username: str, password: str) -> str:
    return f"Basic {b64encode(f'{username}:{password}'.encode()).decode()}"


def login(name: str, username: str, password: str) -> Login:
    return Login(name, username, HashedPassword(hashlib.sha256(password.encode()).digest()))


@dataclass
class FakeTokens:
    """Believes in what it knows; the keys of everything else are where they are put."""

    known: dict[str, VerifiedToken] = field(default_factory=dict)
    down: bool = False

    def verify(self, text: str) -> VerifiedToken:
        """What is known."""
        if self.down:
            raise KeysOutOfReachError(12.3)
        if text not in self.known:
            raise UnbelievedTokenError("never seen")
        return self.known[text]


ISSUED = FakeTokens(
    {
        "a.b.c": VerifiedToken(
            "https://issuer.example", "alice", LATER, frozenset({"read"}), "acme", {"sub": "alice"}
        )
    }
)
BEARER = Bearer((token("ada", "first", "read"), token("bob", "second")), (ISSUER,), ISSUED)
BASIC = Basic([login("ada", "ada@example.com", "pass:word"), login("cy", "cy", "é")])
KEYS = ApiKeys("X-API-Key", (token("ada", "key-1", "write"), token("bob", "key-2")))
ALL = Access((BEARER, BASIC, KEYS))


def by(**headers: str | tuple[str, ...]) -> HttpRequest:
    many = {
        name.replace("_", "-"): (value,) if isinstance(value, str) else value
        for name, value in headers.items()
    }
    return HttpRequest("POST", "/", many)


def admitted(request: HttpRequest, access: Access = ALL, **door: bool) -> Principal:
    return Admittance(access=lambda: access, **door).authenticate(request)


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        (by(authorization="Bearer first"), "ada"),
        (by(authorization="BEARER second"), "bob"),
        (by(authorization=basic("ada@example.com", "pass:word")), "ada"),
        (by(authorization=basic("cy", "é").replace("Basic", "bAsIc")), "cy"),
        (by(x_api_key="key-1"), "ada"),
        (by(x_api_key=" key-2 "), "bob"),
    ],
)
def test_each_scheme_names_the_principal_of_its_credential(request_: HttpRequest, name: str) -> None:
    principal = admitted(request_)

    assert principal.claims == {"iss": "principals", "sub": name}
    assert principal.caller(None, "").owner == owner_of("principals", name)


def test_a_token_of_an_issuer_says_who_calls_what_for_and_until_when() -> None:
    assert admitted(by(authorization="Bearer a.b.c")) == Principal(
        "https://issuer.example",
        "alice",
        claims={"sub": "alice"},
        scopes=frozenset({"read"}),
        tenant="acme",
        expires=LATER,
    )


def test_one_person_has_the_same_tasks_whatever_the_scheme_and_nobody_elses() -> None:
    shown = (by(authorization="Bearer first"), by(x_api_key="key-1"), by(authorization=basic("cy", "é")))
    owners = [admitted(request).caller(None, "").owner for request in shown]

    assert owners[0] == owners[1] != owners[2]


def test_a_subject_of_an_issuers_is_nobody_of_ours_though_the_names_are_the_same() -> None:
    issued = FakeTokens({"x.y.z": VerifiedToken("https://issuer.example", "ada", LATER)})
    theirs = admitted(by(authorization="Bearer x.y.z"), Access((Bearer((), (ISSUER,), issued),)))

    assert theirs.caller(None, "").owner != admitted(by(x_api_key="key-1")).caller(None, "").owner


def test_a_replaced_credential_keeps_its_principals_tasks() -> None:
    def owner(access: Access, request: HttpRequest) -> str:
        return admitted(request, access).caller(None, "").owner

    before = owner(ALL, by(authorization="Bearer first"))

    assert owner(Access((Bearer((token("ada", "new"),)),)), by(authorization="Bearer new")) == before
    assert owner(Access((ApiKeys("X-Key", (token("ada", "new"),)),)), by(x_key="new")) == before
    renamed = Access((Basic([login("ada", "another-name", "new")]),))
    assert owner(renamed, by(authorization=basic("another-name", "new"))) == before


def test_credentials_of_two_schemes_must_be_of_one_principal_who_may_then_do_what_either_opens() -> None:
    assert admitted(by(authorization="Bearer first", x_api_key="key-1")).scopes == {"read", "write"}
    with pytest.raises(UnknownCallerError):
        admitted(by(authorization="Bearer first", x_api_key="key-2"))
    with pytest.raises(UnknownCallerError):
        admitted(by(authorization="Bearer first", x_api_key="wrong"))
    with pytest.raises(UnknownCallerError):
        admitted(by(authorization="Bearer a.b.c", x_api_key="key-1"))


WRONG = [
    by(authorization=""),
    by(authorization="Bearer"),
    by(authorization="Bearer "),
    by(authorization="Bearer third"),
    by(authorization="Bearer first,"),
    by(authorization="Bearer first, Bearer second"),
    by(authorization="Bearer\tfirst"),
    by(authorization="Bearer f\u0131rst"),
    by(authorization="Bearer \ud800"),
    by(authorization="Bearer first\x00"),
    by(authorization="Bearer a.b.d"),
    by(authorization="Bearer " + "a" * MAX_CREDENTIAL),
    by(authorization=("Bearer first", "Bearer first")),
    by(authorization="first"),
    by(authorization="Token first"),
    by(authorization="Digest username=ada"),
    by(authorization="Bas\u0131c " + basic("cy", "é")[6:]),
    by(authorization="Basic"),
    by(authorization="Basic !!!!"),
    by(authorization="Basic " + basic("cy", "é")[6:].rstrip("=")[:-1]),
    by(authorization=basic("cy", "e")),
    by(authorization=basic("cy", "")),
    by(authorization=basic("", "é")),
    by(authorization=basic("ada", "pass:word")),
    by(authorization=basic("cy", "é\n")),
    by(authorization=basic("cy\x00", "é")),
    by(authorization="Basic " + b64encode(b"cy:\xff").decode()),
    by(authorization="Basic " + b64encode(b"cy").decode()),
    by(authorization="Basic \ud800"),
    by(authorization="Basic é"),
    by(x_api_key=""),
    by(x_api_key="key-3"),
    by(x_api_key="key-1, key-1"),
    by(x_api_key=("key-1", "key-1")),
    by(x_api_key="key\u20111"),
    by(x_api_key="\ud800"),
    by(x_api_key="k" * (MAX_CREDENTIAL + 1)),
]


@pytest.mark.parametrize("request_", WRONG)
@pytest.mark.parametrize("anonymous", [True, False])
def test_credentials_that_are_not_exactly_right_are_nobody_even_where_nobody_is_let_in(
    request_: HttpRequest, *, anonymous: bool
) -> None:
    with pytest.raises(UnknownCallerError) as refused:
        admitted(request_, anonymous=anonymous)

    assert refused.value.challenges == (
        'Bearer realm="a2a"',
        'Basic realm="a2a", charset="UTF-8"',
        'ApiKey realm="a2a", header="X-API-Key"',
    )


HEADER_TEXT = st.text(max_size=60) | st.text(
    st.characters(categories=["Cs", "Cc", "Lu", "Nd", "Po"]), max_size=20
)


@settings(max_examples=500, deadline=None)
@given(
    word=st.sampled_from(["", "Bearer ", "bearer", "Basic ", "Basic\t", "Digest "]) | HEADER_TEXT,
    rest=HEADER_TEXT | st.binary(max_size=40).map(lambda raw: b64encode(raw).decode()),
    name=st.sampled_from(["authorization", "x_api_key"]),
    times=st.integers(1, 2),
)
def test_no_header_whatever_is_in_it_is_anything_but_somebody_or_nobody(
    word: str, rest: str, name: str, times: int
) -> None:
    with pytest.raises(UnknownCallerError):
        admitted(by(**{name: (word + rest,) * times}))


@pytest.mark.parametrize("scheme", [BEARER, BASIC])
def test_a_header_that_no_scheme_reads_is_for_whatever_stands_in_front(scheme: Scheme) -> None:
    assert admitted(by(x_api_key="whatever"), Access((scheme,)), anonymous=True).anonymous
    assert admitted(by(authorization="AWS4-HMAC-SHA256 x"), Access((KEYS,)), anonymous=True).anonymous


def test_while_keys_are_out_of_reach_nobody_can_tell_and_other_credentials_still_count() -> None:
    access = Access((Bearer((token("ada", "first"),), (ISSUER,), FakeTokens(down=True)), KEYS))

    with pytest.raises(CannotTellError) as out:
        admitted(by(authorization="Bearer a.b.c"), access)
    assert (out.value.retry_after, out.value.http_status) == (13, 503)
    assert admitted(by(authorization="Bearer first"), access).name == "ada"
    assert admitted(by(x_api_key="key-2"), access).name == "bob"


def test_a_credential_that_opens_for_two_names_opens_for_none() -> None:
    two = (token("ada", "same"), token("bob", "same"))

    for access, request in (
        (Access((Bearer(two),)), by(authorization="Bearer same")),
        (Access((ApiKeys("X-API-Key", two),)), by(x_api_key="same")),
        (
            Access((Basic([login("ada", "u", "same"), login("bob", "u", "same")]),)),
            by(authorization=basic("u", "same")),
        ),
    ):
        with pytest.raises(UnknownCallerError):
            admitted(request, access)


@pytest.mark.parametrize(
    ("username", "password"), [("u", ""), ("", "p"), ("u", "p\n"), ("u\x00", "p"), ("u", "\x7f")]
)
def test_what_is_no_name_and_password_opens_nothing_even_where_it_is_kept(
    username: str, password: str
) -> None:
    access = Access((Basic([login("ada", username, password)]),))

    with pytest.raises(UnknownCallerError):
        admitted(by(authorization=basic(username, password)), access)


def test_a_credential_may_be_so_long_and_no_longer() -> None:
    long = "a" * (MAX_CREDENTIAL - len("Bearer "))
    access = Access((Bearer((token("ada", long), token("bob", f"{long}a"))),))

    assert admitted(by(authorization=f"Bearer {long}"), access).name == "ada"
    with pytest.raises(UnknownCallerError):
        admitted(by(authorization=f"Bearer {long}a"), access)


# --- comparing --------------------------------------------------------------------------


class Watched:
    """An entry that counts how often its hash is looked at."""

    def __init__(self, name: str, secret: str) -> None:
        self.name, self.username, self.scopes = name, name, frozenset[str]()
        self.hash = hashlib.sha256(secret.encode()).digest()
        self.looks = 0

    @property
    def sha256(self) -> bytes:
        """The hash."""
        self.looks += 1
        return self.hash


@pytest.mark.parametrize("secret", ["secret-0", "secret-5", "secret-9", "wrong"])
def test_every_entry_is_compared_wherever_the_right_one_stands(secret: str) -> None:
    for make, shown in (
        (Bearer, by(authorization=f"Bearer {secret}")),
        (lambda tokens: ApiKeys("X-API-Key", tokens), by(x_api_key=secret)),
    ):
        entries = [Watched(f"name-{number}", f"secret-{number}") for number in range(10)]
        access = Access((make(entries),))  # type: ignore[arg-type]
        if secret == "wrong":
            with pytest.raises(UnknownCallerError):
                admitted(shown, access)
        else:
            assert admitted(shown, access).name == secret.replace("secret", "name")

        assert [entry.looks for entry in entries] == [1] * 10


@dataclass
class WatchedPassword:
    """A password that counts how often it is asked."""

    right: str
    work: int
    asked: int = 0

    def is_right(self, password: str) -> bool:
        """Whether it is this one."""
        self.asked += 1
        return password == self.right


def test_a_user_who_does_not_exist_takes_as_long_as_the_slowest_who_does() -> None:
    slow, quick = WatchedPassword("s", 9), WatchedPassword("q", 0)
    access = Access((Basic([Login("quick", "quick", quick), Login("slow", "slow", slow)]),))

    with pytest.raises(UnknownCallerError):
        admitted(by(authorization=basic("nobody", "s")), access)
    assert (slow.asked, quick.asked) == (1, 0)
    with pytest.raises(UnknownCallerError):
        admitted(by(authorization=basic("slow", "wrong")), access)
    assert (slow.asked, quick.asked) == (2, 0)


def test_whoever_is_refused_takes_as_long_however_their_password_is_kept() -> None:
    quick, middle, slow = WatchedPassword("q", 0), WatchedPassword("m", 4), WatchedPassword("s", 9)
    old, new = WatchedPassword("old", 4), WatchedPassword("new", 4)
    passwords = {"quick": [quick], "middle": [middle], "slow": [slow], "changing": [old, new]}
    access = Access((Basic([Login(name, name, each) for name, kept in passwords.items() for each in kept]),))
    users = (*passwords, "nobody")

    def done() -> int:
        return sum(each.asked * each.work for kept in passwords.values() for each in kept)

    def work(username: str) -> int:
        before = done()
        with pytest.raises(UnknownCallerError):
            admitted(by(authorization=basic(username, "wrong")), access)
        return done() - before

    assert {name: work(name) for name in users} == dict.fromkeys(users, 9 + 2 * 4)


def test_a_password_that_was_right_is_not_worked_out_again_and_one_that_was_wrong_is() -> None:
    password = WatchedPassword("right", 1)
    access = Access((Basic([Login("ada", "ada", password)]),))

    for _ in range(3):
        assert admitted(by(authorization=basic("ada", "right")), access).name == "ada"
    assert password.asked == 1
    for _ in range(2):
        with pytest.raises(UnknownCallerError):
            admitted(by(authorization=basic("ada", "wrong")), access)
    assert password.asked == 3


def test_what_is_remembered_of_passwords_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("a2a_serverless.bindings.caller.basic.REMEMBERED", 2)
    passwords = [WatchedPassword(f"p{number}", 1) for number in range(3)]
    scheme = Basic([Login(f"u{number}", f"u{number}", each) for number, each in enumerate(passwords)])

    for _ in range(2):
        for number in range(3):
            assert admitted(by(authorization=basic(f"u{number}", f"p{number}")), Access((scheme,)))
    assert sum(each.asked for each in passwords) > 3


def test_a_password_is_kept_as_scrypt_says() -> None:
    kept = ScryptPassword.read(hashed("correct horse"))

    assert kept.is_right("correct horse")
    assert not kept.is_right("correct horse ")
    assert hashed("correct horse") != hashed("correct horse")
    assert "key" not in repr(kept)


def test_a_password_hashed_elsewhere_is_read() -> None:
    # RFC 7914, 12: the third test vector's parameters, in the form that password libraries write.
    key = hashlib.scrypt(b"pleaseletmein", salt=b"SodiumChloride", n=16384, r=8, p=1, maxmem=2**26, dklen=32)
    text = f"$scrypt$ln=14,r=8,p=1${b64encode(b'SodiumChloride').rstrip(b'=').decode()}$"
    text += b64encode(key).rstrip(b"=").decode()

    assert ScryptPassword.read(text).is_right("pleaseletmein")
    assert key.hex().startswith("7023bdcb3afd7348461c06cd81fd38eb")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("correct horse", "must be"),
        ("$scrypt$ln=14,r=8,p=1$c2FsdHNhbHRzYWx0$short", "must be"),
        (f"$scrypt$ln=10,r=8,p=1$c2FsdHNhbHRzYWx0${'A' * 43}", "too little work"),
        (f"$scrypt$ln=20,r=8,p=1$c2FsdHNhbHRzYWx0${'A' * 43}", "too much"),
        (f"$scrypt$ln=14,r=64,p=1$c2FsdHNhbHRzYWx0${'A' * 43}", "too much"),
        (f"$scrypt$ln=14,r=8,p=99$c2FsdHNhbHRzYWx0${'A' * 43}", "too much"),
        (f"$argon2id$v=19$m=65536,t=3,p=4$c2FsdA${'A' * 43}", "must be"),
    ],
)
def test_a_password_that_is_weak_or_kept_otherwise_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        ScryptPassword.read(text)
    assert text not in str(refused.value)


# --- what one may do --------------------------------------------------------------------

SCOPED = Access(
    (BEARER, KEYS), {"*": frozenset({"read"}), "SendMessage": frozenset({"write"}), "CancelTask": frozenset()}
)


def test_an_operation_asks_for_its_own_scopes_and_for_those_of_all() -> None:
    door = Admittance(access=lambda: SCOPED)
    ada, bob, both = (
        door.authenticate(request)
        for request in (
            by(authorization="Bearer first"),
            by(authorization="Bearer second"),
            by(authorization="Bearer first", x_api_key="key-1"),
        )
    )

    door.permit(ada, "GetTask")
    door.permit(ada, "CancelTask")
    door.permit(both, "SendMessage")
    for principal, method, scopes in (
        (ada, "SendMessage", ("read", "write")),
        (bob, "GetTask", ("read",)),
        (bob, "CancelTask", ("read",)),
    ):
        with pytest.raises(MissingScopeError) as refused:
            door.permit(principal, method)
        assert refused.value.scopes == scopes


def test_somebody_who_did_not_say_who_they_are_is_asked_to_rather_than_forbidden() -> None:
    door = Admittance(access=lambda: SCOPED, anonymous=True)

    with pytest.raises(UnknownCallerError):
        door.permit(door.authenticate(by()), "GetTask")


def test_where_no_scopes_are_asked_for_anybody_who_is_let_in_may_do_everything() -> None:
    door = Admittance(access=lambda: ALL, anonymous=True)

    door.permit(door.authenticate(by()), "SendMessage")
    door.permit(door.authenticate(by(x_api_key="key-2")), "SendMessage")
