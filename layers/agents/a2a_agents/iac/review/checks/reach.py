"""Databases and sites that the whole internet can reach, and should not, or not so."""

from collections.abc import Iterator
from typing import Final

from a2a_agents.iac.review.checks.ports import ANY_ADDRESS, WORLD
from a2a_agents.iac.review.findings import Finding
from a2a_agents.iac.review.nodes import Node, at_path, is_true
from a2a_agents.iac.review.resources import Resource
from a2a_agents.iac.review.rules import PLAIN_HTTP, PUBLIC_DATABASE

PUBLIC_SWITCHES: Final = {
    "AWS::RDS::DBInstance": "PubliclyAccessible",
    "AWS::RDS::DBCluster": "PubliclyAccessible",
    "AWS::Redshift::Cluster": "PubliclyAccessible",
    "AWS::DMS::ReplicationInstance": "PubliclyAccessible",
    "ALIYUN::RDS::DBInstance": "AllocatePublicConnection",
    "aws_db_instance": "publicly_accessible",
    "aws_rds_cluster_instance": "publicly_accessible",
    "aws_redshift_cluster": "publicly_accessible",
    "aws_dms_replication_instance": "publicly_accessible",
}
WHITE_LISTS: Final = {
    "ALIYUN::RDS::DBInstance": "SecurityIPList",
    "ALIYUN::RDS::PrepayDBInstance": "SecurityIPList",
    "ALIYUN::POLARDB::DBCluster": "SecurityIPList",
    "ALIYUN::MONGODB::Instance": "SecurityIPArray",
    "ALIYUN::REDIS::Whitelist": "SecurityIps",
    "ALIYUN::REDIS::Instance": "SecurityIPList",
    "alicloud_db_instance": "security_ips",
    "alicloud_polardb_cluster": "security_ips",
    "alicloud_mongodb_instance": "security_ip_list",
    "alicloud_kvstore_instance": "security_ips",
}


def public_databases(resource: Resource) -> Iterator[Finding]:
    """Databases with a public address, or a list of addresses that holds all of them."""
    switch = PUBLIC_SWITCHES.get(resource.type)
    for node in at_path(resource.properties, switch) if switch else ():
        if is_true(resource.known(node)):
            yield Finding(PUBLIC_DATABASE, node.at, f"{resource.called} has an address on the internet.")
    listed = WHITE_LISTS.get(resource.type)
    for node in at_path(resource.properties, listed) if listed else ():
        known = resource.known(node)
        names = str(known.value).replace(" ", "").split(",") if known is not None else []
        if any(name.partition("/")[0] == ANY_ADDRESS for name in names):
            yield Finding(PUBLIC_DATABASE, node.at, f"{resource.called} lets every address in.")


def open_networks(resource: Resource) -> Iterator[Finding]:
    """Databases of Google and Azure that let every address in."""
    networks = ("settings", "ip_configuration", "authorized_networks", "value")
    if resource.type == "google_sql_database_instance":
        for node in at_path(resource.properties, *networks):
            known = resource.known(node)
            if known is not None and str(known.value) in WORLD:
                yield Finding(PUBLIC_DATABASE, node.at, f"{resource.called} lets every address in.")
    if resource.type.startswith("azurerm_") and resource.type.endswith("_firewall_rule"):
        ends = (resource.text("start_ip_address"), resource.text("end_ip_address"))
        if ends == (ANY_ADDRESS, ".".join(["255"] * 4)):
            yield Finding(PUBLIC_DATABASE, resource.at, f"{resource.called} lets every address in.")


def plain_http(resource: Resource) -> Iterator[Finding]:
    """Listeners that serve HTTP and do not redirect."""
    if resource.type in ("AWS::ElasticLoadBalancingV2::Listener", "aws_lb_listener", "aws_alb_listener"):
        names = (
            ("Protocol", "DefaultActions")
            if resource.type.startswith("AWS")
            else ("protocol", "default_action")
        )
        actions = [resource.known(each) for each in at_path(resource.properties, names[1], "Type")]
        actions += [resource.known(each) for each in at_path(resource.properties, names[1], "type")]
        redirects = any(each is None or str(each.value) == "redirect" for each in actions)
        if resource.text(names[0]) == "HTTP" and not redirects:
            yield Finding(PLAIN_HTTP, resource.at, f"{resource.called} serves plain HTTP.")
    for node in at_path(resource.properties, "DistributionConfig"):
        yield from _viewers(
            resource, node, "ViewerProtocolPolicy", ("DefaultCacheBehavior", "CacheBehaviors")
        )
    if resource.type == "aws_cloudfront_distribution":
        names = ("default_cache_behavior", "ordered_cache_behavior")
        yield from _viewers(resource, resource.properties, "viewer_protocol_policy", names)


def _viewers(resource: Resource, node: Node, policy: str, behaviours: tuple[str, ...]) -> Iterator[Finding]:
    for name in behaviours:
        for each in at_path(node, name, policy):
            known = resource.known(each)
            if known is not None and known.value == "allow-all":
                yield Finding(PLAIN_HTTP, each.at, f"{resource.called} serves plain HTTP.")
