"""Terraform's texts: what is literal in them, what is computed, what their escapes mean. Knows no parser."""

import re
from collections.abc import Iterator
from typing import Final

from a2a_agents.iac.review.nodes import Value

WORDS: dict[str, Value] = {"true": True, "false": False, "null": None}

OUTSIDE: Final = re.compile(
    r"#[^\n]*|//[^\n]*|/\*.*?\*/|\""
    r"|<<-?(?P<word>[A-Za-z][\w.-]*)\r?\n.*?^[ \t]*(?P=word)[ \t\r]*$",
    re.DOTALL | re.MULTILINE,
)
INSIDE: Final = re.compile(r'\\.|\$\$\{|%%\{|[$%]\{|"', re.DOTALL)
WITHIN: Final = re.compile(r'[{}"\n\r]')


def on_one_line(text: str) -> str:
    """The text with the ends of lines within the `${…}` of quoted texts made spaces; places stay the same."""
    made = list(text)
    braces: list[int] = []  # one number for every `${` we are in: how many brackets are open in it
    quotes = 0
    at = 0
    while True:
        inside = quotes > len(braces)
        pattern = INSIDE if inside else WITHIN if braces else OUTSIDE
        found = pattern.search(text, at)
        if found is None:
            return "".join(made)
        at = found.end()
        match found.group():
            case '"':
                quotes += -1 if inside else 1
            case "${" | "%{" if inside:
                braces.append(1)
            case "{" if braces:
                braces[-1] += 1
            case "}" if braces:
                braces[-1] -= 1
                if not braces[-1]:
                    braces.pop()
            case "\n" | "\r" if braces:
                made[found.start()] = " "


def interpolations(text: str) -> Iterator[tuple[bool, int, int]]:
    """The literal stretches of a template's text (True), and the insides of its `${…}` (False)."""
    at = begins = 0
    while True:
        opens = text.find("${", at)
        if opens < 0:
            break
        if text[:opens].endswith("$"):  # `$${` is how `${` itself is written
            at = opens + 2
            continue
        closes = _closing(text, opens + 2)
        if closes < 0:
            break
        if opens > begins:
            yield True, begins, opens
        yield False, opens + 2, closes
        at = begins = closes + 1
    if begins < len(text):
        yield True, begins, len(text)


MOST_INTERPOLATION = 10_000
"""Characters of one `${…}`."""


def _closing(text: str, at: int) -> int:
    depth = 1
    quoted = False
    for offset in range(at, min(len(text), at + MOST_INTERPOLATION)):
        character = text[offset]
        if character == '"' and text[offset - 1] != "\\":
            quoted = not quoted
        elif not quoted and character in "{}":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return offset
    return -1


def literal(text: str) -> Value:
    """The value of a word or a number; text for a number that is not whole."""
    if text in WORDS:
        return WORDS[text]
    if re.fullmatch(r"-?[0-9]{1,100}", text):
        return int(text)
    return text


ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))|\$\$\{|%%\{", re.DOTALL)
ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


def unescaped(text: str, *, heredoc: bool = False) -> str:
    """What a quoted text means; in a heredoc only `$${` and `%%{` are escapes."""
    if heredoc:
        return text.replace("$${", "${").replace("%%{", "%{")

    def plain(found: re.Match[str]) -> str:
        if found.group(1):
            return chr(int(found.group(1), 16)).encode("utf-8", "replace").decode()
        return ESCAPED.get(found.group(2), found.group(2)) if found.group(2) else found.group()[1:]

    return ESCAPE.sub(plain, text)
