"""Making a plan of a wish: everything that can be known before anybody is asked for permission.

Looks, and changes nothing. What is missing or wrong ends the turn with a question; a price or a constraint
that ROS does not tell holds nobody up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from a2a_agents.iac.operations.actions import Action
from a2a_agents.iac.operations.endings import Ends
from a2a_agents.iac.operations.memory import Plan
from a2a_agents.iac.operations.ros import (
    Change,
    Constraint,
    Declared,
    Price,
    RefusedError,
    Ros,
    RosError,
    Stack,
    StackResource,
)
from a2a_agents.iac.operations.shown import Shown, is_secret
from a2a_agents.iac.operations.template import Template
from a2a_serverless.agent import InputRequired, Part, Permission

MOST_VALUES = 12
"""Values of a parameter that a question lists."""

MOST_RESOURCES = 20
"""Resources that a question for permission lists."""


@dataclass(frozen=True)
class Given:
    """What there is to plan with. `stack` is the one to change, None for a new one."""

    action: Action
    region: str
    name: str
    token: str
    stack: Stack | None = None
    template: Template | None = None
    own: Template | None = None
    """The template that the stack has, where another one is not given."""
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    retain: tuple[str, ...] = ()
    timeout_minutes: int = 60


async def planned(ros: Ros, given: Given) -> Plan:
    """The plan.

    Raises:
        Ends: something must be asked first. RosError: ROS cannot be asked.
    """
    if given.action is Action.DELETE and given.stack is not None:
        return _deletion(given, given.stack, await ros.resources(given.region, given.stack.stack_id))
    template = given.template or given.own
    declared = await _declared(ros, given, template)
    wanted = {name: value for name, value in given.parameters.items() if name in declared or not declared}
    secrets = tuple(sorted(name for name in wanted if is_secret(name, declared.get(name))))
    shown = Shown([wanted[name] for name in secrets])
    change = Change(given.region, template.text if template else None, wanted)
    stack_id = given.stack.stack_id if given.stack else None
    constraints = await _constraints(ros, change, stack_id)
    _ask_for_missing(given, declared, wanted, constraints)
    lines = [
        _made(given, template),
        *_left_out(given.parameters, wanted),
        *_outside(wanted, secrets, constraints),
        await _price(ros, change, stack_id),
    ]
    return Plan(
        action=given.action,
        region=given.region,
        stack=given.name,
        stack_id=stack_id or "",
        template=template.name if template and template is given.template else None,
        digest=template.digest if template else None,
        template_bytes=len(template.text.encode()) if template else 0,
        parameters={name: value for name, value in wanted.items() if name not in secrets},
        secrets=secrets,
        timeout_minutes=given.timeout_minutes,
        token=given.token,
        effect=shown.text("\n".join(filter(None, lines))),
        before=_before(given.stack),
    )


def _deletion(given: Given, stack: Stack, resources: Sequence[StackResource]) -> Plan:
    goes = [one for one in resources if one.name not in given.retain]
    unknown = set(given.retain) - {one.name for one in resources}
    if unknown:
        raise Ends(
            InputRequired(
                f"Stack {stack.name} has no resource {', '.join(sorted(unknown))}. Which are to be retained?"
            )
        )
    kept = f" Retains {', '.join(given.retain)}." if given.retain else ""
    listed = _listed([f"{one.name} ({one.resource_type})" for one in goes])
    return Plan(
        action=Action.DELETE,
        region=given.region,
        stack=stack.name,
        stack_id=stack.stack_id,
        retain=given.retain,
        token=given.token,
        effect=f"Deletes the stack and {len(goes)} resources for good: {listed}.{kept}",
        before=_before(stack),
    )


def _before(stack: Stack | None) -> str:
    return f"{stack.status} {stack.updated_at}" if stack else ""


async def _declared(ros: Ros, given: Given, template: Template | None) -> dict[str, Declared]:
    """The parameters that a template declares, by what it says itself and by what ROS reads in it."""
    if template is None:
        return {}
    try:
        told = {one.name: one for one in await ros.validate(given.region, template.text)}
    except RefusedError as refusal:
        why = Shown(list(given.parameters.values())).text(str(refusal))
        text = f"ROS does not accept the template {template.name}. {why} Please send a corrected one."
        raise Ends(InputRequired(text)) from None
    own = template.declared
    for name, one in own.items():
        seen = told.get(name)
        told[name] = (
            one
            if seen is None
            else Declared(name, one.required, one.no_echo or seen.no_echo, one.description)
        )
    return told


async def _constraints(ros: Ros, change: Change, stack_id: str | None) -> Mapping[str, Constraint]:
    try:
        told = await ros.constraints(change, stack_id)
    except RosError:
        return {}
    return {one.name: one for one in told if one.allowed}


def _ask_for_missing(
    given: Given,
    declared: Mapping[str, Declared],
    wanted: Mapping[str, str],
    constraints: Mapping[str, Constraint],
) -> None:
    """Raises Ends with a question for every parameter that has no value and needs one."""
    there = given.stack.parameters if given.stack else ()
    missing = [
        one for one in declared.values() if one.required and one.name not in wanted and one.name not in there
    ]
    if not missing:
        return
    lines = []
    for one in missing:
        allowed = constraints[one.name].allowed if one.name in constraints else ()
        among = f" (one of {', '.join(allowed[:MOST_VALUES])}{', …' if len(allowed) > MOST_VALUES else ''})"
        secret = " (is not echoed)" if is_secret(one.name, one) else ""
        about = f": {one.description}" if one.description else ""
        lines.append(f"- {one.name}{among if allowed else ''}{secret}{about}")
    data = {
        "missing": [
            {
                "parameter": one.name,
                "allowed": list(constraints[one.name].allowed) if one.name in constraints else [],
            }
            for one in missing
        ]
    }
    text = 'Please give these parameters, as NAME=VALUE or as a data part {"parameters": {…}}:\n' + "\n".join(
        lines
    )
    raise Ends(InputRequired(text, [Part(data=data)]))


def _made(given: Given, template: Template | None) -> str:
    """What the change makes, in a sentence."""
    listed = _listed([f"{name} ({kind})" for name, kind in (template.resources if template else {}).items()])
    match given.action:
        case Action.CREATE:
            many = len(template.resources) if template else 0
            made = f"Creates {many} {'resource' if many == 1 else 'resources'}: {listed}." if listed else ""
            return f"{made} What fails is kept, not rolled back.".strip()
        case Action.CONTINUE:
            return "Creates what failed and what is still missing; what was created stays."
        case _:
            return (
                "Changes, replaces or removes what differs from the template: " + (listed or "unknown") + "."
            )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_RESOURCES
    return ", ".join(names[:MOST_RESOURCES]) + (f" and {more} more" if more > 0 else "")


def _left_out(said: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    names = [name for name in said if name not in wanted]
    return [f"Not in the template, and left out: {', '.join(names)}."] if names else []


def _outside(
    wanted: Mapping[str, str], secrets: Sequence[str], constraints: Mapping[str, Constraint]
) -> list[str]:
    """Values that ROS does not offer, which may have become scarce meanwhile, or be wrong."""
    return [
        f"{name}={wanted[name]} is not among what ROS offers: {', '.join(told.allowed[:MOST_VALUES])}."
        for name, told in constraints.items()
        if name in wanted and name not in secrets and wanted[name] not in told.allowed
    ]


async def _price(ros: Ros, change: Change, stack_id: str | None) -> str:
    """The price estimate in a sentence."""
    try:
        prices = await ros.estimate(change, stack_id)
    except RosError:
        return "ROS gives no price estimate."
    return estimate(prices)


def estimate(prices: Sequence[Price]) -> str:
    """Prices in a sentence: the sums by currency and unit, then what has no price."""
    sums: dict[tuple[str, str], float] = {}
    for price in prices:
        if price.amount is not None:
            unit = (price.currency, price.unit)
            sums[unit] = sums.get(unit, 0.0) + price.amount
    if not sums:
        return "ROS gives no price estimate."
    told = " + ".join(
        f"{amount:.4f}".rstrip("0").rstrip(".") + f" {currency}".rstrip() + (f"/{unit}" if unit else "")
        for (currency, unit), amount in sorted(sums.items())
    )
    silent = [price.resource for price in prices if price.amount is None]
    return f"Price estimate: {told}." + (f" Without a price: {_listed(silent)}." if silent else "")


WORDS = {
    Action.CREATE: ("ros.create_stack", "Create the ROS stack {} in {}?"),
    Action.UPDATE: ("ros.update_stack", "Update the ROS stack {} in {}?"),
    Action.CONTINUE: ("ros.continue_create_stack", "Continue creating the ROS stack {} in {}?"),
    Action.DELETE: ("ros.delete_stack", "Delete the ROS stack {} in {}?"),
}
"""By what a change is called, and how its question begins."""


def permission(plan: Plan) -> Permission:
    """The question for permission to carry a plan out. It names secret parameters and shows none."""
    tool, title = WORDS[plan.action]
    arguments: dict[str, object] = {"regionId": plan.region, "stackName": plan.stack}
    if plan.stack_id:
        arguments["stackId"] = plan.stack_id
    if plan.digest:
        name = plan.template or "the stack's own"
        arguments["template"] = {"name": name, "sha256": plan.digest, "bytes": plan.template_bytes}
    if plan.action is Action.DELETE:
        arguments["retainResources"] = list(plan.retain)
    else:
        arguments["parameters"] = dict(plan.parameters)
        arguments["secretParameters"] = list(plan.secrets)
    if plan.action is Action.CREATE:
        arguments["disableRollback"] = True
        arguments["timeoutInMinutes"] = plan.timeout_minutes
    return Permission(
        tool=tool,
        title=title.format(plan.stack, plan.region),
        purpose=f"Asked for in this task: {plan.action.value} stack {plan.stack}.",
        effect=plan.effect,
        target=f"{plan.region}/{plan.stack}",
        arguments=arguments,
    )
