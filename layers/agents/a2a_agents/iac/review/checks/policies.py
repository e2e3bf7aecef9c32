"""IAM and RAM policies: what they allow, to whom. In the template itself, or as JSON within a text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from a2a_agents.iac.review.findings import Finding
from a2a_agents.iac.review.json_nodes import read_json
from a2a_agents.iac.review.nodes import Expression, Mapping, Node, Scalar, at_path, walk
from a2a_agents.iac.review.reading import Unreadable
from a2a_agents.iac.review.resources import Resource
from a2a_agents.iac.review.rules import ALL_PERMISSIONS, ASSUMED_BY_ALL, PUBLIC_POLICY, WIDE_PERMISSIONS
from a2a_agents.iac.review.source import Source, Span


@dataclass(frozen=True)
class Statement:
    """One statement of a policy; where a policy is cut out of a text, `at` is in the text."""

    effect: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    not_actions: bool
    conditional: bool
    principals: tuple[str, ...]
    assumes: bool
    at: Span


def policies(resource: Resource) -> Iterator[Finding]:
    """What a resource's policies allow too much of."""
    for statement in statements(resource):
        if statement.effect != "allow" or statement.conditional:
            continue
        if "*" in statement.principals and resource.type not in ENDPOINTS:
            yield _everybody(resource, statement)
        if "*" not in statement.resources or statement.principals:
            continue
        if "*" in statement.actions or "*:*" in statement.actions:
            yield Finding(
                ALL_PERMISSIONS, statement.at, f"{resource.called} allows everything on everything."
            )
        elif statement.not_actions:
            message = f"{resource.called} allows everything but a list, on everything."
            yield Finding(WIDE_PERMISSIONS, statement.at, message)
        else:
            wide = sorted({action for action in statement.actions if action.endswith(":*")})
            if wide:
                message = f"{resource.called} allows {', '.join(wide[:5])} on everything."
                yield Finding(WIDE_PERMISSIONS, statement.at, message)


ENDPOINTS: Final = ("AWS::EC2::VPCEndpoint", "aws_vpc_endpoint", "aws_vpc_endpoint_policy")
"""Whose policies are for everybody by default: they limit what those inside of the network may do."""


def _everybody(resource: Resource, statement: Statement) -> Finding:
    if statement.assumes:
        return Finding(ASSUMED_BY_ALL, statement.at, f"{resource.called} may be assumed by everybody.")
    return Finding(PUBLIC_POLICY, statement.at, f"{resource.called} allows everybody.")


def statements(resource: Resource) -> Iterator[Statement]:
    """The statements of all policies of a resource, or of a Terraform policy document."""
    if resource.type == "aws_iam_policy_document":
        for block in at_path(resource.properties, "statement"):
            yield _of_document(resource, block)
        return
    for node in walk(resource.properties):
        if isinstance(node, Mapping) and node.entry("Statement"):
            for each in at_path(node, "Statement"):
                if isinstance(each, Mapping):
                    yield _of(resource, each)
        elif isinstance(node, (Scalar, Expression)):
            yield from _in_text(resource, node)


MARK: Final = "unknown"


def _in_text(resource: Resource, node: Scalar | Expression) -> Iterator[Statement]:
    """A policy that is written as JSON in a text, with Terraform's references in it or not."""
    text = node.at.text
    if '"Statement"' not in text or not text.lstrip().startswith("{"):
        return
    for part in node.parts if isinstance(node, Expression) else ():
        # Of the same length, so that places stay what they are.
        start = part.at.start - node.at.start
        if not isinstance(part, Scalar):
            begins = text.rfind("${", 0, start + 2)
            ends = text.find("}", start + len(part.at.text))
            if 0 <= begins <= ends:
                hidden = MARK.ljust(ends + 1 - begins, "_")[: ends + 1 - begins]
                text = text[:begins] + hidden + text[ends + 1 :]
    source = Source(node.at.source.name, text, node.at.line)
    try:
        policy = read_json(source)
    except Unreadable:
        return
    for each in at_path(policy, "Statement"):
        if isinstance(each, Mapping):
            found = _of(resource, each)
            start = node.at.start + found.at.start
            at = Span(node.at.source, start, start + found.at.end - found.at.start)
            yield Statement(
                found.effect,
                found.actions,
                found.resources,
                found.not_actions,
                found.conditional,
                found.principals,
                found.assumes,
                at,
            )


def _texts(resource: Resource, node: Node, *path: str) -> tuple[str, ...]:
    found = (resource.known(each) for each in at_path(node, *path))
    return tuple(str(each.value) for each in found if each is not None and each.value is not None)


def _of(resource: Resource, statement: Mapping) -> Statement:
    actions = _texts(resource, statement, "Action")
    principal = statement.get("Principal")
    principals: tuple[str, ...] = ()
    if isinstance(principal, Mapping):
        for name in ("AWS", "RAM", "*"):
            principals += _texts(resource, principal, name)
    elif principal is not None:
        principals = _texts(resource, principal)
    whom = principals if "*" in principals else (("somebody",) if principal is not None else ())
    return Statement(
        effect=next(iter(_texts(resource, statement, "Effect")), "").lower(),
        actions=actions,
        resources=_texts(resource, statement, "Resource"),
        not_actions=bool(_texts(resource, statement, "NotAction")),
        conditional=statement.entry("Condition") is not None,
        principals=whom,
        assumes=any(action.lower().startswith("sts:assumerole") for action in actions),
        at=statement.at if not actions else _where(statement),
    )


def _where(statement: Mapping) -> Span:
    """The line of a statement that says what is allowed."""
    entry = statement.entry("Action") or statement.entries[0]
    return entry.key.at


def _of_document(resource: Resource, block: Node) -> Statement:
    actions = _texts(resource, block, "actions")
    return Statement(
        effect=next(iter(_texts(resource, block, "effect")), "Allow").lower(),
        actions=actions,
        resources=_texts(resource, block, "resources"),
        not_actions=bool(_texts(resource, block, "not_actions")),
        conditional=any(True for _ in at_path(block, "condition")),
        principals=_document_principals(resource, block),
        assumes=any(action.lower().startswith("sts:assumerole") for action in actions),
        at=block.at,
    )


def _document_principals(resource: Resource, block: Node) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    for each in at_path(block, "principals"):
        kinds = _texts(resource, each, "type")
        identifiers = _texts(resource, each, "identifiers")
        everybody = "*" in identifiers and any(kind in ("AWS", "*") for kind in kinds)
        found += ("*",) if everybody else ("somebody",)
    return found


ATTACHED_ADMINISTRATOR: Final = ("AdministratorAccess", "policy/AdministratorAccess")


def attached(resource: Resource) -> Iterator[Finding]:
    """The administrator's policy, attached by its name."""
    if not any(family in resource.type for family in ("AWS::IAM", "::RAM::", "aws_iam_", "alicloud_ram")):
        return
    for node in walk(resource.properties):
        known = node if isinstance(node, Scalar) else None
        if known is not None and str(known.value).endswith(ATTACHED_ADMINISTRATOR):
            yield Finding(ALL_PERMISSIONS, node.at, f"{resource.called} has the policy AdministratorAccess.")
