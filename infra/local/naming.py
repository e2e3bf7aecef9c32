"""What the remembered resources are called: names chosen before anything exists, and the ARNs that follow.

Functions start while moto is still being imported, so their environment cannot wait for CloudFormation to
make up names. Pure; knows the resource types of `infra/state.yaml`.
"""

from collections.abc import Mapping
from typing import Any, Final

from infra.local.deployment import ACCOUNT, REGION, STACK
from infra.local.intrinsics import Scope, Template, UnresolvableError

NAME_PROPERTY: Final = {
    "AWS::DynamoDB::Table": "TableName",
    "AWS::KMS::Alias": "AliasName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::SQS::Queue": "QueueName",
}
"""How a remembered resource is given a name of its own."""

ARN: Final = {
    "AWS::DynamoDB::Table": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{{}}",
    "AWS::KMS::Alias": f"arn:aws:kms:{REGION}:{ACCOUNT}:{{}}",
    "AWS::S3::Bucket": "arn:aws:s3:::{}",
    "AWS::SQS::Queue": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{{}}",
}
KEY: Final = "AWS::KMS::Key"
ALIAS: Final = "AWS::KMS::Alias"
QUEUE: Final = "AWS::SQS::Queue"

ATTRIBUTES: Final = {"Arn": "", "StreamArn": "/stream/local"}
"""How an attribute goes on from the ARN."""


def present(template: Template, scope: Scope) -> dict[str, Any]:
    """Leave out the resources and outputs whose condition does not hold; moto asks only the resources'."""
    kept = {
        section: {
            name: declared
            for name, declared in template.get(section, {}).items()
            if "Condition" not in declared or scope.holds(declared["Condition"])
        }
        for section in ("Resources", "Outputs")
    }
    return {**template, **kept}


def named(template: Template) -> dict[str, Any]:
    """Give tables, buckets and queues the physical name that CloudFormation would make up."""
    resources = {}
    for logical_id, declared in template["Resources"].items():
        property_name = NAME_PROPERTY.get(declared["Type"])
        properties = declared.get("Properties", {})
        if property_name is not None:
            properties = {property_name: f"{STACK}-{logical_id}".lower(), **properties}
        resources[logical_id] = {**declared, "Properties": properties}
    return {**template, "Resources": resources}


class Remembered:
    """A nested template whose resources have their names, and what references to them give."""

    def __init__(self, template: Template, values: Mapping[str, object]) -> None:
        whole = Scope(template, values, self._reference, self._attribute)
        self.template = named(present(template, whole))
        self._scope = Scope(self.template, values, self._reference, self._attribute)

    def outputs(self) -> dict[str, object]:
        """Return what the nested stack tells of itself."""
        return {name: self._scope.resolve(item["Value"]) for name, item in self.template["Outputs"].items()}

    def _name(self, logical_id: str) -> str:
        declared = self.template["Resources"][logical_id]
        return str(self._scope.resolve(declared["Properties"][NAME_PROPERTY[declared["Type"]]]))

    def _reference(self, logical_id: str) -> str:
        kind = self.template["Resources"][logical_id]["Type"]
        if kind == QUEUE:
            return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{self._name(logical_id)}"
        return self._name(logical_id)

    def _attribute(self, logical_id: str, attribute: str) -> str:
        kind = self.template["Resources"][logical_id]["Type"]
        if kind == KEY:
            return self._attribute(self._alias_of(logical_id), attribute)
        arn = ARN[kind].format(self._name(logical_id))
        if attribute not in ATTRIBUTES:
            raise UnresolvableError(f"attribute {attribute} of {logical_id}")
        return arn + ATTRIBUTES[attribute]

    def _alias_of(self, key: str) -> str:
        """Moto makes up a key's own identifier; its alias means the same to whoever uses the key."""
        for logical_id, declared in self.template["Resources"].items():
            if declared["Type"] == ALIAS and declared["Properties"]["TargetKeyId"] == {"Ref": key}:
                return str(logical_id)
        raise UnresolvableError(f"key {key}, which has no alias")
