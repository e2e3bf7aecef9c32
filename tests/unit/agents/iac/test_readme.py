"""What the infrastructure agent's README promises is what there is."""

import re
from pathlib import Path

import a2a_agents.iac
from a2a_agents.iac.catalogue import SKILLS
from a2a_agents.iac.review.findings import ALL_KINDS
from a2a_agents.iac.review.rules import RULES

README = Path(a2a_agents.iac.__file__).with_name("README.md").read_text(encoding="utf-8")


def test_the_table_of_rules_is_the_rules() -> None:
    told = [
        tuple(map(str.strip, row.strip("|").split("|")))
        for row in re.findall(r"^\| IAC.*$", README, re.MULTILINE)
    ]

    assert told == [
        (
            rule.id,
            rule.name,
            rule.severity.value,
            "all" if rule.kinds == ALL_KINDS else ", ".join(sorted(kind.value for kind in rule.kinds)),
            "yes" if rule.corrected else "",
            rule.summary,
        )
        for rule in RULES
    ]


def test_every_skill_is_told() -> None:
    assert all(f"`{skill.id}`" in README for skill in SKILLS)
