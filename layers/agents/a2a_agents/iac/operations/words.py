"""What the words of a text say about stacks, by patterns: names, parameters, files, templates."""

import re
from collections.abc import Iterator

from a2a_agents.iac.operations.actions import is_verb
from a2a_agents.iac.operations.regions import is_region

FENCED = re.compile(
    r"^[ \t]*(```+|~~~+)[^\n]*\n(?P<text>.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
BARE = re.compile(
    r"^[ \t]*(?:\{\s*\"|---\s*$|\"?(?:ROSTemplateFormatVersion|Transform|Resources|Parameters)\"?\s*:)",
    re.MULTILINE,
)


def apart(text: str) -> tuple[str, str | None]:
    """The words of a text, and the template that it brings: fenced, or from where one begins."""
    fenced = FENCED.search(text)
    if fenced is not None:
        return text[: fenced.start()] + "\n" + text[fenced.end() :], fenced["text"]
    bare = BARE.search(text)
    return (text, None) if bare is None else (text[: bare.start()], text[bare.start() :])


PARAMETER = re.compile(
    r"(?<![\w/?&.:=-])(?P<name>[A-Za-z][\w.:-]{0,127})=(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s,;\"']+)"
)


def parameters(words: str) -> Iterator[tuple[str, str]]:
    """The parameters that words give, as NAME=VALUE."""
    for found in PARAMETER.finditer(words):
        value = found["value"]
        if value[0] in "\"'":
            yield found["name"], value[1:-1]
        else:
            # The full stop of the sentence is not the value's.
            yield found["name"], value.removesuffix(".") or value


NAME = r"[A-Za-z][A-Za-z0-9_-]{0,254}"
NO_NAMES = frozenset(
    """
    a again all an and any as at be by called complete created creation deleted deletion does every existing
    failed fails for from has have in is it its list my named new not now of on operation or our out ros run
    stack stacks state status that the there these this to under until up update updated was were what which
    why will with without your
    """.split()  # noqa: SIM905  can be read so
)
NAMED = re.compile(
    rf"\bstack\s+(?:(?:named|called|id|with\s+the\s+name|creation\s+of)\s+)?[\"'`“]?({NAME})", re.IGNORECASE
)
BEFORE = re.compile(rf"(?<![\w-])[\"'`“]?({NAME})[\"'`”]?\s+stack\b", re.IGNORECASE)
QUOTED = re.compile(rf"[\"'`“]({NAME})[\"'`”]")
ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
CHINESE = re.compile(rf"资源栈\s*[\"“]?({NAME})")


def stack(words: str) -> str | None:
    """The stack that words name: by its id, after the word "stack", or before it."""
    if (by_id := ID.search(words)) is not None:
        return by_id.group()
    for pattern in (NAMED, CHINESE, BEFORE):
        for found in pattern.finditer(words):
            name = found[1].rstrip("-_")
            if name.lower() not in NO_NAMES and not is_region(name) and not is_verb(name):
                return name
    if re.search(r"\bstack\b", words, re.IGNORECASE) and (quoted := QUOTED.search(words)) is not None:
        return quoted[1]
    return None


FROM = re.compile(
    r"file:///(?P<url>[^\s\"'`<>]+)|(?<![\w/.-])(?P<name>[\w./-]+\.(?:ya?ml|json|template))\b", re.IGNORECASE
)


def template(words: str) -> str | None:
    """The file that words name as a template."""
    found = FROM.search(words)
    if found is None:
        return None
    return (found["url"] or found["name"]).rstrip(".,;:!?)")


RETAINED = re.compile(
    rf"\b(?:retain|keep)(?:ing)?\s+(?:the\s+)?(?:resources?\s+)?({NAME}(?:(?:\s*,\s*|\s+and\s+){NAME})*)"
)


def retained(words: str) -> tuple[str, ...]:
    """The resources that words want to retain."""
    found = RETAINED.search(words)
    if found is None:
        return ()
    names = re.split(r"\s*,\s*|\s+and\s+", found[1])
    return tuple(name for name in names if name.lower() not in NO_NAMES)
