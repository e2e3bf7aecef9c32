"""What a review says: in Markdown for people, in SARIF 2.1.0 for programs. No secret is in either."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from a2a_agents.iac.review.findings import Finding, Severity
from a2a_agents.iac.review.lint import LintMatch
from a2a_agents.iac.review.reviewing import Review
from a2a_agents.iac.review.rules import RULES

MOST_TOLD: Final = 500
"""Findings that are told one by one; the rest is counted."""

WORDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}

README: Final = (
    "https://github.com/a2a-serverless/a2a-serverless/blob/main/layers/agents/a2a_agents/iac/README.md"
)


def counted(review: Review) -> str:
    """How many findings of each severity, in words."""
    counts = Counter(finding.severity for finding in review.findings)
    if not review.findings:
        return "no findings"
    return ", ".join(
        f"{counts[severity]} {word}{'' if counts[severity] == 1 else 's'}"
        for severity, word in WORDS.items()
        if counts[severity]
    )


def markdown(review: Review, lint: Sequence[LintMatch], notes: Sequence[str]) -> str:
    """The report for people."""
    kinds = sorted({template.kind.value for template in review.templates})
    names = [template.source.name for template in review.templates]
    lines = ["# Review", "", f"**{counted(review).capitalize()}** in {_listed(names)} ({', '.join(kinds)})."]
    for name, (_, done) in review.corrections.items():
        lines += ["", f"Put right in the corrected copy of {_code(name)}: {len(done)}."]
    told = review.findings[:MOST_TOLD]
    for name in dict.fromkeys(finding.at.source.name for finding in told):
        lines += [
            "",
            f"## {_code(name)}",
            "",
            "| line | severity | rule | finding | fix |",
            "|---|---|---|---|---|",
        ]
        lines += [_row(finding, review) for finding in told if finding.at.source.name == name]
    if len(review.findings) > MOST_TOLD:
        lines += ["", f"And {len(review.findings) - MOST_TOLD} more."]
    if lint:
        lines += [
            "",
            "## cfn-lint",
            "",
            "| file | line | severity | rule | finding |",
            "|---|---|---|---|---|",
        ]
        lines += [_lint_row(match) for match in lint[:MOST_TOLD]]
    lines += _remarks(review, notes)
    return "\n".join(lines) + "\n"


def _remarks(review: Review, notes: Sequence[str]) -> list[str]:
    said = [f"{_code(name)} was passed over: {why}." for name, why in review.passed_over.items()]
    if review.ignored:
        said.append(f"Taken back by comments in the templates: {len(review.ignored)}.")
    said.extend(notes)
    return ["", "## Remarks", "", *(f"- {each}" for each in said)] if said else []


MOST_NAMED: Final = 5


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(_code(name) for name in names[:MOST_NAMED])
    return shown if len(names) <= MOST_NAMED else f"{shown} and {len(names) - MOST_NAMED} more files"


def _row(finding: Finding, review: Review) -> str:
    done = any(finding in corrections for _, corrections in review.corrections.values())
    fix = f"{finding.rule.fix} *Corrected.*" if done else finding.rule.fix
    cells = (
        str(finding.at.line),
        finding.severity.value,
        f"{finding.rule.id} {finding.rule.name}",
        _cell(finding.message),
        _cell(fix),
    )
    return f"| {' | '.join(cells)} |"


def _lint_row(match: LintMatch) -> str:
    cells = (_cell(match.file), str(match.line), match.severity, match.rule, _cell(match.message))
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Text that stays in its cell and means itself."""
    return (
        " ".join(text.split())
        .replace("\\", "\\\\")
        .replace("|", "\\|")
        .replace("`", "\\`")
        .replace("<", "&lt;")
    )


def _code(name: str) -> str:
    return f"`{name.replace('`', '')}`"


def sarif(review: Review, lint: Sequence[LintMatch]) -> dict[str, Any]:
    """The report for programs (OASIS SARIF 2.1.0)."""
    index = {rule.id: number for number, rule in enumerate(RULES)}
    results = [_result(finding, index, suppressed=False) for finding in review.findings]
    results += [_result(finding, index, suppressed=True) for finding in review.ignored]
    runs: list[dict[str, Any]] = [
        {
            "tool": {"driver": {"name": "iac-review", "rules": _rules()}},
            "artifacts": [
                {
                    "location": {"uri": _uri(template.source.name)},
                    "sourceLanguage": template.kind.value.lower(),
                }
                for template in review.templates
            ],
            "results": results,
            "columnKind": "unicodeCodePoints",
        }
    ]
    if lint:
        runs.append(_lint_run(lint))
    return {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": runs,
    }


def _rules() -> list[dict[str, Any]]:
    return [
        {
            "id": rule.id,
            "name": rule.name,
            "shortDescription": {"text": rule.summary},
            "help": {"text": rule.fix},
            "defaultConfiguration": {"level": rule.severity.value},
            "properties": {"tags": sorted(kind.value for kind in rule.kinds)},
        }
        for rule in RULES
    ]


def _result(finding: Finding, index: dict[str, int], *, suppressed: bool) -> dict[str, Any]:
    region = {
        "startLine": finding.at.line,
        "startColumn": finding.at.column,
        "endLine": max(finding.at.end_line, finding.at.line),
        "endColumn": finding.at.source.column(finding.at.end),
    }
    result: dict[str, Any] = {
        "ruleId": finding.rule.id,
        "ruleIndex": index[finding.rule.id],
        "level": finding.severity.value,
        "message": {"text": finding.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(finding.at.source.name)},
                    "region": region,
                }
            }
        ],
    }
    if suppressed:
        result["suppressions"] = [{"kind": "inSource"}]
    return result


def _lint_run(lint: Sequence[LintMatch]) -> dict[str, Any]:
    return {
        "tool": {
            "driver": {"name": "cfn-lint", "informationUri": "https://github.com/aws-cloudformation/cfn-lint"}
        },
        "results": [
            {
                "ruleId": match.rule,
                "level": match.severity,
                "message": {"text": match.message},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": _uri(match.file)},
                            "region": {"startLine": match.line, "startColumn": match.column},
                        }
                    }
                ],
            }
            for match in lint
        ],
    }


def _uri(name: str) -> str:
    """A file's name as a relative reference."""
    return quote(name, safe="/#")
