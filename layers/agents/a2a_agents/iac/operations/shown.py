"""What callers may see: every text that leaves the skill has the secrets taken out of it.

Secrets are the values that were given for parameters which are not to be echoed, or may not be. Knows the
values, and therefore stays in memory: nothing here is kept in a state or written to a log.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from a2a_agents.iac.operations.ros import Declared, Stack
from a2a_agents.iac.operations.template import Template
from a2a_agents.iac.review.secret_names import is_secret_name

HIDDEN = "***"

SHORTEST = 4
"""Characters of the shortest secret that is looked for within other texts."""


def is_secret(name: str, declared: Declared | None) -> bool:
    """Whether a parameter's value must not be shown: its template says so, or nothing, or its name tells."""
    return declared is None or declared.no_echo or is_secret_name(name)


@dataclass(frozen=True)
class Shown:
    """Takes the secrets of a turn out of what is said in it."""

    secrets: Sequence[str] = field(default=(), repr=False)

    def text(self, text: str) -> str:
        """A text without secrets."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            if len(secret) >= SHORTEST or text == secret:
                text = text.replace(secret, HIDDEN)
        return text

    def value(self, value: object) -> Any:  # noqa: ANN401  any JSON
        """A value without secrets, wherever in it they stand."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(name)): self.value(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(one) for one in value]
        return HIDDEN if str(value) in self.secrets else value

    def outputs(self, stack: Stack, template: Template) -> dict[str, Any]:
        """A stack's outputs by key. One that is made of a secret parameter is hidden, known value or not."""
        if not template.content:
            # Of a template that cannot be read nobody knows what its outputs are made of.
            return {output.key: HIDDEN for output in stack.outputs}
        declared = template.declared
        secret = frozenset(name for name, one in declared.items() if is_secret(name, one))
        hidden = template.secret_outputs(secret)
        return {
            output.key: HIDDEN if output.key in hidden else self.value(output.value)
            for output in stack.outputs
        }
