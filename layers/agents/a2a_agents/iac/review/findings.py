"""What a review finds: rules, findings, and the corrections of the mechanical ones."""

from dataclasses import dataclass
from enum import StrEnum

from a2a_agents.iac.review.source import Span


class Kind(StrEnum):
    """What a template is written for."""

    ROS = "ROS"
    TERRAFORM = "Terraform"
    CLOUDFORMATION = "CloudFormation"


ALL_KINDS = frozenset(Kind)


class Severity(StrEnum):
    """How bad it is; SARIF's levels."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Rule:
    """One thing that is looked for.

    Attributes:
        id: by what a finding, and an exception from the rule, names it.
        name: the same for people, in a word or three.
        summary: what is wrong where it is broken.
        fix: what to do about it.
        corrected: whether the corrected template has it put right.
    """

    id: str
    name: str
    severity: Severity
    summary: str
    fix: str
    kinds: frozenset[Kind] = ALL_KINDS
    corrected: bool = False


@dataclass(frozen=True)
class Edit:
    """Other text for a stretch of a file; an empty stretch is a place to insert."""

    at: Span
    text: str


@dataclass(frozen=True)
class Finding:
    """A rule that is broken somewhere. The message never holds a secret. `edits` together put it right."""

    rule: Rule
    at: Span
    message: str
    edits: tuple[Edit, ...] = ()
    lighter: Severity | None = None

    @property
    def severity(self) -> Severity:
        """The rule's, or the lighter one that it is in this case."""
        return self.lighter or self.rule.severity
