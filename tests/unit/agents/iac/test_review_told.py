"""What a review says: Markdown and SARIF of the same findings, and no secret in either."""

import json
import sys
from typing import Any

import pytest

from a2a_agents.iac.review.__main__ import NO_LINT, UNFINISHED, answers
from a2a_agents.iac.review.lint import LintMatch, values_to_hide, without
from a2a_agents.iac.review.reviewing import Review, review
from a2a_agents.iac.review.rules import RULES
from a2a_agents.iac.review.source import Source
from a2a_agents.iac.review.told import markdown, sarif

SECRETS = ("Sup3rGeheim!", "AKIAQWERTYUIOPASDFGH", "hunter22secret", "changeme-9")

TEMPLATE = f"""\
AWSTemplateFormatVersion: "2010-09-09"
Parameters:
  Password: {{Type: String, Default: {SECRETS[3]}}}
Resources:
  Db:
    Type: AWS::RDS::DBInstance
    Properties:
      MasterUserPassword: {SECRETS[0]}
      DBName: !Ref Password
  Fn:
    Type: AWS::Lambda::Function
    Properties:
      Description: key {SECRETS[1]} | `x` <b>
      Url: https://app:{SECRETS[2]}@example.org/
      Open: !Ref Gone # iac-review:ignore=IAC103 it comes from the macro
"""
LINT = (LintMatch("a b.yaml", 3, 5, "E1234", "error", "something is wrong"),)


def found() -> Review:
    return review([Source("a b.yaml", TEMPLATE)])


def test_no_secret_is_said() -> None:
    said = markdown(found(), LINT, ()) + json.dumps(sarif(found(), LINT))

    assert not [secret for secret in SECRETS if secret in said]
    assert said.count("IAC201") > 3


def test_messages_of_cfn_lint_repeat_nothing_of_the_template() -> None:
    hidden = values_to_hide(found().documents[0], found().findings)

    told = without(
        f"'{SECRETS[0]}' is not one of [a, b]; also key {SECRETS[1]} | `x` <b>. " + "x" * 1_000, hidden
    )

    assert told.startswith("'…' is not one of [a, b]; also …. xxx")
    assert len(told) < 310


def test_markdown_has_a_row_for_every_finding_and_its_cells_hold() -> None:
    told = markdown(found(), LINT, ("A note.",))

    rows = [line for line in told.splitlines() if line.startswith("| ") and " IAC" in line]
    assert len(rows) == len(found().findings)
    assert all(row.replace("\\|", "").count("|") == 6 for row in rows)
    assert told.startswith("# Review\n\n**5 errors, ")
    assert "- A note." in told
    assert "Taken back by comments in the templates: 1." in told


def test_our_own_review_is_answered_before_cfn_lint_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cfnlint", "cfnlint.api"):
        monkeypatch.setitem(sys.modules, name, None)
    given = {"files": [{"name": "t.yaml", "text": TEMPLATE}], "lint": True}

    first, second = answers(given)

    assert (first["last"], second["last"]) == (False, True)
    assert UNFINISHED in first["markdown"]
    assert NO_LINT in second["markdown"]
    assert first["counted"] == second["counted"]


def test_what_is_not_cloudformation_is_answered_once() -> None:
    given = {"files": [{"name": "main.tf", "text": "locals {}"}, {"name": "x", "text": "y"}], "lint": True}

    (only,) = answers(given)

    assert only["last"] is True
    assert only["templates"] == ["main.tf"]
    assert only["passed_over"].keys() == {"x"}


# What SARIF 2.1.0 requires of the objects that are used (OASIS schema, `required` and `enum` of each).
LEVELS = {"none", "note", "warning", "error"}


def assert_sarif(log: dict[str, Any]) -> None:
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"]
        rules = driver.get("rules", [])
        assert len({rule["id"] for rule in rules}) == len(rules)
        for rule in rules:
            assert rule["shortDescription"]["text"]
            assert rule["help"]["text"]
            assert rule["defaultConfiguration"]["level"] in LEVELS
        for result in run["results"]:
            assert result["message"]["text"]
            assert result["level"] in LEVELS
            if rules:
                assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            assert all(each["kind"] in ("inSource", "external") for each in result.get("suppressions", ()))
            for location in result["locations"]:
                assert_place(location["physicalLocation"])


def assert_place(place: dict[str, Any]) -> None:
    assert " " not in place["artifactLocation"]["uri"]
    region = place["region"]
    start, end = (
        (region["startLine"], region["startColumn"]),
        (region.get("endLine"), region.get("endColumn")),
    )
    assert all(number >= 1 for number in start)
    assert end == (None, None) or end >= start


def test_sarif_has_the_required_structure_and_every_finding() -> None:
    log = json.loads(json.dumps(sarif(found(), LINT)))

    assert_sarif(log)
    ours, theirs = log["runs"]
    assert len(ours["results"]) == len(found().findings) + len(found().ignored)
    assert [rule["id"] for rule in ours["tool"]["driver"]["rules"]] == [rule.id for rule in RULES]
    assert theirs["results"][0]["ruleId"] == "E1234"
    suppressed = [result for result in ours["results"] if "suppressions" in result]
    assert [result["ruleId"] for result in suppressed] == ["IAC103"]
