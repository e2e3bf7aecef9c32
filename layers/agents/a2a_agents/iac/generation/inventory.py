"""The rule of inventory: what a zone may run out of is a parameter that the console can offer values for.

A zone, an instance type, an image or a disk category written into a ROS template works on the day it was
written. As a parameter with an AssociationProperty it can be chosen from what there is.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from a2a_agents.iac.generation.problems import Problem, Weight
from a2a_agents.iac.operations.template import Template

ASSOCIATIONS = {
    "ZoneId": "ALIYUN::ECS::ZoneId",
    "ZoneIds": "ALIYUN::ECS::ZoneId",
    "MasterZoneId": "ALIYUN::ECS::ZoneId",
    "SlaveZoneId": "ALIYUN::ECS::ZoneId",
    "ZoneIdSlave1": "ALIYUN::ECS::ZoneId",
    "ZoneIdSlave2": "ALIYUN::ECS::ZoneId",
    "SecondaryZoneId": "ALIYUN::ECS::ZoneId",
    "InstanceType": "ALIYUN::ECS::Instance::InstanceType",
    "InstanceTypes": "ALIYUN::ECS::Instance::InstanceType",
    "ImageId": "ALIYUN::ECS::Image::ImageId",
    "SystemDiskCategory": "ALIYUN::ECS::Disk::SystemDiskCategory",
    "WorkerSystemDiskCategory": "ALIYUN::ECS::Disk::SystemDiskCategory",
    "DiskCategory": "ALIYUN::ECS::Disk::DataDiskCategory",
    "DBInstanceClass": "ALIYUN::RDS::Instance::InstanceType",
    "DBNodeClass": "the product's own",
    "InstanceClass": "the product's own",
}
"""Properties that depend on the inventory, and what a parameter for them is associated with."""

MOST_DEPTH = 20


def unassociated(template: Template) -> Iterator[Problem]:
    """What in a template breaks the rule."""
    parameters = template.content.get("Parameters")
    declared = parameters if isinstance(parameters, Mapping) else {}
    resources = template.content.get("Resources")
    for name, resource in (resources if isinstance(resources, Mapping) else {}).items():
        if isinstance(resource, Mapping) and str(resource.get("Type", "")).startswith("ALIYUN::"):
            yield from _within(
                template, declared, resource.get("Properties"), f"Resources.{name}.Properties", 0
            )


def _within(
    template: Template, declared: Mapping[str, Any], value: object, path: str, depth: int
) -> Iterator[Problem]:
    if depth > MOST_DEPTH:
        return
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _within(template, declared, item, f"{path}[{number}]", depth + 1)
    if not isinstance(value, Mapping):
        return
    for key, item in value.items():
        if key in ASSOCIATIONS:
            yield from _property(template, declared, str(key), item, f"{path}.{key}")
        elif not str(key).startswith(("Fn::", "Ref")):
            yield from _within(template, declared, item, f"{path}.{key}", depth + 1)


def _property(
    template: Template, declared: Mapping[str, Any], key: str, value: object, path: str
) -> Iterator[Problem]:
    wanted = ASSOCIATIONS[key]
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str | int | float):
            yield Problem(
                template.name,
                f"{path} is a fixed value: make it a parameter with an AssociationProperty ({wanted}).",
                Weight.ERROR,
                rule="inventory-parameter",
            )
        parameter = item.get("Ref") if isinstance(item, Mapping) else None
        told = declared.get(parameter) if isinstance(parameter, str) else None
        if isinstance(told, Mapping) and not told.get("AssociationProperty"):
            yield Problem(
                template.name,
                f"Parameters.{parameter}, for {path}, has no AssociationProperty; it should be {wanted}.",
                Weight.ERROR,
                rule="inventory-association",
            )
