"""What holds data, and whether it survives a mistake: policies, protection, backups."""

from collections.abc import Iterator
from collections.abc import Mapping as Map
from typing import Final

from a2a_agents.iac.review.findings import Finding, Kind, Severity
from a2a_agents.iac.review.nodes import is_false, is_true
from a2a_agents.iac.review.resources import Resource
from a2a_agents.iac.review.rules import NO_BACKUP, NO_DELETION_POLICY, NO_DELETION_PROTECTION
from a2a_agents.iac.review.writing import added, added_to_block

KEEPS: Final = frozenset(
    {
        "AWS::S3::Bucket",
        "AWS::DynamoDB::Table",
        "AWS::DynamoDB::GlobalTable",
        "AWS::EFS::FileSystem",
        "AWS::EC2::Volume",
        "AWS::Redshift::Cluster",
        "AWS::DocDB::DBCluster",
        "AWS::Neptune::DBCluster",
        "AWS::OpenSearchService::Domain",
        "AWS::Elasticsearch::Domain",
        "AWS::Cognito::UserPool",
        "AWS::KMS::Key",
        "ALIYUN::OSS::Bucket",
        "ALIYUN::RDS::DBInstance",
        "ALIYUN::POLARDB::DBCluster",
        "ALIYUN::MONGODB::Instance",
        "ALIYUN::REDIS::Instance",
        "ALIYUN::ECS::Disk",
        "ALIYUN::NAS::FileSystem",
        "ALIYUN::ElasticSearch::Instance",
        "aws_dynamodb_table",
        "aws_db_instance",
        "aws_rds_cluster",
        "aws_efs_file_system",
        "aws_redshift_cluster",
        "aws_docdb_cluster",
        "aws_cognito_user_pool",
        "alicloud_oss_bucket",
        "alicloud_db_instance",
        "alicloud_polardb_cluster",
        "alicloud_mongodb_instance",
        "alicloud_nas_file_system",
        "google_sql_database_instance",
    }
)
"""Resources that hold data and go with it. RDS in CloudFormation leaves a snapshot by itself."""

EMPTY_ONLY: Final = ("AWS::S3::Bucket", "ALIYUN::OSS::Bucket", "alicloud_oss_bucket")
"""What cannot be removed before it is empty, unless it is forced."""

PREVENTED: Final = ("", "lifecycle {", "  prevent_destroy = true", "}")
RETAINED: Final = {
    Kind.CLOUDFORMATION: (
        ("DeletionPolicy: Retain", "UpdateReplacePolicy: Retain"),
        '"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"',
    ),
    Kind.ROS: (("DeletionPolicy: Retain",), '"DeletionPolicy": "Retain"'),
}


def no_deletion_policy(resource: Resource) -> Iterator[Finding]:
    """Resources that hold data and go with their stack."""
    if resource.type not in KEEPS:
        return
    light = resource.kind is Kind.TERRAFORM or resource.type in EMPTY_ONLY
    lighter = Severity.NOTE if light and not _forced(resource) else None
    message = f"{resource.called} goes, with what it holds, when it is removed from the stack."
    if resource.kind is Kind.TERRAFORM:
        if not resource.given("lifecycle", "prevent_destroy"):
            own = resource.whole.entry("lifecycle") is not None
            edits = () if own else added_to_block(resource.whole, PREVENTED)
            yield Finding(NO_DELETION_POLICY, resource.at, message, edits, lighter)
    elif resource.whole.entry("DeletionPolicy") is None:
        edits = added(resource.whole, *RETAINED[resource.kind])
        yield Finding(NO_DELETION_POLICY, resource.at, message, edits, lighter)


def _forced(resource: Resource) -> bool:
    """Whether a bucket is emptied to be removed."""
    named = ("DeletionForce", "force_destroy")
    return any(is_true(resource.known(resource.properties.get(name))) for name in named)


PROTECTION: Final[Map[str, str]] = {
    "AWS::RDS::DBInstance": "DeletionProtection",
    "AWS::RDS::DBCluster": "DeletionProtection",
    "AWS::DynamoDB::Table": "DeletionProtectionEnabled",
    "AWS::DocDB::DBCluster": "DeletionProtection",
    "AWS::Neptune::DBCluster": "DeletionProtection",
    "AWS::Cognito::UserPool": "DeletionProtection",
    "ALIYUN::RDS::DBInstance": "DeletionProtection",
    "ALIYUN::POLARDB::DBCluster": "DeletionProtection",
    "ALIYUN::SLB::LoadBalancer": "DeletionProtection",
    "aws_db_instance": "deletion_protection",
    "aws_rds_cluster": "deletion_protection",
    "aws_docdb_cluster": "deletion_protection",
    "aws_dynamodb_table": "deletion_protection_enabled",
    "aws_lb": "enable_deletion_protection",
    "alicloud_db_instance": "deletion_protection",
    "alicloud_polardb_cluster": "deletion_lock",
    "alicloud_slb_load_balancer": "delete_protection",
}
IN_CLUSTER: Final = ("DBClusterIdentifier",)


def no_deletion_protection(resource: Resource) -> Iterator[Finding]:
    """Databases and load balancers that one call deletes."""
    name = PROTECTION.get(resource.type)
    if name is None or any(resource.given(each) for each in IN_CLUSTER):
        return
    value = resource.properties.get(name)
    if value is None or is_false(resource.known(value)):
        at, how = (resource.at, "not set") if value is None else (value.at, "off")
        yield Finding(NO_DELETION_PROTECTION, at, f"{resource.called} can be deleted: {name} is {how}.")


BACKUPS: Final[Map[str, str]] = {
    "AWS::RDS::DBInstance": "BackupRetentionPeriod",
    "AWS::RDS::DBCluster": "BackupRetentionPeriod",
    "aws_db_instance": "backup_retention_period",
}
OFF_UNLESS_SET: Final = ("aws_db_instance",)


def no_backup(resource: Resource) -> Iterator[Finding]:
    """Databases without backups."""
    name = BACKUPS.get(resource.type)
    if name is None or resource.given("replicate_source_db") or resource.given("SourceDBInstanceIdentifier"):
        return
    value = resource.properties.get(name)
    known = resource.known(value)
    if known is not None and str(known.value) == "0":
        yield Finding(NO_BACKUP, (value or known).at, f"{resource.called} keeps no backups.")
    elif value is None and resource.type in OFF_UNLESS_SET:
        yield Finding(NO_BACKUP, resource.at, f"{resource.called} keeps no backups: {name} is not set.")
