"""Alibaba Cloud's Resource Orchestration Service, as this agent's skills need it.

The words and shapes are the service's (API version 2019-09-10), the errors say what they mean for whoever
asked: wait, ask for authorisation, say what was refused, or look what became of it. Knows no SDK.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Stack:
    """One stack as it is now.

    `outputs` are raw: what callers may see of them is the business of `shown`. `parameters` are names alone.
    """

    stack_id: str
    name: str
    region: str
    status: str
    reason: str = ""
    updated_at: str = ""
    outputs: Sequence["Output"] = field(default=(), repr=False)
    parameters: Sequence[str] = ()
    progress: float | None = None

    @property
    def in_progress(self) -> bool:
        """Whether ROS is still at work on it."""
        return self.status.endswith("_IN_PROGRESS")

    @property
    def deleted(self) -> bool:
        """Whether it is gone."""
        return self.status == "DELETE_COMPLETE"


@dataclass(frozen=True)
class Output:
    """One output of a stack."""

    key: str
    value: object = field(repr=False)
    description: str = ""


@dataclass(frozen=True)
class StackEvent:
    """Something that happened to a resource of a stack, or to the stack itself."""

    event_id: str
    at: str
    resource: str
    resource_type: str
    status: str
    reason: str = ""


@dataclass(frozen=True)
class StackResource:
    """A resource of a stack as it is now."""

    name: str
    resource_type: str
    status: str
    reason: str = ""
    physical_id: str = ""


@dataclass(frozen=True)
class Declared:
    """A parameter that a template declares."""

    name: str
    required: bool
    no_echo: bool = False
    description: str = ""


@dataclass(frozen=True)
class Constraint:
    """Which values ROS would take for a parameter; none known means that it said nothing."""

    name: str
    allowed: Sequence[str] = ()


@dataclass(frozen=True)
class Price:
    """What a resource would cost, or why ROS cannot tell."""

    resource: str
    amount: float | None = None
    currency: str = ""
    unit: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Change:
    """What is asked of ROS: a template with its parameters.

    `template` is the template's text, or None to keep the stack's own. `token` makes asking twice the same
    as asking once, where the service knows it (create and update).
    """

    region: str
    template: str | None = field(default=None, repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    token: str = ""
    timeout_minutes: int = 60
    retain: Sequence[str] = ()


class Ros(Protocol):
    """What is asked of ROS. Everything may raise the errors below."""

    async def create_stack(self, name: str, change: Change) -> str:
        """Begin to create a stack, without rollback if that fails; returns its id."""

    async def update_stack(self, stack_id: str, change: Change) -> None:
        """Begin to update a stack."""

    async def continue_create_stack(self, stack_id: str, change: Change) -> None:
        """Go on creating a stack that failed, from the resources that did."""

    async def delete_stack(self, stack_id: str, change: Change) -> None:
        """Begin to delete a stack, except the resources to retain."""

    async def stack(self, region: str, stack_id: str) -> Stack:
        """A stack as it is now. Raises NoSuchStackError."""

    async def find(self, region: str, name: str) -> Stack | None:
        """The stack of this name."""

    async def stacks(self, region: str) -> Sequence[Stack]:
        """The region's stacks, latest first; at most `MOST_STACKS`."""

    async def events(self, region: str, stack_id: str, since: str = "") -> Sequence[StackEvent]:
        """What happened to a stack since a moment (ISO 8601, as events have it), oldest first."""

    async def resources(self, region: str, stack_id: str) -> Sequence[StackResource]:
        """A stack's resources."""

    async def template(self, region: str, stack_id: str) -> str:
        """A stack's template."""

    async def validate(self, region: str, template: str) -> Sequence[Declared]:
        """The parameters that a template declares. Raises RefusedError when it is not valid."""

    async def estimate(self, change: Change, stack_id: str | None = None) -> Sequence[Price]:
        """What a change would cost."""

    async def constraints(self, change: Change, stack_id: str | None = None) -> Sequence[Constraint]:
        """Which parameters may have which values."""


MOST_STACKS = 500
"""Stacks of a region that are looked at."""


class RosError(Exception):
    """ROS did not do what it was asked. The text may be shown to callers once secrets are taken out of it."""


class NotAuthorizedError(RosError):
    """The credentials are missing, wrong or worn out, or do not allow it."""


class ThrottledError(RosError):
    """It was asked too often, and has done nothing."""


class UnreachableError(RosError):
    """There is no answer, or none that makes sense: what was asked may or may not have happened."""


class RefusedError(RosError):
    """It will not do that."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class NoSuchStackError(RefusedError):
    """There is no such stack."""
