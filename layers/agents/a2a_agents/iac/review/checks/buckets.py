"""Buckets: who may read them, and whether they say how they encrypt."""

from collections.abc import Iterator
from typing import Final

from a2a_agents.iac.review.findings import Edit, Finding, Severity
from a2a_agents.iac.review.modules import Module
from a2a_agents.iac.review.nodes import Expression, Mapping, at_path, is_false, walk
from a2a_agents.iac.review.resources import Resource
from a2a_agents.iac.review.rules import PUBLIC_ALLOWED, PUBLIC_BUCKET, UNENCRYPTED_BUCKET
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
