"""What keeps data: who may read it, whether it is encrypted, and whether it survives a mistake."""

from collections.abc import Iterator
from collections.abc import Mapping as Map
from typing import Final

from a2a_agents.iac.review.findings import Edit, Finding, Kind, Severity
from a2a_agents.iac.review.modules import Module
from a2a_agents.iac.review.nodes import Expression, Mapping, at_path, is_false, is_true, walk
from a2a_agents.iac.review.resources import Resource
from a2a_agents.iac.review.rules import (
    NO_BACKUP,
    NO_DELETION_POLICY,
    NO_DELETION_PROTECTION,
    PUBLIC_ALLOWED,
    PUBLIC_BUCKET,
    UNENCRYPTED_BUCKET,
    UNENCRYPTED_DATABASE,
    UNENCRYPTED_DISK,
)
from a2a_agents.iac.review.writing import added, added_to_block

PUBLIC: Final = frozenset(
    {
        "publicread",
        "publicreadwrite",
        "public-read",
        "public-read-write",
        "authenticated-read",
        "authenticatedread",
        "allusers",
        "allauthenticatedusers",
        "blob",
        "container",
    }
)
ACCESS_CONTROL: Final = {
    "AWS::S3::Bucket": "AccessControl",
    "ALIYUN::OSS::Bucket": "AccessControl",
    "aws_s3_bucket": "acl",
    "aws_s3_bucket_acl": "acl",
    "alicloud_oss_bucket": "acl",
    "alicloud_oss_bucket_acl": "acl",
    "google_storage_bucket_iam_member": "member",
    "google_storage_bucket_iam_binding": "members",
    "google_storage_bucket_access_control": "entity",
    "azurerm_storage_container": "container_access_type",
}
"""Where a resource says who may read a bucket."""


def public_buckets(resource: Resource) -> Iterator[Finding]:
    """Buckets that everybody may read."""
    path = ACCESS_CONTROL.get(resource.type)
    for node in at_path(resource.properties, path) if path else ():
        known = resource.known(node)
        if known is not None and str(known.value).lower() in PUBLIC:
            yield Finding(PUBLIC_BUCKET, node.at, f"{resource.called} is open: {known.value}.")


SWITCHES: Final = (
    "BlockPublicAcls",
    "BlockPublicPolicy",
    "IgnorePublicAcls",
    "RestrictPublicBuckets",
    "block_public_acls",
    "block_public_policy",
    "ignore_public_acls",
    "restrict_public_buckets",
)


def public_allowed(resource: Resource) -> Iterator[Finding]:
    """Buckets for which the block on public access is switched off."""
    if resource.type not in ("AWS::S3::Bucket", "aws_s3_bucket_public_access_block"):
        return
    configured = (*at_path(resource.properties, "PublicAccessBlockConfiguration"), resource.properties)
    for entry in (e for node in configured if isinstance(node, Mapping) for e in node.entries):
        if entry.name in SWITCHES and is_false(resource.known(entry.value)):
            yield Finding(PUBLIC_ALLOWED, entry.value.at, f"{resource.called} switches {entry.name} off.")


S3_LINES: Final = (
    "BucketEncryption:",
    "  ServerSideEncryptionConfiguration:",
    "    - ServerSideEncryptionByDefault:",
    "        SSEAlgorithm: AES256",
)
S3_JSON: Final = (
    '"BucketEncryption": {"ServerSideEncryptionConfiguration":'
    ' [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}'
)
OSS_LINES: Final = ("ServerSideEncryptionConfiguration:", "  SSEAlgorithm: AES256")
OSS_JSON: Final = '"ServerSideEncryptionConfiguration": {"SSEAlgorithm": "AES256"}'
OSS_BLOCK: Final = ("", "server_side_encryption_rule {", '  sse_algorithm = "AES256"', "}")


def unencrypted_buckets(resource: Resource) -> Iterator[Finding]:
    """Buckets of ROS and CloudFormation that do not say how they encrypt; Terraform's see `in_module`."""
    if resource.type == "AWS::S3::Bucket" and not resource.given("BucketEncryption"):
        edits = added(resource.properties, S3_LINES, S3_JSON) or _properties(resource, S3_LINES, S3_JSON)
        yield _unencrypted_bucket(resource, edits, Severity.NOTE)
    if resource.type == "ALIYUN::OSS::Bucket" and not resource.given("ServerSideEncryptionConfiguration"):
        yield _unencrypted_bucket(resource, added(resource.properties, OSS_LINES, OSS_JSON), None)


def _properties(resource: Resource, lines: tuple[str, ...], json: str) -> tuple[Edit, ...]:
    """Properties for a resource that has none."""
    if resource.whole.entry("Properties"):
        return ()
    indented = ("Properties:", *(f"  {line}" for line in lines))
    return added(resource.whole, indented, f'"Properties": {{{json}}}')


def _unencrypted_bucket(resource: Resource, edits: tuple[Edit, ...], lighter: Severity | None) -> Finding:
    itself = " S3 encrypts by itself, with keys of its own." if lighter else ""
    message = f"{resource.called} does not say how it encrypts.{itself}"
    return Finding(UNENCRYPTED_BUCKET, resource.at, message, edits, lighter)


def in_module(module: Module) -> Iterator[Finding]:
    """Terraform's buckets, whose encryption may be a resource of its own."""
    kinds = {
        "aws_s3_bucket": (
            ("server_side_encryption_configuration",),
            "aws_s3_bucket_server_side_encryption_configuration",
            Severity.NOTE,
        ),
        "alicloud_oss_bucket": (
            ("server_side_encryption_rule",),
            "alicloud_oss_bucket_server_side_encryption",
            None,
        ),
    }
    for type_, (paths, other, lighter) in kinds.items():
        configured = [resource for resource in module.resources if resource.type == other]
        for bucket in (resource for resource in module.resources if resource.type == type_):
            if not bucket.given(*paths) and not any(_may_mean(each, bucket) for each in configured):
                edits = added_to_block(bucket.whole, OSS_BLOCK) if lighter is None else ()
                yield _unencrypted_bucket(bucket, edits, lighter)


def _may_mean(configuration: Resource, bucket: Resource) -> bool:
    """Whether a configuration is for the bucket; if it does not say plainly, it may be."""
    value = configuration.properties.get("bucket")
    names = (
        [each.names for each in walk(value) if isinstance(each, Expression) and each.names] if value else []
    )
    direct = [each[1] for each in names if each[0] == bucket.type and len(each) > 1]
    return bucket.name in direct or not direct


DISK, DATABASE = UNENCRYPTED_DISK, UNENCRYPTED_DATABASE
ENCRYPTION: Final = {
    "AWS::EC2::Volume": (DISK, "Encrypted"),
    "AWS::EFS::FileSystem": (DISK, "Encrypted"),
    "AWS::RDS::DBInstance": (DATABASE, "StorageEncrypted"),
    "AWS::RDS::DBCluster": (DATABASE, "StorageEncrypted"),
    "AWS::DocDB::DBCluster": (DATABASE, "StorageEncrypted"),
    "AWS::Neptune::DBCluster": (DATABASE, "StorageEncrypted"),
    "AWS::Redshift::Cluster": (DATABASE, "Encrypted"),
    "AWS::ElastiCache::ReplicationGroup": (DATABASE, "AtRestEncryptionEnabled"),
    "AWS::OpenSearchService::Domain": (DATABASE, "EncryptionAtRestOptions.Enabled"),
    "AWS::Elasticsearch::Domain": (DATABASE, "EncryptionAtRestOptions.Enabled"),
    "ALIYUN::ECS::Disk": (DISK, "Encrypted"),
    "ALIYUN::NAS::FileSystem": (DISK, "EncryptType"),
    "ALIYUN::RDS::DBInstance": (DATABASE, "EncryptionKey|RoleARN"),
    "ALIYUN::MONGODB::Instance": (DATABASE, "TDEStatus"),
    "aws_ebs_volume": (DISK, "encrypted"),
    "aws_efs_file_system": (DISK, "encrypted"),
    "aws_db_instance": (DATABASE, "storage_encrypted"),
    "aws_rds_cluster": (DATABASE, "storage_encrypted"),
    "aws_docdb_cluster": (DATABASE, "storage_encrypted"),
    "aws_neptune_cluster": (DATABASE, "storage_encrypted"),
    "aws_redshift_cluster": (DATABASE, "encrypted"),
    "aws_elasticache_replication_group": (DATABASE, "at_rest_encryption_enabled"),
    "aws_opensearch_domain": (DATABASE, "encrypt_at_rest.enabled"),
    "aws_elasticsearch_domain": (DATABASE, "encrypt_at_rest.enabled"),
    "alicloud_disk": (DISK, "encrypted"),
    "alicloud_ecs_disk": (DISK, "encrypted"),
    "alicloud_nas_file_system": (DISK, "encrypt_type"),
    "alicloud_db_instance": (DATABASE, "encryption_key|tde_status"),
    "alicloud_mongodb_instance": (DATABASE, "tde_status"),
}
"""Where a resource says that it is encrypted, one way or the other; without it, it is not."""

DISKS_INSIDE: Final = {
    "AWS::EC2::Instance": (("BlockDeviceMappings", "Ebs"), "Encrypted"),
    "AWS::AutoScaling::LaunchConfiguration": (("BlockDeviceMappings", "Ebs"), "Encrypted"),
    "AWS::EC2::LaunchTemplate": (("LaunchTemplateData", "BlockDeviceMappings", "Ebs"), "Encrypted"),
    "ALIYUN::ECS::Instance": (("DiskMappings",), "Encrypted"),
    "ALIYUN::ECS::InstanceGroup": (("DiskMappings",), "Encrypted"),
    "aws_instance": (("ebs_block_device",), "encrypted"),
    "aws_launch_template": (("block_device_mappings", "ebs"), "encrypted"),
    "alicloud_instance": (("data_disks",), "encrypted"),
}
"""Disks that are described within another resource: each of them says it of itself."""

COPIES: Final = (
    "DBClusterIdentifier",
    "SourceDBInstanceIdentifier",
    "DBSnapshotIdentifier",
    "SnapshotIdentifier",
    "replicate_source_db",
    "snapshot_identifier",
    "snapshot_id",
    "SnapshotId",
)
"""What takes its encryption from elsewhere."""


def unencrypted(resource: Resource) -> Iterator[Finding]:
    """Disks and databases that are not encrypted."""
    rule, paths = ENCRYPTION.get(resource.type, (None, ""))
    if rule is not None and not any(resource.given(name) for name in COPIES):
        path = paths.partition("|")[0]
        nodes = [n for each in paths.split("|") for n in at_path(resource.properties, *each.split("."))]
        off = [node for node in nodes if is_false(resource.known(node))]
        if off or not nodes:
            at, how = (off[0].at, "off") if off else (resource.at, "not set")
            yield Finding(rule, at, f"{resource.called} is not encrypted: {path} is {how}.")
    where, switch = DISKS_INSIDE.get(resource.type, ((), ""))
    for disk in at_path(resource.properties, *where) if where else ():
        if isinstance(disk, Mapping) and not any(disk.entry(name) for name in (*COPIES, "Ref")):
            value = disk.get(switch)
            if value is None or is_false(resource.known(value)):
                at = disk.at if value is None else value.at
                yield Finding(UNENCRYPTED_DISK, at, f"A disk of {resource.called} is not encrypted.")


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
