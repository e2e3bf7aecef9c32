"""Disks and databases that are not encrypted."""

from collections.abc import Iterator
from typing import Final

from a2a_agents.iac.review.findings import Finding
from a2a_agents.iac.review.nodes import Mapping, at_path, is_false
from a2a_agents.iac.review.resources import Resource
from a2a_agents.iac.review.rules import UNENCRYPTED_DATABASE, UNENCRYPTED_DISK

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
