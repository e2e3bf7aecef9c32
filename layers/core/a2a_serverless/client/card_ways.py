"""The rules about what leads from a card: its interfaces, its links, and how callers are let in."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from a2a_serverless.client.card_findings import Findings, at, error, objects, warning
from a2a_serverless.protocol.card import SecurityScheme
from a2a_serverless.protocol.errors import InvalidParamsError
from a2a_serverless.protocol.protojson import json_name

BINDINGS: Final = ("JSONRPC", "GRPC", "HTTP+JSON")
VERSION: Final = re.compile(r"\d+\.\d+")
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
SECRET_NAMES: Final = re.compile(r"(?i)(token|secret|password|passwd|api[_-]?key|signature|credential)")


def interfaces(card: Mapping[str, Any]) -> Findings:
    """Where and how the agent is called (4.4.6, 5.8, 8.3)."""
    seen: set[tuple[object, ...]] = set()
    for where, each in objects(card, "supportedInterfaces[]"):
        if isinstance(url := each.get("url"), str) and url:
            yield from _address(at(where, "url"), url)
        binding = each.get("protocolBinding")
        if isinstance(binding, str) and binding and binding not in BINDINGS and ":" not in binding:
            similar = get_close_matches(binding.upper(), BINDINGS, 1, 0.5)
            hint = f"; is {similar[0]} meant?" if similar else ""
            text = f"is none of {', '.join(BINDINGS)}, and no URI of a custom binding{hint}"
            yield error(at(where, "protocolBinding"), text, "5.8")
        version = each.get("protocolVersion")
        if isinstance(version, str) and version and not VERSION.fullmatch(version):
            yield error(at(where, "protocolVersion"), "is not Major.Minor, such as 1.0", "3.6")
        key = (url, binding, version, each.get("tenant"))
        if key in seen:
            yield warning(where, "is there twice", "8.3.1")
        seen.add(key)


def _address(where: str, url: str) -> Findings:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        yield error(where, "is no address", "4.4.6")
        return
    if not parts.scheme or not (host or parts.scheme not in ("http", "https")):
        yield error(where, "is no absolute address", "4.4.6")
    elif parts.scheme == "http":
        level = warning if host in LOOPBACK else error
        yield level(where, "is not https, as production must be", "7.1")
    if host in ("0.0.0.0", "::"):  # noqa: S104  that is the point
        yield error(where, "is where a server listens, and no place to call", "4.4.6")
    yield from _secrets(where, url)


def _secrets(where: str, url: str) -> Findings:
    parts = urlsplit(url)
    if parts.username or parts.password:
        yield error(where, "holds credentials, which everybody can read", "14.3")
    for name, _ in parse_qsl(parts.query):
        if SECRET_NAMES.search(name):
            yield warning(where, f"has {name} in its query, which everybody can read", "14.3")


def links(card: Mapping[str, Any]) -> Findings:
    """What else the card leads to."""
    provider = card.get("provider")
    given = [("documentationUrl", card.get("documentationUrl")), ("iconUrl", card.get("iconUrl"))]
    given += [("provider.url", provider.get("url"))] if isinstance(provider, Mapping) else []
    for where, url in given:
        if isinstance(url, str) and url:
            if not url.startswith(("https://", "http://", "data:")):
                yield warning(where, "is no absolute address", "4.4.1")
            else:
                yield from _secrets(where, url)


def security(card: Mapping[str, Any]) -> Findings:
    """How callers say who they are (4.5)."""
    schemes = card.get("securitySchemes")
    schemes = schemes if isinstance(schemes, Mapping) else {}
    used: set[str] = set()
    for path in ("securityRequirements[]", "skills[].securityRequirements[]"):
        for where, requirement in objects(card, path):
            listed = requirement.get("schemes")
            if not isinstance(listed, Mapping):
                yield error(where, 'is written {"schemes": {"name": {"list": []}}}', "4.5")
                continue
            used |= set(listed)
            for name in listed:
                if name not in schemes:
                    yield error(f"{where}.schemes.{name}", "is no scheme of securitySchemes", "4.5")
    for name, scheme in schemes.items():
        yield from _scheme(f"securitySchemes.{name}", scheme)
        if name not in used:
            yield warning(f"securitySchemes.{name}", "is required by nothing", "4.5")
    capabilities = card.get("capabilities")
    if isinstance(capabilities, Mapping) and capabilities.get("extendedAgentCard") and not schemes:
        text = "is announced without a scheme by which callers say who they are"
        yield error("capabilities.extendedAgentCard", text, "3.1.11")


def _scheme(where: str, scheme: object) -> Findings:
    known = [json_name(name) for name in SecurityScheme.alternatives]
    kinds = [name for name in scheme if name in known] if isinstance(scheme, Mapping) else []
    if len(kinds) != 1 or not isinstance(scheme, Mapping):
        yield error(where, f"is none of {', '.join(known)}", "4.5.1")
        return
    try:
        SecurityScheme.from_dict(scheme)
    except InvalidParamsError as refused:
        faults = "; ".join(f"{each.field} {each.description}" for each in refused.violations)
        yield error(where, faults or "is not well formed", "4.5.1")
