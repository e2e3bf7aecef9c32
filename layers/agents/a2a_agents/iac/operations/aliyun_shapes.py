"""What ROS answers, as JSON, in the words of `ros`. What is missing is taken for what that means."""

import json
from collections.abc import Mapping
from typing import Any

from a2a_agents.iac.operations.ros import (
    Constraint,
    Declared,
    Output,
    Price,
    Stack,
    StackEvent,
    StackResource,
)


def text(found: Mapping[str, Any], name: str) -> str:
    """A member as text; JSON where it is none."""
    value = found.get(name)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def stack(found: Mapping[str, Any], region: str) -> Stack:
    """A stack."""
    progress = found.get("ResourceProgress")
    percentage = progress.get("StackActionProgress") if isinstance(progress, Mapping) else None
    return Stack(
        stack_id=text(found, "StackId"),
        name=text(found, "StackName"),
        region=text(found, "RegionId") or region,
        status=text(found, "Status"),
        reason=text(found, "StatusReason"),
        updated_at=text(found, "UpdateTime") or text(found, "CreateTime"),
        outputs=tuple(
            Output(text(one, "OutputKey"), one.get("OutputValue"), text(one, "Description"))
            for one in found.get("Outputs") or ()
        ),
        parameters=tuple(text(one, "ParameterKey") for one in found.get("Parameters") or ()),
        progress=float(percentage) if isinstance(percentage, int | float) else None,
    )


def event(found: Mapping[str, Any]) -> StackEvent:
    """An event."""
    return StackEvent(
        event_id=text(found, "EventId"),
        at=text(found, "CreateTime"),
        resource=text(found, "LogicalResourceId"),
        resource_type=text(found, "ResourceType"),
        status=text(found, "Status"),
        reason=text(found, "StatusReason"),
    )


def resource(found: Mapping[str, Any]) -> StackResource:
    """A resource."""
    return StackResource(
        name=text(found, "LogicalResourceId"),
        resource_type=text(found, "ResourceType"),
        status=text(found, "Status"),
        reason=text(found, "StatusReason"),
        physical_id=text(found, "PhysicalResourceId"),
    )


def constraint(found: Mapping[str, Any]) -> Constraint:
    """What a parameter may be."""
    return Constraint(text(found, "ParameterKey"), tuple(map(str, found.get("AllowedValues") or ())))


def declared(found: Mapping[str, Any]) -> Declared:
    """A declared parameter."""
    return Declared(
        name=text(found, "ParameterKey"),
        required="Default" not in found or found["Default"] is None,
        no_echo=text(found, "NoEcho").lower() == "true",
        description=text(found, "Description"),
    )


def price(name: str, told: object) -> Price:
    """One resource's price, which the service tells in one of a few shapes."""
    if not isinstance(told, Mapping):
        return Price(name, problem="no price")
    result = told.get("Result")
    order = result.get("Order") if isinstance(result, Mapping) else None
    amount = order.get("TradeAmount") if isinstance(order, Mapping) else None
    if not isinstance(order, Mapping) or not isinstance(amount, int | float):
        return Price(name, problem=text(told, "Message") or "no price")
    supplement = result.get("OrderSupplement") if isinstance(result, Mapping) else None
    unit = text(supplement, "PriceUnit") if isinstance(supplement, Mapping) else ""
    return Price(name, float(amount), text(order, "Currency"), unit)
