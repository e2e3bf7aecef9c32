"""Which URLs a webhook may have, and which addresses may be connected to for it."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from a2a_serverless.operations.public_addresses import IPV4_ELSEWHERE, IPV6_ELSEWHERE, is_public
from a2a_serverless.operations.webhook_urls import (
    NOT_PUBLIC,
    OTHER_SERVICES,
    PrivateAddressError,
    Target,
    check_addresses,
    check_url,
    guard,
    read_url,
)
from a2a_serverless.ports import WebhookPolicy
from a2a_serverless.protocol.errors import FieldViolation, InvalidParamsError
from tests.fakes.ports import FakeClock, FakeNames, FakeTable, fake_webhooks

STRICT = WebhookPolicy()
PLAIN = WebhookPolicy(plain_http=True)
LOOPBACK = WebhookPolicy(loopback=True)
LAX = WebhookPolicy(plain_http=True, loopback=True)

PUBLIC = "93.184.215.14"
PUBLIC_IPV6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"

HTTPS_ONLY = "must begin with https://"
NO_URL = "must be an absolute URL"
CHARACTERS = (
    "must be plain ASCII without spaces, line breaks or backslashes: percent-encode what else is in "
    "the path, and write an international host name in its xn-- form"
)
NO_USER = "must not contain a user name or password"
NO_HOST = "must have a host name or an address, an IPv6 address in brackets"
NO_NAME = "must have a host name of letters, digits, hyphens and single dots"
NO_DOT = "must have a host name that does not end in a dot"
NO_IPV4 = "must spell an IPv4 address as four decimal numbers without leading zeros"
NO_IPV6 = "must have an IPv6 address between the brackets"
NO_ZONE = "must not have a zone in its address"
NO_PORT = "must have a port between 1 and 65535, or none"
LOW_PORT = "must use port 443, or one from 1024 on"
OTHER_PORT = "must not use the port of a service other than HTTP"

HOSTILE = {
    HTTPS_ONLY: [
        "http://hooks.example.com/",
        "HTTP://hooks.example.com/",
        "http://hooks.example.com:443/",
        "http://127.0.0.1:8080/",
        "http://169.254.169.254/latest/meta-data/",
        "ftp://hooks.example.com/",
        "file:///etc/passwd",
        "gopher://hooks.example.com:6379/_FLUSHALL",
        "ws://hooks.example.com/",
        "dict://hooks.example.com/",
        "https+unix://%2Fvar%2Frun%2Fdocker.sock/",
        "jar://hooks.example.com/",
    ],
    NO_URL: [
        "",
        "hooks.example.com",
        "hooks.example.com/inbox",
        "hooks.example.com:443/inbox",
        "//hooks.example.com/inbox",
        "/inbox",
        "https:",
        "https:/hooks.example.com/",
        "https:hooks.example.com",
        "://hooks.example.com/",
        "1https://hooks.example.com/",
        "javascript:alert(1)",
        "data:text/plain,x",
        "mailto:a@example.com",
        "?https://hooks.example.com/",
    ],
    CHARACTERS: [
        " https://hooks.example.com/",
        "https://hooks.example.com/ ",
        "https://hooks.example.com/a b",
        "https://hooks example.com/",
        "\thttps://hooks.example.com/",
        "https://hooks.example.com/\r\nX-Injected: 1",
        "https://hooks.example.com\r\n/",
        "https://hooks.exam\nple.com/",
        "https://hooks.example.com/\x00",
        "https://169.254.169.254\x00.example.com/",
        "https://hooks.example.com/\x7f",
        "https:\\\\hooks.example.com\\",
        "https://127.0.0.1\\@hooks.example.com/",
        "https://hooks.example.com\\.127.0.0.1/",
        "https://hooks.example.com/<script>",
        'https://hooks.example.com/"',
        "https://hooks.example.com/{task}",
        "https://hooks.example.com/|",
        "https://bücher.example.com/",
        "https://hooks.example.com/ü",
        "https://\uff11\uff12\uff17.0.0.1/",
        "https://①②⑦.0.0.1/",
        "https://127。0。0。1/",
        "https://hooks\uff0eexample\uff0ecom/",
        "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
        "https://localho\u017ft/",
        "https://hooks.example\u200b.com/",
        "https://hooks.example.com\u2044@127.0.0.1/",
        "https://\ufeffhooks.example.com/",
        "https://\ud800.example.com/",
    ],
    NO_USER: [
        "https://user@hooks.example.com/",
        "https://user:secret@hooks.example.com/",
        "https://@hooks.example.com/",
        "https://:@hooks.example.com/",
        "https://hooks.example.com@127.0.0.1/",
        "https://hooks.example.com:443@127.0.0.1/",
        "https://127.0.0.1@hooks.example.com/",
        "https://a@b@hooks.example.com/",
        "https://hooks.example.com%2f@127.0.0.1/",
    ],
    "must not have a fragment": [
        "https://hooks.example.com/#",
        "https://hooks.example.com/inbox#part",
        "https://hooks.example.com#@127.0.0.1/",
        "https://hooks.example.com?a#b",
    ],
    NO_HOST: [
        "https://::1/",
        "https://hooks.example.com:443:443/",
        "https://2606:2800:21f:cb07:6820:80da:af6b:8b2c/",
        "https://[::1/",
        "https://::1]/",
        "https://[::1]hooks.example.com/",
        "https://hooks.example.com[::1]/",
        "https://[[::1]]/",
    ],
    NO_NAME: [
        "https:///",
        "https:///inbox",
        "https://:443/",
        "https://?x=1",
        "https://.hooks.example.com/",
        "https://hooks..example.com/",
        "https://-hooks.example.com/",
        "https://hooks-.example.com/",
        "https://my_hooks.example.com/",
        "https://hooks%2eexample.com/",
        "https://127%2e0%2e0%2e1/",
        "https://%31%32%37.0.0.1.example.com/",
        "https://hooks.example.com%00.internal.example.com/",
        "https://hooks,example.com/",
        "https://*.example.com/",
        f"https://{'a' * 64}.example.com/",
        f"https://{'.'.join(['a' * 60] * 5)}.com/",
    ],
    NO_DOT: [
        "https://hooks.example.com./",
        "https://localhost./",
        "https://127.0.0.1./",
        "https://metadata.google.internal./",
        "https://./",
    ],
    NO_IPV4: [
        "https://2130706433/",
        "https://017700000001/",
        "https://0x7f000001/",
        "https://0X7F000001/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://127.1/",
        "https://127.0.1/",
        "https://127.0.0.01/",
        "https://127.0.0.0x1/",
        "https://0x7f.0x0.0x0.0x1/",
        "https://0/",
        "https://00/",
        "https://0x/",
        "https://2852039166/",
        "https://0xa9fea9fe/",
        "https://0251.0376.0251.0376/",
        "https://169.254.43518/",
        "https://256.256.256.256/",
        "https://1.2.3.4.5/",
        "https://93.184.215.014/",
        "https://1572395790/",
        "https://hooks.example.1/",
        "https://hooks.example.0x1/",
        "https://hooks..1/",
    ],
    NO_IPV6: [
        "https://[]/",
        "https://[127.0.0.1]/",
        "https://[hooks.example.com]/",
        "https://[:::1]/",
        "https://[1::2::3]/",
        "https://[12345::]/",
        "https://[v1.fe80::a]/",
        "https://[::127.1]/",
        "https://[2606:2800:21f:cb07:6820:80da:af6b]/",
    ],
    NO_ZONE: [
        "https://[fe80::1%eth0]/",
        "https://[fe80::1%25eth0]/",
        "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c%1]/",
        "https://[::1%lo]/",
    ],
    NO_PORT: [
        "https://hooks.example.com:/",
        "https://hooks.example.com:0/",
        "https://hooks.example.com:0443/",
        "https://hooks.example.com:65536/",
        "https://hooks.example.com:99999999999/",
        "https://hooks.example.com:-1/",
        "https://hooks.example.com:+443/",
        "https://hooks.example.com:44_3/",
        "https://hooks.example.com:http/",
        "https://hooks.example.com:443.127.0.0.1/",
        "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:/",
    ],
    LOW_PORT: [
        "https://hooks.example.com:1/",
        "https://hooks.example.com:22/",
        "https://hooks.example.com:25/",
        "https://hooks.example.com:53/",
        "https://hooks.example.com:80/",
        "https://hooks.example.com:389/",
        "https://hooks.example.com:636/",
        "https://hooks.example.com:1023/",
    ],
    OTHER_PORT: [
        "https://hooks.example.com:2049/",
        "https://hooks.example.com:3306/",
        "https://hooks.example.com:5432/",
        "https://hooks.example.com:6379/",
        "https://hooks.example.com:6667/",
        "https://hooks.example.com:11211/",
        "https://hooks.example.com:27017/",
        "https://hooks.example.com:5060/",
    ],
    NOT_PUBLIC: [
        "https://localhost/",
        "https://LOCALHOST:8443/",
        "https://app.localhost/",
        "https://localhost.localdomain/",
        "https://printer.local/",
        "https://local/",
        "https://metadata.google.internal/",
        "https://ip-10-0-0-1.ec2.internal/",
        "https://internal/",
        "https://instance-data/latest/meta-data/",
        "https://metadata/",
        "https://kubernetes/",
        "https://router.home.arpa/",
        "https://nas.lan/",
        "https://wiki.corp/",
        "https://0.0.0.0/",
        "https://0.1.2.3/",
        "https://10.0.0.1/",
        "https://10.255.255.255:8443/",
        "https://100.64.0.1/",
        "https://100.100.100.200/",
        "https://100.127.255.255/",
        "https://127.0.0.1/",
        "https://127.0.0.1:9001/2018-06-01/runtime/invocation/next",
        "https://127.255.255.254/",
        "https://168.63.129.16/",
        "https://169.254.169.254/latest/meta-data/",
        "https://169.254.170.2/v2/credentials/",
        "https://169.254.100.1/",
        "https://172.16.0.1/",
        "https://172.31.255.255/",
        "https://192.0.0.8/",
        "https://192.0.0.192/opc/v2/instance/",
        "https://192.0.2.1/",
        "https://192.88.99.1/",
        "https://192.168.1.1/",
        "https://198.18.0.1/",
        "https://198.19.255.255/",
        "https://198.51.100.7/",
        "https://203.0.113.9/",
        "https://224.0.0.1/",
        "https://239.255.255.255/",
        "https://240.0.0.1/",
        "https://255.255.255.255/",
        "https://[::]/",
        "https://[::1]/",
        "https://[0:0:0:0:0:0:0:1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::FFFF:7F00:1]/",
        "https://[::ffff:93.184.215.14]/",
        "https://[0:0:0:0:0:ffff:a9fe:a9fe]/",
        "https://[::127.0.0.1]/",
        "https://[::ffff:0:127.0.0.1]/",
        "https://[64:ff9b::127.0.0.1]/",
        "https://[64:ff9b::5db8:d70e]/",
        "https://[64:ff9b:1::169.254.169.254]/",
        "https://[100::1]/",
        "https://[2001::1]/",
        "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
        "https://[2001:2::1]/",
        "https://[2001:10::1]/",
        "https://[2001:20::1]/",
        "https://[2001:db8::1]/",
        "https://[2002:7f00:1::]/",
        "https://[2002:a9fe:a9fe::1]/",
        "https://[3ffe::1]/",
        "https://[3fff::1]/",
        "https://[5f00::1]/",
        "https://[fc00::1]/",
        "https://[fd00:ec2::254]/latest/meta-data/",
        "https://[fe80::1]/",
        "https://[febf::1]/",
        "https://[fec0::1]/",
        "https://[ff02::1]/",
        "https://[4000::1]/",
    ],
}

GOOD = {
    "https://hooks.example.com": ("hooks.example.com", 443, "/"),
    "https://hooks.example.com/": ("hooks.example.com", 443, "/"),
    "HTTPS://Hooks.EXAMPLE.com/Inbox": ("hooks.example.com", 443, "/Inbox"),
    "https://hooks.example.com:443/": ("hooks.example.com", 443, "/"),
    "https://hooks.example.com:8443/a": ("hooks.example.com", 8443, "/a"),
    "https://hooks.example.com:1024/": ("hooks.example.com", 1024, "/"),
    "https://hooks.example.com:65535/": ("hooks.example.com", 65535, "/"),
    "https://hooks.example.com?a=1&b=2": ("hooks.example.com", 443, "/?a=1&b=2"),
    "https://hooks.example.com/a/b;c=d/?q=%20%2F&r[]=1": (
        "hooks.example.com",
        443,
        "/a/b;c=d/?q=%20%2F&r[]=1",
    ),
    "https://hooks.example.com/?next=https://127.0.0.1/": (
        "hooks.example.com",
        443,
        "/?next=https://127.0.0.1/",
    ),
    "https://hooks.example.com/@alice": ("hooks.example.com", 443, "/@alice"),
    "https://hooks.example.com//a/../b": ("hooks.example.com", 443, "//a/../b"),
    "https://hooks.example.com/?": ("hooks.example.com", 443, "/?"),
    "https://xn--bcher-kva.example.com/": ("xn--bcher-kva.example.com", 443, "/"),
    "https://example.xn--p1ai/": ("example.xn--p1ai", 443, "/"),
    "https://a.io/": ("a.io", 443, "/"),
    "https://1.example.com/": ("1.example.com", 443, "/"),
    "https://127.0.0.1.example.com/": ("127.0.0.1.example.com", 443, "/"),
    "https://0x7f.example.com/": ("0x7f.example.com", 443, "/"),
    "https://localhost.example.com/": ("localhost.example.com", 443, "/"),
    "https://internal.example.com/": ("internal.example.com", 443, "/"),
    "https://notlocal.mylocal/": ("notlocal.mylocal", 443, "/"),
    f"https://{'a' * 63}.example.com/": (f"{'a' * 63}.example.com", 443, "/"),
    f"https://{PUBLIC}/": (PUBLIC, 443, "/"),
    f"https://{PUBLIC}:8443/a": (PUBLIC, 8443, "/a"),
    "https://100.63.255.255/": ("100.63.255.255", 443, "/"),
    "https://172.32.0.1/": ("172.32.0.1", 443, "/"),
    "https://223.255.255.255/": ("223.255.255.255", 443, "/"),
    f"https://[{PUBLIC_IPV6}]/": (PUBLIC_IPV6, 443, "/"),
    "https://[2606:2800:021F:0000:0000:0000:0000:0001]:8443/": ("2606:2800:21f::1", 8443, "/"),
    "https://[2001:200::1]/": ("2001:200::1", 443, "/"),
}


def refusal(policy: WebhookPolicy, url: str) -> tuple[FieldViolation, ...]:
    """What the refusal of the URL says."""
    with pytest.raises(InvalidParamsError) as refused:
        check_url(policy, url)
    return refused.value.violations


@pytest.mark.parametrize(
    ("why", "url"), [pytest.param(why, url, id=ascii(url)) for why, urls in HOSTILE.items() for url in urls]
)
def test_a_hostile_url_is_refused_and_the_text_says_why(why: str, url: str) -> None:
    assert refusal(STRICT, url) == (FieldViolation("url", why),)


@pytest.mark.parametrize("url", GOOD)
def test_a_good_url_is_read_as_what_it_says(url: str) -> None:
    host, port, path = GOOD[url]

    assert check_url(STRICT, url) == Target(
        "https", host, port, path, is_literal=bool(_numeric_addresses(host))
    )


def test_a_url_may_have_2048_characters_and_no_more() -> None:
    longest = "https://hooks.example.com/".ljust(2048, "a")

    assert check_url(STRICT, longest).path == longest.removeprefix("https://hooks.example.com")
    assert refusal(STRICT, f"{longest}a") == (FieldViolation("url", "must have at most 2048 characters"),)


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://Hooks.example.com:443/", "hooks.example.com"),
        ("http://hooks.example.com/", "hooks.example.com"),
        ("https://hooks.example.com:8443/", "hooks.example.com:8443"),
        ("http://hooks.example.com:443/", "hooks.example.com:443"),
        (f"https://{PUBLIC}:8443/", f"{PUBLIC}:8443"),
        (f"https://[{PUBLIC_IPV6}]/", f"[{PUBLIC_IPV6}]"),
        (f"https://[{PUBLIC_IPV6}]:8443/", f"[{PUBLIC_IPV6}]:8443"),
    ],
)
def test_the_host_header_names_the_port_unless_it_is_the_schemes(url: str, authority: str) -> None:
    assert read_url(url).authority == authority


@pytest.mark.parametrize("port", sorted(OTHER_SERVICES))
def test_the_ports_of_other_services_are_refused_also_where_http_is_plain(port: int) -> None:
    url = f"http://hooks.example.com:{port}/"

    assert refusal(PLAIN, url) == (FieldViolation("url", OTHER_PORT),)


# --- what a deployment may allow ------------------------------------------------


@pytest.mark.parametrize("url", ["http://hooks.example.com/", "http://hooks.example.com:8080/a"])
def test_plain_http_is_taken_where_the_deployment_says_so(url: str) -> None:
    assert check_url(PLAIN, url).scheme == "http"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://hooks.example.com:443/", "must use port 80, or one from 1024 on"),
        ("http://hooks.example.com:22/", "must use port 80, or one from 1024 on"),
        ("http://127.0.0.1:8080/", NOT_PUBLIC),
        ("http://localhost:8080/", NOT_PUBLIC),
        ("http://169.254.169.254/latest/meta-data/", NOT_PUBLIC),
        ("https://hooks.example.com:80/", LOW_PORT),
    ],
)
def test_plain_http_opens_nothing_else(url: str, why: str) -> None:
    assert refusal(PLAIN, url) == (FieldViolation("url", why),)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/",
        "http://127.9.9.9:22/",
        "http://localhost:6379/",
        "http://receiver.localhost/",
        "http://[::1]:8080/",
        "https://localhost:8443/",
    ],
)
def test_this_machine_may_be_called_anyhow_where_the_deployment_says_so(url: str) -> None:
    assert check_url(LOOPBACK, url).is_loopback


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://hooks.example.com/", HTTPS_ONLY),
        ("http://localhost.example.com/", HTTPS_ONLY),
        ("https://10.0.0.1/", NOT_PUBLIC),
        ("https://0.0.0.0/", NOT_PUBLIC),
        ("https://[::ffff:127.0.0.1]/", NOT_PUBLIC),
        ("https://[::]/", NOT_PUBLIC),
        ("http://127.1/", NO_IPV4),
        ("http://user@localhost/", NO_USER),
        ("ftp://localhost/", HTTPS_ONLY),
    ],
)
def test_allowing_this_machine_opens_nothing_else(url: str, why: str) -> None:
    assert refusal(LOOPBACK, url) == (FieldViolation("url", why),)


# --- addresses ------------------------------------------------


@pytest.mark.parametrize(
    ("addresses", "connected"),
    [
        ([PUBLIC], PUBLIC),
        ([PUBLIC_IPV6], PUBLIC_IPV6),
        ([PUBLIC_IPV6, PUBLIC], PUBLIC),
        (["1.1.1.1", "8.8.8.8"], "1.1.1.1"),
        (["2606:4700:4700:0::1111", "2606:4700:4700::1001"], "2606:4700:4700::1111"),
    ],
)
def test_an_ipv4_address_is_preferred_and_otherwise_the_first(addresses: list[str], connected: str) -> None:
    target = check_url(STRICT, "https://hooks.example.com/")

    assert check_addresses(STRICT, target, addresses) == connected


@pytest.mark.parametrize(
    "addresses",
    [
        [],
        ["127.0.0.1"],
        ["10.0.0.1"],
        [PUBLIC, "10.0.0.1"],
        ["10.0.0.1", PUBLIC],
        [PUBLIC, PUBLIC_IPV6, "fd00:ec2::254"],
        [PUBLIC, "::ffff:93.184.215.14"],
        ["fe80::1%eth0"],
        [f"{PUBLIC_IPV6}%eth0"],
        [PUBLIC, "hooks.example.com"],
        [PUBLIC, ""],
        ["2130706433"],
        [PUBLIC, "127.1"],
    ],
)
def test_one_address_that_is_not_public_spoils_them_all(addresses: list[str]) -> None:
    target = check_url(STRICT, "https://hooks.example.com/")

    for policy in (STRICT, PLAIN):
        with pytest.raises(PrivateAddressError):
            check_addresses(policy, target, addresses)


def test_a_name_may_mean_this_machine_where_the_deployment_says_so() -> None:
    target = check_url(LOOPBACK, "https://hooks.example.com/")

    assert check_addresses(LOOPBACK, target, ["::1", "127.0.0.1"]) == "127.0.0.1"
    with pytest.raises(PrivateAddressError):
        check_addresses(LOOPBACK, target, ["127.0.0.1", "10.0.0.1"])


def test_a_name_that_says_this_machine_leads_nowhere_else() -> None:
    target = check_url(LAX, "http://receiver.localhost:25/")

    assert check_addresses(LAX, target, ["127.0.0.1"]) == "127.0.0.1"
    with pytest.raises(PrivateAddressError):
        check_addresses(LAX, target, [PUBLIC])


def test_a_url_taken_earlier_reaches_this_machine_no_more_when_the_deployment_forbids_it() -> None:
    target = check_url(LOOPBACK, "http://localhost:8080/")

    with pytest.raises(PrivateAddressError):
        check_addresses(STRICT, target, ["127.0.0.1"])


# --- registration ------------------------------------------------


def test_a_registration_resolves_the_host_of_the_url() -> None:
    names = FakeNames({"hooks.example.com": (PUBLIC, PUBLIC_IPV6)})
    webhooks = fake_webhooks(FakeTable(FakeClock()), names=names)

    target = guard(webhooks, STRICT, "https://Hooks.example.com/inbox")

    assert target == Target("https", "hooks.example.com", 443, "/inbox", is_literal=False)
    assert names.asked == ["hooks.example.com"]


def test_a_registration_takes_a_name_without_addresses() -> None:
    webhooks = fake_webhooks(FakeTable(FakeClock()), names=FakeNames({"soon.example.com": ()}))

    assert guard(webhooks, STRICT, "https://soon.example.com/").host == "soon.example.com"


@pytest.mark.parametrize("addresses", [("10.0.0.1",), (PUBLIC, "169.254.169.254"), ("::ffff:127.0.0.1",)])
def test_a_registration_refuses_a_name_that_leads_inside(addresses: tuple[str, ...]) -> None:
    webhooks = fake_webhooks(FakeTable(FakeClock()), names=FakeNames({"rebind.example.com": addresses}))

    with pytest.raises(InvalidParamsError) as refused:
        guard(webhooks, STRICT, "https://rebind.example.com/")

    assert refused.value.violations == (FieldViolation("url", NOT_PUBLIC),)


def test_a_refused_url_is_not_even_resolved() -> None:
    names = FakeNames()

    with pytest.raises(InvalidParamsError):
        guard(fake_webhooks(FakeTable(FakeClock()), names=names), STRICT, "https://metadata.google.internal/")

    assert names.asked == []


# --- whatever else somebody thinks of ------------------------------------------------

BLOCKED_IPV4 = st.sampled_from(IPV4_ELSEWHERE).flatmap(
    lambda network: st.integers(int(network[0]), int(network[-1])).map(IPv4Address)
)
BLOCKED_IPV6 = st.one_of(
    st.sampled_from(IPV6_ELSEWHERE).flatmap(
        lambda network: st.integers(int(network[0]), int(network[-1])).map(IPv6Address)
    ),
    st.integers(0, 2**128 - 1).map(IPv6Address).filter(lambda given: int(given) >> 125 != 1),
)
EMBEDDINGS = (
    lambda inner: inner,  # v4-compatible
    lambda inner: 0xFFFF << 32 | inner,  # v4-mapped
    lambda inner: 0xFFFF << 48 | inner,  # v4-translated
    lambda inner: 0x64FF9B << 96 | inner,  # NAT64
    lambda inner: 0x64FF9B0001 << 80 | inner,  # NAT64, local use
    lambda inner: 0x2002 << 112 | inner << 80,  # 6to4
    lambda inner: 0x20010000 << 96 | inner ^ 0xFFFFFFFF,  # Teredo
)
EMBEDDED = st.builds(
    lambda inner, embed: IPv6Address(embed(int(inner))),
    st.one_of(BLOCKED_IPV4, st.ip_addresses(v=4)),
    st.sampled_from(EMBEDDINGS),
)


def _number(draw: st.DrawFn, value: int) -> str:
    return draw(
        st.sampled_from([str(value), f"0{value:o}", f"0x{value:x}", f"0X{value:X}", f"0x00{value:x}"])
    )


@st.composite
def ipv4_spellings(draw: st.DrawFn) -> str:
    """One to four numbers, decimal, octal or hexadecimal: what the C library reads as an address."""
    value = int(draw(BLOCKED_IPV4))
    parts = draw(st.integers(1, 4))
    leading = [value >> shift & 0xFF for shift in (24, 16, 8)[: parts - 1]]
    last = value & ((1 << (8 * (5 - parts))) - 1)
    return ".".join(_number(draw, each) for each in [*leading, last])


@st.composite
def ipv6_spellings(draw: st.DrawFn) -> str:
    """In full or short, in capitals or not, its end as an IPv4 address or not."""
    given = draw(st.one_of(BLOCKED_IPV6, EMBEDDED))
    dotted = given.exploded.rpartition(":")[0].rpartition(":")[0]
    end = IPv4Address(int(given) & 0xFFFFFFFF)
    spelled = draw(st.sampled_from([given.compressed, given.exploded, f"{dotted}:{end}"]))
    return f"[{draw(st.sampled_from([spelled, spelled.upper()]))}]"


DISGUISES = (
    "{}", "{}.", "{}:443", "{}:8443", "user@{}", "hooks.example.com@{}", "hooks.example.com:443@{}",
)  # fmt: skip


@settings(deadline=None)
@given(st.one_of(ipv4_spellings(), ipv6_spellings()), st.sampled_from(DISGUISES))
def test_no_spelling_of_an_address_inside_is_taken(host: str, disguise: str) -> None:
    assert _numeric_addresses(host.strip("[]"))  # somebody would connect to it

    for policy in (STRICT, PLAIN):
        assert refusal(policy, f"https://{disguise.format(host)}/")


WIDE = str.maketrans("0123456789.", "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19。")


@settings(deadline=None)
@given(BLOCKED_IPV4, st.sampled_from([WIDE, {ord("."): "\uff0e"}, {ord("1"): "¹"}, {ord("0"): "%30"}]))
def test_no_address_inside_is_taken_in_digits_and_dots_that_are_normalised_elsewhere(
    given_address: IPv4Address, disguise: dict[int, str]
) -> None:
    host = str(given_address).translate(disguise)
    assume(host != str(given_address))

    assert refusal(STRICT, f"https://{host}/")


@settings(deadline=None)
@given(st.one_of(BLOCKED_IPV4, BLOCKED_IPV6, EMBEDDED).map(str))
def test_no_name_leads_to_an_address_inside(inside: str) -> None:
    target = check_url(STRICT, "https://hooks.example.com/")

    with pytest.raises(PrivateAddressError):
        check_addresses(STRICT, target, [PUBLIC, inside])


HOSTS = (
    "hooks.example.com",
    "A.x",
    "1.1.1.1",
    "[2606:4700:0::1111]",
    "10.0.0.1",
    "0x7f.1",
    "[::1]",
    "xn--a.x",
    "",
)
PIECES = (
    ".", "..", ":", "::", "@", "/", "//", "?", "#", "%", "%2e", "%40", "\\", "-", "[", "]", "443", "8443",
    "0", "127", "0177", "0x7f", "2606:4700::1", "::1", "hooks", "example.com", "localhost",
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(HOSTS), st.lists(st.sampled_from(PIECES), max_size=4).map("".join))
@example("1.1.1.1", ":8443/")
@example("[2606:4700:0::1111]", ":8443?@127.0.0.1")
def test_nobody_reads_a_url_that_is_taken_in_another_way(host: str, rest: str) -> None:
    url = f"https://{host}{rest}"
    try:
        target = check_url(STRICT, url)
    except InvalidParamsError:
        return

    assert _read_by_urllib(url) == _read_by_urllib3(url) == (target.host, target.port)
    for literal in _numeric_addresses(target.host):
        assert target.is_literal
        assert is_public(ip_address(literal))


def _read_by_urllib(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return _compressed(parts.hostname or ""), parts.port or 443


def _read_by_urllib3(url: str) -> tuple[str, int]:
    try:
        parts = parse_url(url)
    except LocationParseError:
        return "", 0
    return _compressed((parts.host or "").strip("[]")), parts.port or 443


def _compressed(host: str) -> str:
    return ip_address(host).compressed if ":" in host else host


def _numeric_addresses(host: str) -> list[str]:
    """What the C library makes of the host without asking anybody."""
    try:
        found = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return []
    return [str(each[4][0]) for each in found]
