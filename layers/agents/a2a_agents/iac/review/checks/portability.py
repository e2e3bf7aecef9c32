"""What ties a template to one place or one time: zones, ids, and versions that have had their day."""

import re
from collections.abc import Iterator
from typing import Final

from a2a_agents.iac.review.documents import Document
from a2a_agents.iac.review.findings import Finding, Kind, Severity
from a2a_agents.iac.review.modules import Module, string
from a2a_agents.iac.review.nodes import Entry, Mapping, Scalar, at_path, scalar_at, walk
from a2a_agents.iac.review.resources import Resource
from a2a_agents.iac.review.rules import FIXED_ID, FIXED_PLACE, OUTDATED
from a2a_agents.iac.review.source import Span

ZONE: Final = re.compile(r"[a-z]{2}(?:-[a-z]+){1,2}-?\d?-?[a-z]|[a-z]+-[a-z]+\d-[a-z]")
ZONE_KEYS: Final = frozenset(
    {
        "AvailabilityZone",
        "AvailabilityZones",
        "ZoneId",
        "ZoneIds",
        "MasterZoneId",
        "SlaveZoneId",
        "availability_zone",
        "availability_zones",
        "zone_id",
        "zone",
        "master_zone_id",
        "slave_zone_id",
    }
)
IMAGE: Final = re.compile(r"ami-[0-9a-f]{8}(?:[0-9a-f]{9})?|m-[0-9a-z]{18,22}|[a-z]+_\d[\w.]*_\w*\.vhd")
IMAGE_KEYS: Final = frozenset({"ImageId", "image_id", "ami"})
TYPE_KEYS: Final = frozenset(
    {"InstanceType", "InstanceTypes", "DBInstanceClass", "InstanceClass", "instance_type", "instance_class"}
)
ALIBABA_TYPE: Final = re.compile(r"(?:ecs|rds|mysql|pg|polar|redis|dds)\.[\w.]+")

FIXED_IDS: Final = re.compile(
    r"(?:i|vpc|subnet|sg|rtb|igw|eni|vol|snap|eipalloc|nat|acl|vpce|tgw|pcx|lt|fs)-[0-9a-f]{8}(?:[0-9a-f]{9})?"
    r"|(?:i|vpc|vsw|sg|eip|ngw|lb|alb|rm|r|d|eni|vtb|acl|cen|nas|rg)-(?=[a-z]*\d)[0-9a-z]{12,24}"
)
ACCOUNT: Final = re.compile(
    r"arn:aws[a-z-]{0,10}:[a-z0-9-]{1,30}:[a-z0-9-]{0,20}:(\d{12}):|acs:[a-z0-9-]{1,20}:[^:\s]{0,30}:(\d{16}):"
)


def fixed_choices(resource: Resource) -> Iterator[Finding]:
    """Zones, images, instance types and ids that stand in a resource as they are."""
    for node in walk(resource.properties):
        for entry in node.entries if isinstance(node, Mapping) else ():
            yield from _entry(resource, entry)


def _entry(resource: Resource, entry: Entry) -> Iterator[Finding]:
    for value in at_path(entry.value):
        text = string(value) if isinstance(value, Scalar) else None
        if text is None or len(text) > MOST_TEXT:
            continue
        what = _fixed(resource, entry.name, text)
        if what:
            yield Finding(FIXED_PLACE, value.at, f"{entry.name} of {resource.called} is a fixed {what}.")
        elif FIXED_IDS.fullmatch(text):
            yield Finding(
                FIXED_ID, value.at, f"{entry.name} of {resource.called} is the id of one that exists."
            )
        else:
            account = ACCOUNT.search(text)
            if account:
                message = f"{entry.name} of {resource.called} names one account."
                yield Finding(FIXED_ID, value.at, message)


MOST_TEXT: Final = 2048


def _fixed(resource: Resource, name: str, text: str) -> str | None:
    if name in ZONE_KEYS and ZONE.fullmatch(text):
        return "zone"
    if name in IMAGE_KEYS and IMAGE.fullmatch(text):
        return "image"
    alibaba = resource.kind is Kind.ROS or resource.type.startswith("alicloud")
    if alibaba and name in TYPE_KEYS and ALIBABA_TYPE.fullmatch(text):
        return "instance type"
    return None


OLD_RUNTIMES: Final = re.compile(
    r"python(?:2\.7|3\.[6-9])|nodejs(?:|4\.3|4\.3-edge|6\.10|8\.10|10\.x|12\.x|14\.x|16\.x|18\.x|20\.x)"
    r"|java8|go1\.x|ruby2\.[57]|ruby3\.2|dotnetcore[123]\.\d|dotnet[567]|provided"
    r"|nodejs(?:6|8|10|12|14)|python3"
)
"""Runtimes of functions past their providers' end of support in 2026."""

RUNTIME_TYPES: Final = frozenset(
    {
        "AWS::Lambda::Function",
        "AWS::Serverless::Function",
        "ALIYUN::FC::Function",
        "aws_lambda_function",
        "alicloud_fc_function",
    }
)
OLD_ENGINES: Final = {
    "mysql": re.compile(r"5\.[1-7](?:\.\d+)?"),
    "mariadb": re.compile(r"10\.[0-5](?:\.\d+)?"),
    "postgres": re.compile(r"(?:9|10|11|12)(?:\.\d+){0,2}"),
    "postgresql": re.compile(r"(?:9|10|11|12)(?:\.\d+){0,2}"),
    "aurora-postgresql": re.compile(r"(?:9|10|11|12)(?:\.\d+){0,2}"),
    "redis": re.compile(r"[2-4]\.\d+(?:\.\d+)?"),
    "aurora": re.compile(r".*"),
    "aurora-mysql": re.compile(r"5\.[67].*"),
}
OLD_TLS: Final = frozenset(
    {
        "SSLv3",
        "TLSv1",
        "TLSv1_2016",
        "TLSv1.1_2016",
        "TLS_1_0",
        "TLS1_0",
        "TLS1_1",
        "ELBSecurityPolicy-2015-05",
        "ELBSecurityPolicy-TLS-1-0-2015-04",
        "ELBSecurityPolicy-2016-08",
    }
)
TLS_KEYS: Final = frozenset(
    {
        "MinimumProtocolVersion",
        "minimum_protocol_version",
        "SslPolicy",
        "ssl_policy",
        "min_tls_version",
        "SecurityPolicy",
    }
)
OLD_TYPES: Final = {
    "AWS::AutoScaling::LaunchConfiguration": "AWS::EC2::LaunchTemplate",
    "AWS::RDS::DBSecurityGroup": "security groups of a VPC",
    "AWS::ElasticLoadBalancing::LoadBalancer": "AWS::ElasticLoadBalancingV2::LoadBalancer",
    "AWS::Elasticsearch::Domain": "AWS::OpenSearchService::Domain",
    "ALIYUN::ECS::EIP": "ALIYUN::VPC::EIP",
    "ALIYUN::ECS::EIPAssociation": "ALIYUN::VPC::EIPAssociation",
    "aws_launch_configuration": "aws_launch_template",
    "aws_elb": "aws_lb",
    "aws_s3_bucket_object": "aws_s3_object",
    "aws_elasticsearch_domain": "aws_opensearch_domain",
    "template_file": "the function templatefile",
    "null_data_source": "locals",
    "alicloud_slb": "alicloud_slb_load_balancer",
    "alicloud_kms_secret": "alicloud_kms_instance",
}
"""Resource types that their providers have replaced, and by what."""


def outdated(resource: Resource) -> Iterator[Finding]:
    """Runtimes, engines, protocols and types of yesterday."""
    if resource.type in OLD_TYPES:
        message = f"{resource.called} is of a type that is replaced by {OLD_TYPES[resource.type]}."
        yield Finding(OUTDATED, resource.at, message, lighter=Severity.NOTE)
    if resource.type in RUNTIME_TYPES:
        for name in ("Runtime", "runtime"):
            for node in at_path(resource.properties, name):
                known = resource.known(node)
                if known is not None and OLD_RUNTIMES.fullmatch(str(known.value)):
                    yield Finding(
                        OUTDATED, node.at, f"The runtime {known.value} of {resource.called} has ended."
                    )
    yield from _engine(resource)
    for node in walk(resource.properties):
        for entry in node.entries if isinstance(node, Mapping) else ():
            known = resource.known(entry.value)
            if entry.name in TLS_KEYS and known is not None and str(known.value) in OLD_TLS:
                yield Finding(OUTDATED, entry.value.at, f"{resource.called} takes TLS older than 1.2.")


def _engine(resource: Resource) -> Iterator[Finding]:
    for engine, version in (("Engine", "EngineVersion"), ("engine", "engine_version")):
        old = OLD_ENGINES.get((resource.text(engine) or "").lower())
        alibaba = resource.kind is Kind.ROS or resource.type.startswith("alicloud")
        for node in at_path(resource.properties, version) if old else ():
            known = resource.known(node)
            text = str(known.value) if known is not None else ""
            kept = alibaba and text.startswith("5.7")  # Alibaba Cloud's own support goes on
            if old and known is not None and old.fullmatch(text) and not kept:
                yield Finding(
                    OUTDATED, node.at, f"The engine of {resource.called}, {text}, is no longer supported."
                )


FORMATS: Final = {
    Kind.ROS: ("ROSTemplateFormatVersion", "2015-09-01"),
    Kind.CLOUDFORMATION: ("AWSTemplateFormatVersion", "2010-09-09"),
}


def template_version(document: Document) -> Iterator[Finding]:
    """Templates of a version that is none."""
    name, wanted = FORMATS[document.kind]
    entry = document.root.entry(name)
    if entry is None:
        if document.kind is Kind.ROS:
            start = Span(document.source, document.root.at.start, document.root.at.start)
            yield Finding(OUTDATED, start, f"The template does not say {name}: {wanted}.")
    elif not (isinstance(entry.value, Scalar) and str(entry.value.value) == wanted):
        yield Finding(OUTDATED, entry.value.at, f"{name} is {wanted}, there is no other.")


OLD_TERRAFORM: Final = re.compile(r"(?:~>|=|<=?)?\s*0\.(?:\d|1[0-2])(?:\.\d+)?")


def terraform_version(module: Module) -> Iterator[Finding]:
    """Modules for a Terraform that is long gone."""
    for block in module.of_type("terraform", 0):
        required = scalar_at(block.body, "required_version")
        text = string(required)
        if required is not None and text is not None and OLD_TERRAFORM.fullmatch(text.strip()):
            yield Finding(OUTDATED, required.at, f"The module is for Terraform {text}, which has ended.")
    for each in module.data:
        if each.type in OLD_TYPES:
            message = f"{each.called} is of a type that is replaced by {OLD_TYPES[each.type]}."
            yield Finding(OUTDATED, each.at, message, lighter=Severity.NOTE)
