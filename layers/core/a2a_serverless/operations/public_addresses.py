"""Which IP addresses belong to the public internet, and which to this machine.

The networks are written down here, because what `ipaddress` calls global differs between the Pythons we run
on. Sources: the IANA special-purpose address registries (RFC 6890 and its successors). Knows no name, no URL
and no DNS.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

LOOPBACK = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))

IPV4_ELSEWHERE = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network (RFC 1122); connecting to it reaches this machine
        "10.0.0.0/8",  # private (RFC 1918)
        "100.64.0.0/10",  # shared by carriers (RFC 6598)
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's host, as seen by its machines
        "169.254.0.0/16",  # link-local (RFC 3927): metadata services, Lambda's own runtime
        "172.16.0.0/12",  # private (RFC 1918)
        "192.0.0.0/24",  # protocol assignments (RFC 6890); Oracle's metadata service
        "192.0.2.0/24",  # documentation (RFC 5737)
        "192.88.99.0/24",  # 6to4 relays (RFC 7526)
        "192.168.0.0/16",  # private (RFC 1918)
        "198.18.0.0/15",  # benchmarks (RFC 2544)
        "198.51.100.0/24",  # documentation (RFC 5737)
        "203.0.113.0/24",  # documentation (RFC 5737)
        "224.0.0.0/4",  # multicast (RFC 5771)
        "240.0.0.0/4",  # class E (RFC 1112), broadcast included
    )
)

IPV6_GLOBAL = IPv6Network("2000::/3")
"""The only unicast space that is handed out (RFC 4291 2.4).

Unspecified, loopback, v4-mapped, v4-compatible, NAT64 (64:ff9b::/96, 64:ff9b:1::/48), discard-only, segment
routing, unique local, link-local, site-local and multicast addresses lie outside.
"""

IPV6_ELSEWHERE = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments (RFC 2928): Teredo, benchmarks, ORCHID and others
        "2001:db8::/32",  # documentation (RFC 3849)
        "2002::/16",  # 6to4 (RFC 3056), which leads to any IPv4 address
        "3ffe::/16",  # 6bone, given back (RFC 3701)
        "3fff::/20",  # documentation (RFC 9637)
    )
)


def address(text: str) -> Address | None:
    """The address that the text spells; None for anything else, a zone id included."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def is_public(given: Address) -> bool:
    """Whether it is a unicast address of the public internet.

    An IPv6 address with an IPv4 address inside never is: where it leads is decided by a translator.
    """
    if isinstance(given, IPv4Address):
        return not any(given in network for network in IPV4_ELSEWHERE)
    return given in IPV6_GLOBAL and not any(given in network for network in IPV6_ELSEWHERE)


def is_loopback(given: Address) -> bool:
    """Whether it means this machine, spelled as such."""
    return any(given in network for network in LOOPBACK)
