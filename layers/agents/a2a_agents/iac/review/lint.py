"""cfn-lint's opinion of CloudFormation templates, where the deployment has it: it knows every schema.

The only module that knows cfn-lint. What our own rules have said of the same line is not said twice, and what
stands in the template is not repeated: some messages would quote a secret.
"""

import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from a2a_agents.iac.review.documents import Document
from a2a_agents.iac.review.findings import Finding
from a2a_agents.iac.review.nodes import Scalar, walk
from a2a_agents.iac.review.rules import DEFAULT_SECRET, SECRET
from a2a_agents.iac.review.source import Source


@dataclass(frozen=True)
class LintMatch:
    """One match of cfn-lint; `severity` is a level of SARIF."""

    file: str
    line: int
    column: int
    rule: str
    severity: str
    message: str


SAME: Final = {
    "E0000": "IAC101",
    "E1010": "IAC103",
    "E1012": "IAC103",
    "E1019": "IAC103",
    "E1020": "IAC103",
    "E2015": "IAC110",
    "E2531": "IAC803",
    "W2531": "IAC803",
    "E3003": "IAC107",
    "E3004": "IAC106",
    "E3005": "IAC103",
    "E8002": "IAC103",
    "I3011": "IAC601",
    "W1011": "IAC201",
    "W2001": "IAC104",
    "W2501": "IAC202",
    "W3010": "IAC801",
    "W7001": "IAC105",
    "W8001": "IAC105",
}
"""Rules of cfn-lint that ours say too."""

LEVELS: Final = {"error": "error", "warning": "warning", "informational": "note"}


def lint(documents: Iterable[Document], findings: Sequence[Finding]) -> list[LintMatch]:
    """What cfn-lint says of CloudFormation templates besides.

    Raises:
        ModuleNotFoundError: there is no cfn-lint.
    """
    api = import_module("cfnlint.api")
    config = import_module("cfnlint.config")
    said = {(finding.at.source.name, finding.rule.id, finding.at.line) for finding in findings}
    found: set[LintMatch] = set()
    for document in documents:
        source = document.source
        hidden = values_to_hide(document, findings)
        with tempfile.TemporaryDirectory() as folder:
            suffix = ".json" if source.text.lstrip().startswith("{") else ".yaml"
            path = Path(folder) / f"template{suffix}"
            path.write_text(source.text, encoding="utf-8", newline="")
            matches = api.lint_file(path, config=config.ManualArgs(regions=["us-east-1"]))
        for match in matches:
            same = SAME.get(match.rule.id, "")
            if not any((source.name, same, match.linenumber + off) in said for off in (-1, 0, 1)):
                found.add(_match(source, match, hidden))
    return sorted(found, key=lambda each: (each.file, each.line, each.column, each.rule))


def _match(source: Source, match: Any, hidden: Sequence[str]) -> LintMatch:  # noqa: ANN401  it has no types
    severity = LEVELS.get(str(match.rule.severity).lower(), "warning")
    line, column = max(int(match.linenumber), 1), max(int(match.columnnumber), 1)
    return LintMatch(source.name, line, column, match.rule.id, severity, without(match.message, hidden))


NAME_LIKE: Final = re.compile(r"[A-Za-z:. -]*|[A-Za-z]\w*(?:::\w+)+")
LEAST_HIDDEN: Final = 4
MOST_MESSAGE: Final = 300


def values_to_hide(document: Document, findings: Sequence[Finding]) -> list[str]:
    """The values of a template that no message repeats: secrets, and whatever is no plain word."""
    secret = [
        finding.at.text.strip("\"'")
        for finding in findings
        if finding.rule in (SECRET, DEFAULT_SECRET) and finding.at.source is document.source
    ]
    values = (node.value for node in walk(document.root) if isinstance(node, Scalar))
    texts = (value for value in values if isinstance(value, str))
    unlike = (text for text in texts if len(text) >= LEAST_HIDDEN and not NAME_LIKE.fullmatch(text))
    return sorted({*secret, *unlike}, key=len, reverse=True)


def without(message: str, hidden: Sequence[str]) -> str:
    """A message without these values, and not longer than a message is."""
    for value in hidden:
        if value and value in message:
            message = message.replace(value, "…")
    return message if len(message) <= MOST_MESSAGE else f"{message[:MOST_MESSAGE]}…"
