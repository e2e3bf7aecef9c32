"""Ports that the whole internet can reach: security groups and firewalls, in every language they come in."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from a2a_agents.iac.review.findings import Finding
from a2a_agents.iac.review.nodes import Node, at_path
from a2a_agents.iac.review.resources import Resource
from a2a_agents.iac.review.rules import (
    OPEN_ADMINISTRATION,
    OPEN_EVERYTHING,
    OPEN_STORE,
)
from a2a_agents.iac.review.source import Span

ANY_ADDRESS: Final = ".".join("0000")
WORLD: Final = frozenset({f"{ANY_ADDRESS}/0", "::/0", "*", "internet", "any"})
ADMINISTRATION: Final = {22: "SSH", 3389: "RDP"}
STORES: Final = {
    1433: "SQL Server",
    1521: "Oracle",
    2375: "Docker",
    2379: "etcd",
    3306: "MySQL",
    5432: "PostgreSQL",
    5439: "Redshift",
    5984: "CouchDB",
    6379: "Redis",
    9042: "Cassandra",
    9092: "Kafka",
    9200: "Elasticsearch",
    10250: "the kubelet",
    11211: "Memcached",
    27017: "MongoDB",
}
MOST_PORT: Final = 65535
ALMOST_ALL: Final = 60_000
"""So many ports in one range are all ports."""

Ports = tuple[int, int]
ALL_PORTS: Final[Ports] = (0, MOST_PORT)


@dataclass(frozen=True)
class Opening:
    """Addresses that are let in to ports; `at` is where the addresses stand."""

    at: Span
    ports: tuple[Ports, ...]
    by_default: bool


def openings(resource: Resource) -> Iterator[Opening]:
    """What a resource opens to the whole internet."""
    read = OPENERS.get(resource.type)
    if read is not None:
        yield from read(resource)


def open_ports(resource: Resource) -> Iterator[Finding]:
    """Ports that are open to the whole internet and should not be."""
    for opening in openings(resource):
        by = ", by the default of what it takes" if opening.by_default else ""
        for low, high in opening.ports:
            if high - low >= ALMOST_ALL:
                message = f"{resource.called} opens all ports to the internet{by}."
                yield Finding(OPEN_EVERYTHING, opening.at, message)
                continue
            for rule, known in ((OPEN_ADMINISTRATION, ADMINISTRATION), (OPEN_STORE, STORES)):
                hit = [f"{port} ({name})" for port, name in known.items() if low <= port <= high]
                if hit:
                    message = f"{resource.called} opens port {', '.join(hit)} to the internet{by}."
                    yield Finding(rule, opening.at, message)


def _world(resource: Resource, node: Node, *paths: str) -> Iterator[tuple[Span, bool]]:
    """Where addresses at these names say the whole internet, and whether only by a default."""
    for path in paths:
        for each in at_path(node, path):
            known = resource.known(each)
            if known is not None and str(known.value).strip().lower() in WORLD:
                yield each.at, known is not each


def _number(resource: Resource, node: Node, path: str) -> int | None:
    found = [resource.known(each) for each in at_path(node, path)]
    text = str(found[0].value) if len(found) == 1 and found[0] is not None else ""
    return int(text) if re.fullmatch(r"-?\d{1,6}", text) else None


def _protocol(resource: Resource, node: Node, path: str) -> str:
    found = [resource.known(each) for each in at_path(node, path)]
    return str(found[0].value).lower() if len(found) == 1 and found[0] is not None else ""


ALL_PROTOCOLS: Final = ("-1", "all", "*")
WITH_PORTS: Final = ("tcp", "udp", "6", "17", "tcp_udp", "", *ALL_PROTOCOLS)


def _aws_rule(resource: Resource, rule: Node, names: dict[str, str], *addresses: str) -> Iterator[Opening]:
    """One permission of AWS: a protocol, a first and a last port."""
    protocol = _protocol(resource, rule, names["protocol"])
    if protocol not in WITH_PORTS:
        return
    low, high = (_number(resource, rule, names[each]) for each in ("from", "to"))
    if protocol in ALL_PROTOCOLS or (low == -1 and high == -1):
        ports = ALL_PORTS
    elif low is None or high is None:
        return
    else:
        ports = ALL_PORTS if (low, high) == (0, 0) and protocol == "" else (low, high)
    for at, by_default in _world(resource, rule, *addresses):
        yield Opening(at, (ports,), by_default)


CFN_NAMES: Final = {"protocol": "IpProtocol", "from": "FromPort", "to": "ToPort"}
TF_NAMES: Final = {"protocol": "protocol", "from": "from_port", "to": "to_port"}


def _cfn_group(resource: Resource) -> Iterator[Opening]:
    for rule in at_path(resource.properties, "SecurityGroupIngress"):
        yield from _aws_rule(resource, rule, CFN_NAMES, "CidrIp", "CidrIpv6")


def _cfn_rule(resource: Resource) -> Iterator[Opening]:
    yield from _aws_rule(resource, resource.properties, CFN_NAMES, "CidrIp", "CidrIpv6")


def _tf_group(resource: Resource) -> Iterator[Opening]:
    for rule in at_path(resource.properties, "ingress"):
        yield from _aws_rule(resource, rule, TF_NAMES, "cidr_blocks", "ipv6_cidr_blocks")


def _tf_rule(resource: Resource) -> Iterator[Opening]:
    if resource.text("type") == "ingress":
        yield from _aws_rule(resource, resource.properties, TF_NAMES, "cidr_blocks", "ipv6_cidr_blocks")


def _tf_ingress_rule(resource: Resource) -> Iterator[Opening]:
    names = {**TF_NAMES, "protocol": "ip_protocol"}
    yield from _aws_rule(resource, resource.properties, names, "cidr_ipv4", "cidr_ipv6")


def _aliyun_rule(resource: Resource, rule: Node, names: dict[str, str], *addresses: str) -> Iterator[Opening]:
    """One permission of Alibaba Cloud: a protocol, a range `first/last`, and whether it accepts."""
    if _protocol(resource, rule, names["policy"]) == "drop":
        return
    protocol = _protocol(resource, rule, names["protocol"])
    if protocol not in WITH_PORTS:
        return
    ranges = [resource.known(each) for each in at_path(rule, names["range"])]
    text = str(ranges[0].value) if len(ranges) == 1 and ranges[0] is not None else ""
    found = re.fullmatch(r"(-?\d{1,5})/(-?\d{1,5})", text.strip())
    if protocol == "all" or text.strip() == "-1/-1":
        ports = ALL_PORTS
    elif found is None:
        return
    else:
        ports = (int(found.group(1)), int(found.group(2)))
    for at, by_default in _world(resource, rule, *addresses):
        yield Opening(at, (ports,), by_default)


ROS_NAMES: Final = {"protocol": "IpProtocol", "range": "PortRange", "policy": "Policy"}
ALICLOUD_NAMES: Final = {"protocol": "ip_protocol", "range": "port_range", "policy": "policy"}
ROS_ADDRESSES: Final = ("SourceCidrIp", "Ipv6SourceCidrIp")


def _ros_group(resource: Resource) -> Iterator[Opening]:
    for name in ("SecurityGroupIngress", "Permissions"):
        for rule in at_path(resource.properties, name):
            yield from _aliyun_rule(resource, rule, ROS_NAMES, *ROS_ADDRESSES)


def _ros_rule(resource: Resource) -> Iterator[Opening]:
    yield from _aliyun_rule(resource, resource.properties, ROS_NAMES, *ROS_ADDRESSES)


def _alicloud_rule(resource: Resource) -> Iterator[Opening]:
    if resource.text("type") == "ingress":
        yield from _aliyun_rule(resource, resource.properties, ALICLOUD_NAMES, "cidr_ip", "ipv6_cidr_ip")


def _listed_ports(resource: Resource, node: Node, *paths: str) -> tuple[Ports, ...]:
    """Ports as texts: `22`, `8000-9000`, `*`."""
    found: list[Ports] = []
    for path in paths:
        for each in at_path(node, path):
            known = resource.known(each)
            text = str(known.value).strip() if known is not None else ""
            ranged = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", text)
            if ranged:
                found.append((int(ranged.group(1)), int(ranged.group(2) or ranged.group(1))))
            elif text == "*":
                found.append(ALL_PORTS)
    return tuple(found)


def _google(resource: Resource) -> Iterator[Opening]:
    if (resource.text("direction") or "INGRESS") != "INGRESS":
        return
    for allowed in at_path(resource.properties, "allow"):
        protocol = _protocol(resource, allowed, "protocol")
        if protocol not in WITH_PORTS:
            continue
        ports = _listed_ports(resource, allowed, "ports")
        if not ports and not list(at_path(allowed, "ports")):
            ports = (ALL_PORTS,)
        for at, by_default in _world(resource, resource.properties, "source_ranges"):
            yield Opening(at, ports, by_default)


def _azure(resource: Resource) -> Iterator[Opening]:
    single = resource.type.endswith("_rule")
    rules = (resource.properties,) if single else at_path(resource.properties, "security_rule")
    for rule in rules:
        allows = _protocol(resource, rule, "access") == "allow"
        if not allows or _protocol(resource, rule, "direction") != "inbound":
            continue
        ports = _listed_ports(resource, rule, "destination_port_range", "destination_port_ranges")
        for at, by_default in _world(resource, rule, "source_address_prefix", "source_address_prefixes"):
            yield Opening(at, ports, by_default)


OPENERS: Final[dict[str, Callable[[Resource], Iterator[Opening]]]] = {
    "AWS::EC2::SecurityGroup": _cfn_group,
    "AWS::EC2::SecurityGroupIngress": _cfn_rule,
    "ALIYUN::ECS::SecurityGroup": _ros_group,
    "ALIYUN::ECS::SecurityGroupIngress": _ros_rule,
    "ALIYUN::ECS::SecurityGroupIngresses": _ros_group,
    "aws_security_group": _tf_group,
    "aws_default_security_group": _tf_group,
    "aws_security_group_rule": _tf_rule,
    "aws_vpc_security_group_ingress_rule": _tf_ingress_rule,
    "alicloud_security_group_rule": _alicloud_rule,
    "google_compute_firewall": _google,
    "azurerm_network_security_rule": _azure,
    "azurerm_network_security_group": _azure,
}
"""How the resources that open something say so."""
