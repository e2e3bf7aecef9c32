"""The rules that a card has to keep (specification 4.4, 4.5, 5.5, 5.7, 8), each with its section.

Works on the card as JSON, since what is wrong with one is mostly what no type would take. `error` is what a
MUST forbids or a client cannot use; `warning` is a SHOULD, or what some readers stumble over. Pure.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from a2a_serverless.protocol.card import (
    AgentCapabilities,
    AgentCard,
    AgentCardSignature,
    AgentExtension,
    AgentInterface,
    AgentProvider,
    AgentSkill,
    SecurityScheme,
)
from a2a_serverless.protocol.protojson import ProtoModel, json_name

BINDINGS: Final = ("JSONRPC", "GRPC", "HTTP+JSON")
VERSION: Final = re.compile(r"\d+\.\d+")
MEDIA_TYPE: Final = re.compile(r"[\w.+*-]+/[\w.+*-]+(\s*;.*)?")
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
SECRET_NAMES: Final = re.compile(r"(?i)(token|secret|password|passwd|api[_-]?key|signature|credential)")

LEGACY: Final = {
    "url": "supportedInterfaces",
    "preferredTransport": "supportedInterfaces",
    "additionalInterfaces": "supportedInterfaces",
    "protocolVersion": "supportedInterfaces[].protocolVersion",
    "security": "securityRequirements",
    "supportsAuthenticatedExtendedCard": "capabilities.extendedAgentCard",
}
"""Members of cards of version 0.3, and what took their place."""


class Level(StrEnum):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, where in the card, and the section of the specification that says so."""

    level: Level
    where: str
    text: str
    section: str


Findings = Iterator[Finding]


def findings(card: Mapping[str, Any]) -> list[Finding]:
    """Everything that is wrong with a card, in its own order of rules."""
    return [finding for rule in RULES for finding in rule(card)]


def of_headers(headers: Mapping[str, str]) -> list[Finding]:
    """What is wrong with how a card was served; names of headers in lower case (8.6.1)."""
    return list(_headers(headers))


def _headers(headers: Mapping[str, str]) -> Findings:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", "application/a2a+json"):
        yield _warning("Content-Type", f"is {kind or 'missing'}, not application/json", "8.2")
    if "max-age" not in headers.get("cache-control", ""):
        yield _warning("Cache-Control", "has no max-age", "8.6.1")
    if "etag" not in headers:
        yield _warning("ETag", "is missing", "8.6.1")


def _error(where: str, text: str, section: str) -> Finding:
    return Finding(Level.ERROR, where, text, section)


def _warning(where: str, text: str, section: str) -> Finding:
    return Finding(Level.WARNING, where, text, section)


# --- members ------------------------------------------------------------------

REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "": (
        *("name", "description", "supportedInterfaces", "version", "capabilities"),
        *("defaultInputModes", "defaultOutputModes", "skills"),
    ),
    "supportedInterfaces[]": ("url", "protocolBinding", "protocolVersion"),
    "skills[]": ("id", "name", "description", "tags"),
    "provider": ("url", "organization"),
    "signatures[]": ("protected", "signature"),
}
"""Members that must be there and not be empty (5.7), by where."""

KINDS: Final[Mapping[str, type[ProtoModel]]] = {
    "": AgentCard,
    "supportedInterfaces[]": AgentInterface,
    "skills[]": AgentSkill,
    "provider": AgentProvider,
    "capabilities": AgentCapabilities,
    "capabilities.extensions[]": AgentExtension,
    "signatures[]": AgentCardSignature,
}


def _objects(card: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects at a path, each with where it is."""
    found: list[tuple[str, Any]] = [("", card)]
    for step in filter(None, path.split(".")):
        name, many = step.removesuffix("[]"), step.endswith("[]")
        below = [(_at(where, name), each.get(name)) for where, each in found if isinstance(each, Mapping)]
        if many:
            below = [
                (f"{where}[{number}]", each)
                for where, listed in below
                if isinstance(listed, list)
                for number, each in enumerate(listed)
            ]
        found = below
    yield from ((where, each) for where, each in found if isinstance(each, Mapping))


def _at(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _missing(card: Mapping[str, Any]) -> Findings:
    for path, names in REQUIRED.items():
        for where, each in _objects(card, path):
            for name in names:
                value = each.get(name)
                if value is None and name not in each:
                    yield _error(_at(where, name), "is required", "5.7")
                elif value in ("", [], None) or (value == {} and name != "capabilities"):
                    yield _error(_at(where, name), "is required and empty", "5.7")


def _unknown(card: Mapping[str, Any]) -> Findings:
    for path, kind in KINDS.items():
        known = [json_name(name) for name in kind.model_fields]
        for where, each in _objects(card, path):
            for name in each:
                if name not in known:
                    yield _of_unknown(where, name, known)


def _of_unknown(where: str, name: str, known: Sequence[str]) -> Finding:
    at = _at(where, name)
    if not where and name in LEGACY:
        return _warning(at, f"is of version 0.3; in 1.0 it is {LEGACY[name]}", "4.4.1")
    if json_name(name) in known:
        return _error(at, f"is spelled {json_name(name)} in JSON", "5.5")
    similar = get_close_matches(name, known, 1)
    return _warning(at, f"is not known{f'; is {similar[0]} meant?' if similar else ''}", "4.4")


# --- interfaces ---------------------------------------------------------------


def _interfaces(card: Mapping[str, Any]) -> Findings:
    seen: set[tuple[object, ...]] = set()
    for where, each in _objects(card, "supportedInterfaces[]"):
        if isinstance(url := each.get("url"), str) and url:
            yield from _address(_at(where, "url"), url)
        binding = each.get("protocolBinding")
        if isinstance(binding, str) and binding and binding not in BINDINGS and ":" not in binding:
            similar = get_close_matches(binding.upper(), BINDINGS, 1, 0.5)
            hint = f"; is {similar[0]} meant?" if similar else ""
            text = f"is none of {', '.join(BINDINGS)}, and no URI of a custom binding{hint}"
            yield _error(_at(where, "protocolBinding"), text, "5.8")
        version = each.get("protocolVersion")
        if isinstance(version, str) and version and not VERSION.fullmatch(version):
            yield _error(_at(where, "protocolVersion"), "is not Major.Minor, such as 1.0", "3.6")
        key = (url, binding, version, each.get("tenant"))
        if key in seen:
            yield _warning(where, "is there twice", "8.3.1")
        seen.add(key)


def _address(where: str, url: str) -> Findings:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        yield _error(where, "is no address", "4.4.6")
        return
    if not parts.scheme or not (host or parts.scheme not in ("http", "https")):
        yield _error(where, "is no absolute address", "4.4.6")
    elif parts.scheme == "http":
        level = _warning if host in LOOPBACK else _error
        yield level(where, "is not https, as production must be", "7.1")
    if host in ("0.0.0.0", "::"):  # noqa: S104  that is the point
        yield _error(where, "is where a server listens, and no place to call", "4.4.6")
    yield from _secrets(where, url)


def _secrets(where: str, url: str) -> Findings:
    parts = urlsplit(url)
    if parts.username or parts.password:
        yield _error(where, "holds credentials, which everybody can read", "14.3")
    for name, _ in parse_qsl(parts.query):
        if SECRET_NAMES.search(name):
            yield _warning(where, f"has {name} in its query, which everybody can read", "14.3")


def _links(card: Mapping[str, Any]) -> Findings:
    provider = card.get("provider")
    links = [("documentationUrl", card.get("documentationUrl")), ("iconUrl", card.get("iconUrl"))]
    links += [("provider.url", provider.get("url"))] if isinstance(provider, Mapping) else []
    for where, url in links:
        if isinstance(url, str) and url:
            if not url.startswith(("https://", "http://", "data:")):
                yield _warning(where, "is no absolute address", "4.4.1")
            else:
                yield from _secrets(where, url)


# --- security -----------------------------------------------------------------


def _security(card: Mapping[str, Any]) -> Findings:
    schemes = card.get("securitySchemes")
    schemes = schemes if isinstance(schemes, Mapping) else {}
    used: set[str] = set()
    for path in ("securityRequirements[]", "skills[].securityRequirements[]"):
        for where, requirement in _objects(card, path):
            listed = requirement.get("schemes")
            if not isinstance(listed, Mapping):
                yield _error(where, 'is written {"schemes": {"name": {"list": []}}}', "4.5")
                continue
            used |= set(listed)
            for name in listed:
                if name not in schemes:
                    yield _error(f"{where}.schemes.{name}", "is no scheme of securitySchemes", "4.5")
    for name, scheme in schemes.items():
        yield from _scheme(f"securitySchemes.{name}", scheme)
        if name not in used:
            yield _warning(f"securitySchemes.{name}", "is required by nothing", "4.5")
    capabilities = card.get("capabilities")
    if isinstance(capabilities, Mapping) and capabilities.get("extendedAgentCard") and not schemes:
        text = "is announced without a scheme by which callers say who they are"
        yield _error("capabilities.extendedAgentCard", text, "3.1.11")


def _scheme(where: str, scheme: object) -> Findings:
    known = [json_name(name) for name in SecurityScheme.alternatives]
    kinds = [name for name in scheme if name in known] if isinstance(scheme, Mapping) else []
    if len(kinds) != 1 or not isinstance(scheme, Mapping):
        yield _error(where, f"is none of {', '.join(known)}", "4.5.1")
        return
    try:
        SecurityScheme.from_dict(scheme)
    except Exception as error:  # noqa: BLE001  whatever the type refuses is what is wrong with it
        faults = getattr(error, "violations", ())
        said = "; ".join(f"{each.field} {each.description}" for each in faults)
        yield _error(where, said or "is not well formed", "4.5.1")


# --- the rest -----------------------------------------------------------------


def _skills(card: Mapping[str, Any]) -> Findings:
    seen: set[object] = set()
    for where, skill in _objects(card, "skills[]"):
        name = skill.get("id")
        if isinstance(name, str) and name in seen:
            yield _error(_at(where, "id"), f"is there twice: {name}", "4.4.5")
        seen.add(name if isinstance(name, str) else None)
        if not skill.get("examples"):
            yield _warning(_at(where, "examples"), "would tell callers what to say", "4.4.5")


def _modes(card: Mapping[str, Any]) -> Findings:
    places = [("defaultInputModes", card), ("defaultOutputModes", card)]
    listed = [(name, each.get(name)) for name, each in places]
    for where, skill in _objects(card, "skills[]"):
        listed += [(_at(where, name), skill.get(name)) for name in ("inputModes", "outputModes")]
    for where, modes in listed:
        for number, mode in enumerate(modes if isinstance(modes, list) else ()):
            if not (isinstance(mode, str) and MEDIA_TYPE.fullmatch(mode)):
                yield _error(f"{where}[{number}]", "is no media type, such as text/plain", "4.4.1")


def _extensions(card: Mapping[str, Any]) -> Findings:
    seen: set[str] = set()
    for where, extension in _objects(card, "capabilities.extensions[]"):
        uri = extension.get("uri")
        if not (isinstance(uri, str) and ":" in uri):
            yield _error(_at(where, "uri"), "is no URI", "4.4.4")
            continue
        if uri in seen:
            yield _error(_at(where, "uri"), "is there twice", "4.4.4")
        seen.add(uri)
        if not re.search(r"\d", uri):
            yield _warning(_at(where, "uri"), "names no version", "4.6.3")


def _signatures(card: Mapping[str, Any]) -> Findings:
    for where, signature in _objects(card, "signatures[]"):
        header = _header_of(signature.get("protected"))
        if header is None:
            yield _error(_at(where, "protected"), "is no header in base64url", "8.4.2")
            continue
        for name in ("alg", "kid"):
            if not header.get(name):
                yield _error(_at(where, "protected"), f"names no {name}", "8.4.2")
        if str(header.get("alg", "")).lower() == "none":
            yield _error(_at(where, "protected"), "is by no algorithm", "8.4.2")
        if header.get("typ") != "JOSE":
            yield _warning(_at(where, "protected"), "has no typ JOSE", "8.4.2")
        jku = header.get("jku")
        if isinstance(jku, str) and not jku.startswith("https://"):
            yield _error(_at(where, "protected"), "names keys that are not on https", "8.4.3")


def _header_of(protected: object) -> Mapping[str, Any] | None:
    if not isinstance(protected, str):
        return None
    try:
        header = json.loads(base64.urlsafe_b64decode(protected + "=" * (-len(protected) % 4)))
    except (binascii.Error, ValueError):
        return None
    return header if isinstance(header, Mapping) else None


RULES: Final[Sequence[Callable[[Mapping[str, Any]], Findings]]] = (
    _missing,
    _unknown,
    _interfaces,
    _links,
    _security,
    _skills,
    _modes,
    _extensions,
    _signatures,
)
