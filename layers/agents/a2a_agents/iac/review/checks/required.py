"""The properties that common resource types cannot be without."""

from collections.abc import Iterator
from collections.abc import Mapping as Map
from typing import Final

from a2a_agents.iac.review.findings import Finding, Kind
from a2a_agents.iac.review.nodes import Mapping
from a2a_agents.iac.review.resources import Resource
from a2a_agents.iac.review.rules import MISSING_PROPERTY

REQUIRED: Final[Map[str, tuple[str, ...]]] = {
    # Alibaba Cloud, in ROS
    "ALIYUN::ECS::VSwitch": ("VpcId", "ZoneId", "CidrBlock"),
    "ALIYUN::ECS::SecurityGroupIngress": ("IpProtocol", "PortRange"),
    "ALIYUN::ECS::SecurityGroupEgress": ("IpProtocol", "PortRange"),
    "ALIYUN::ECS::Disk": ("ZoneId",),
    "ALIYUN::ECS::DiskAttachment": ("DiskId", "InstanceId"),
    "ALIYUN::ECS::InstanceGroup": ("MaxAmount",),
    "ALIYUN::OSS::Bucket": ("BucketName",),
    "ALIYUN::RDS::DBInstance": (
        "Engine",
        "EngineVersion",
        "DBInstanceClass",
        "DBInstanceStorage",
        "SecurityIPList",
    ),
    "ALIYUN::SLB::Listener": ("LoadBalancerId", "ListenerPort", "Protocol"),
    "ALIYUN::VPC::EIPAssociation": ("AllocationId", "InstanceId"),
    "ALIYUN::VPC::NatGateway": ("VpcId",),
    "ALIYUN::RAM::Role": ("RoleName", "AssumeRolePolicyDocument"),
    "ALIYUN::RAM::User": ("UserName",),
    "ALIYUN::RAM::ManagedPolicy": ("PolicyName",),
    "ALIYUN::FC::Service": ("ServiceName",),
    "ALIYUN::FC::Function": ("FunctionName", "ServiceName", "Handler", "Runtime"),
    "ALIYUN::ESS::ScalingGroup": ("MaxSize", "MinSize"),
    "ALIYUN::ESS::ScalingConfiguration": ("ScalingGroupId",),
    "ALIYUN::ROS::WaitCondition": ("Handle", "Timeout"),
    # Amazon, in CloudFormation
    "AWS::EC2::Subnet": ("VpcId",),
    "AWS::EC2::RouteTable": ("VpcId",),
    "AWS::EC2::Route": ("RouteTableId",),
    "AWS::EC2::SubnetRouteTableAssociation": ("RouteTableId", "SubnetId"),
    "AWS::EC2::SecurityGroup": ("GroupDescription",),
    "AWS::EC2::SecurityGroupIngress": ("IpProtocol",),
    "AWS::EC2::Volume": ("AvailabilityZone",),
    "AWS::IAM::Role": ("AssumeRolePolicyDocument",),
    "AWS::IAM::Policy": ("PolicyDocument", "PolicyName"),
    "AWS::IAM::ManagedPolicy": ("PolicyDocument",),
    "AWS::IAM::InstanceProfile": ("Roles",),
    "AWS::Lambda::Function": ("Code", "Role"),
    "AWS::Lambda::Permission": ("Action", "FunctionName", "Principal"),
    "AWS::DynamoDB::Table": ("KeySchema",),
    "AWS::S3::BucketPolicy": ("Bucket", "PolicyDocument"),
    "AWS::SNS::Subscription": ("Protocol", "TopicArn"),
    "AWS::ElasticLoadBalancingV2::Listener": ("DefaultActions", "LoadBalancerArn"),
    "AWS::Logs::SubscriptionFilter": ("DestinationArn", "FilterPattern", "LogGroupName"),
    # in Terraform
    "aws_subnet": ("vpc_id",),
    "aws_route_table": ("vpc_id",),
    "aws_route": ("route_table_id",),
    "aws_security_group_rule": ("type", "from_port", "to_port", "protocol", "security_group_id"),
    "aws_iam_role": ("assume_role_policy",),
    "aws_iam_policy": ("policy",),
    "aws_iam_role_policy": ("policy", "role"),
    "aws_iam_role_policy_attachment": ("policy_arn", "role"),
    "aws_lambda_function": ("function_name", "role"),
    "aws_s3_bucket_policy": ("bucket", "policy"),
    "aws_s3_bucket_versioning": ("bucket", "versioning_configuration"),
    "aws_lb_listener": ("default_action", "load_balancer_arn"),
    "aws_ebs_volume": ("availability_zone",),
    "aws_dynamodb_table": ("name",),
    "aws_db_subnet_group": ("subnet_ids",),
    "aws_db_instance": ("instance_class",),
    "alicloud_vswitch": ("vpc_id", "cidr_block"),
    "alicloud_security_group_rule": ("type", "ip_protocol", "security_group_id"),
    "alicloud_instance": ("security_groups",),
    "alicloud_db_instance": ("engine", "engine_version", "instance_type", "instance_storage"),
    "google_compute_instance": ("boot_disk", "machine_type", "name", "network_interface"),
    "google_compute_firewall": ("name", "network"),
    "google_storage_bucket": ("location", "name"),
    "azurerm_resource_group": ("location", "name"),
    "azurerm_storage_account": (
        "account_replication_type",
        "account_tier",
        "location",
        "name",
        "resource_group_name",
    ),
}
"""By resource type, in the order of its documentation."""

COPIED_WHOLE: Final = ("Fn::If", "Fn::Transform", "Ref", "Fn::FindInMap")
"""What stands in the place of the properties and hides them."""


def missing_properties(resource: Resource) -> Iterator[Finding]:
    """Required properties that a resource does not have."""
    given = resource.whole.get("Properties") if resource.kind is not Kind.TERRAFORM else resource.whole
    if isinstance(given, Mapping) and any(given.entry(name) for name in COPIED_WHOLE):
        return
    names = {entry.name for entry in resource.properties.entries}
    missing = [name for name in REQUIRED.get(resource.type, ()) if name not in names]
    if missing:
        message = f"{resource.called} lacks {', '.join(missing)}."
        yield Finding(MISSING_PROPERTY, resource.at, message)
