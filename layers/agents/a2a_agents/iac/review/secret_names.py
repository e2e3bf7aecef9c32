"""What looks like a secret: by the name it goes by, or by what it is. Pure; keeps and shows no secret."""

import math
import re
from collections import Counter
from typing import Final

WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

SECRET_WORDS: Final = frozenset(
    {"password", "passwd", "pwd", "passphrase", "secret", "token", "psk", "credentials", "passcode"}
)
SECRET_PAIRS: Final = frozenset(
    {
        ("access", "key"),
        ("account", "key"),
        ("api", "key"),
        ("app", "key"),
        ("auth", "key"),
        ("private", "key"),
        ("secret", "key"),
        ("shared", "key"),
        ("signing", "key"),
        ("storage", "key"),
        ("access", "secret"),
    }
)
NO_SECRETS: Final = frozenset(
    {
        ("client", "token"),
        ("next", "token"),
        ("continuation", "token"),
        ("no", "token"),
        ("creation", "token"),
    }
)
VALUE_WORDS: Final = frozenset({"string", "value", "text", "data", "plaintext"})
"""Words that may follow: `secret_string`, `PasswordValue`."""


def is_secret_name(name: str) -> bool:
    """Whether a property, parameter or variable of this name holds a secret, not something about one."""
    words = [word.lower() for word in WORDS.findall(name)]
    while words and (words[-1].isdigit() or (words[-1] in VALUE_WORDS and len(words) > 1)):
        if tuple(words[-2:]) in SECRET_PAIRS:
            return True
        words.pop()
    pair = tuple(words[-2:])
    if not words or pair in NO_SECRETS or "encrypted" in words:
        return False
    return (
        words[-1] in SECRET_WORDS
        or pair in SECRET_PAIRS
        or any(
            words[-1].endswith(word) for word in ("password", "passwd", "apikey", "secretkey", "accesskey")
        )
    )


KNOWN_FORMATS: Final = {
    "an AWS access key id": re.compile(r"\b(?:AKIA|ASIA)(?![A-Z0-9]*EXAMPLE\b)[A-Z2-7]{16}\b"),
    "an Alibaba Cloud access key id": re.compile(r"\bLTAI[A-Za-z0-9]{12,26}\b"),
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"),
    "a GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{50,255})\b"),
    "a GitLab token": re.compile(r"\bglpat-[A-Za-z0-9_-]{20,64}\b"),
    "a Slack token": re.compile(r"\bxox[abposr]-[A-Za-z0-9-]{10,200}\b"),
    "a Slack webhook": re.compile(
        r"https://hooks\.slack\.com/services/T[A-Z0-9]{6,14}/B[A-Z0-9]{6,14}/\w{20,32}"
    ),
    "a Stripe key": re.compile(r"\b[sr]k_live_[A-Za-z0-9]{20,200}\b"),
    "a Google API key": re.compile(r"\bAIza[A-Za-z0-9_-]{35}\b"),
    "a token of an AI service": re.compile(r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,200}\b"),
    "a password in an address": re.compile(
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"'${}<>]{1,64}:(?!\*+@)[^\s:/@\"'${}<>]{3,128}@[\w\[]"
    ),
    "an AWS secret access key": re.compile(
        r"(?i)aws_?secret_?(?:access_?)?key\W{1,6}[a-z0-9/+]{40}(?![a-z0-9/+])"
    ),
    "a secret of a script": re.compile(
        r"^[ \t]{0,40}(?:export[ \t]{1,4})?[A-Z0-9_]{0,40}(?:PASSWORD|PASSWD|SECRET|TOKEN|API_KEY)="
        r"[\"']?(?![$<{*%])[^\s\"'$<>{}()|&;`]{6,128}[\"']?[ \t]*$",
        re.MULTILINE,
    ),
    "a password in a connection string": re.compile(
        r"(?i)(?<=[;\"'])\s{0,3}(?:password|pwd)\s{0,3}=(?![\s;\"'$<{*%])[^;\"'\s${}]{4,128}(?=[;\"'])"
    ),
}
"""Secrets that are known by how they look. Every pattern is bounded, so that hostile text costs no time."""

PLACEHOLDER: Final = re.compile(
    r"\A(?:\s*|\{\{.*|.*\{\{resolve:.*|\$\{.*|\$\(.*|<.*>|\[.*\]|%.*%|@.*"
    r"|arn:.*|ssm:.*|secretsmanager:.*|vault:.*|acs:.*"
    r"|x{3,}|\*{3,}|\.{3,}|true|false|none|null|n/?a|required|optional|enabled|disabled|-?[0-9]{1,3}"
    r"|alias/.*|projects/.*|/[\w./-]+|https?://[^@]*)\Z",
    re.IGNORECASE | re.DOTALL,
)
"""What stands where a secret would and is none: a reference, or a mark that there is one to be put in."""

MOST_LOOKED_AT: Final = 256
LEAST_SECRET: Final = 4
"""Characters of the shortest secret that counts as one."""


def is_secret_value(value: str) -> bool:
    """Whether a text under a secret's name is a secret, and not a reference to where one lies."""
    head = value[:MOST_LOOKED_AT]
    # Mostly signs: a list of separators, say.
    words = sum(character.isalnum() for character in head) * 2 >= len(head)
    return len(value) >= LEAST_SECRET and words and PLACEHOLDER.match(value[:2000]) is None


RANDOM_BITS: Final = 4.0
LEAST_RANDOM: Final = 24


def is_random(value: str) -> bool:
    """Whether a text looks like a generated key: long, of one word, more than four bits a character."""
    head = value[:MOST_LOOKED_AT]
    if len(head) < LEAST_RANDOM or not re.fullmatch(r"[A-Za-z0-9+/=_-]+", head):
        return False
    counts = Counter(head)
    bits = -sum(n / len(head) * math.log2(n / len(head)) for n in counts.values())
    return bits >= RANDOM_BITS and any(c.isdigit() for c in head) and any(c.isupper() for c in head)
