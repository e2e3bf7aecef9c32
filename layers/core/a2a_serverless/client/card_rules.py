"""The rules that a card has to keep (specification 4.4, 4.5, 5.5, 5.7, 8), each with its section.

Works on the card as JSON, since what is wrong with one is mostly what no type would take. `error` is what a
MUST forbids or a client cannot use; `warning` is a SHOULD, or what some readers stumble over. Pure.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from a2a_serverless.client.card_findings import Finding, Findings, Level, at, error, objects, warning
from a2a_serverless.client.card_ways import interfaces, links, security
from a2a_serverless.protocol.card import (
    AgentCapabilities,
    AgentCard,
    AgentCardSignature,
    AgentExtension,
    AgentInterface,
    AgentProvider,
    AgentSkill,
)
from a2a_serverless.protocol.protojson import ProtoModel, json_name

MEDIA_TYPE: Final = re.compile(r"[\w.+*-]+/[\w.+*-]+(\s*;.*)?")

__all__ = ["Finding", "Level", "findings", "of_headers"]

LEGACY: Final = {
    "url": "supportedInterfaces",
    "preferredTransport": "supportedInterfaces",
    "additionalInterfaces": "supportedInterfaces",
    "protocolVersion": "supportedInterfaces[].protocolVersion",
    "security": "securityRequirements",
    "supportsAuthenticatedExtendedCard": "capabilities.extendedAgentCard",
}
"""Members of cards of version 0.3, and what took their place."""


def findings(card: Mapping[str, Any]) -> list[Finding]:
    """Everything that is wrong with a card, in its own order of rules."""
    return [finding for rule in RULES for finding in rule(card)]


def of_headers(headers: Mapping[str, str]) -> list[Finding]:
    """What is wrong with how a card was served; names of headers in lower case (8.6.1)."""
    return list(_headers(headers))


def _headers(headers: Mapping[str, str]) -> Findings:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", "application/a2a+json"):
        yield warning("Content-Type", f"is {kind or 'missing'}, not application/json", "8.2")
    if "max-age" not in headers.get("cache-control", ""):
        yield warning("Cache-Control", "has no max-age", "8.6.1")
    if "etag" not in headers:
        yield warning("ETag", "is missing", "8.6.1")


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


def _missing(card: Mapping[str, Any]) -> Findings:
    for path, names in REQUIRED.items():
        for where, each in objects(card, path):
            for name in names:
                value = each.get(name)
                if value is None and name not in each:
                    yield error(at(where, name), "is required", "5.7")
                elif value in ("", [], None) or (value == {} and name != "capabilities"):
                    yield error(at(where, name), "is required and empty", "5.7")


def _unknown(card: Mapping[str, Any]) -> Findings:
    for path, kind in KINDS.items():
        known = [json_name(name) for name in kind.model_fields]
        for where, each in objects(card, path):
            for name in each:
                if name not in known:
                    yield _of_unknown(where, name, known)


def _of_unknown(where: str, name: str, known: Sequence[str]) -> Finding:
    place = at(where, name)
    if not where and name in LEGACY:
        return warning(place, f"is of version 0.3; in 1.0 it is {LEGACY[name]}", "4.4.1")
    if json_name(name) in known:
        return error(place, f"is spelled {json_name(name)} in JSON", "5.5")
    similar = get_close_matches(name, known, 1)
    return warning(place, f"is not known{f'; is {similar[0]} meant?' if similar else ''}", "4.4")


def _skills(card: Mapping[str, Any]) -> Findings:
    seen: set[object] = set()
    for where, skill in objects(card, "skills[]"):
        name = skill.get("id")
        if isinstance(name, str) and name in seen:
            yield error(at(where, "id"), f"is there twice: {name}", "4.4.5")
        seen.add(name if isinstance(name, str) else None)
        if not skill.get("examples"):
            yield warning(at(where, "examples"), "would tell callers what to say", "4.4.5")


def _modes(card: Mapping[str, Any]) -> Findings:
    places = [("defaultInputModes", card), ("defaultOutputModes", card)]
    listed = [(name, each.get(name)) for name, each in places]
    for where, skill in objects(card, "skills[]"):
        listed += [(at(where, name), skill.get(name)) for name in ("inputModes", "outputModes")]
    for where, modes in listed:
        for number, mode in enumerate(modes if isinstance(modes, list) else ()):
            if not (isinstance(mode, str) and MEDIA_TYPE.fullmatch(mode)):
                yield error(f"{where}[{number}]", "is no media type, such as text/plain", "4.4.1")


def _extensions(card: Mapping[str, Any]) -> Findings:
    seen: set[str] = set()
    for where, extension in objects(card, "capabilities.extensions[]"):
        uri = extension.get("uri")
        if not (isinstance(uri, str) and ":" in uri):
            yield error(at(where, "uri"), "is no URI", "4.4.4")
            continue
        if uri in seen:
            yield error(at(where, "uri"), "is there twice", "4.4.4")
        seen.add(uri)
        if not re.search(r"\d", uri):
            yield warning(at(where, "uri"), "names no version", "4.6.3")


def _signatures(card: Mapping[str, Any]) -> Findings:
    for where, signature in objects(card, "signatures[]"):
        header = _header_of(signature.get("protected"))
        if header is None:
            yield error(at(where, "protected"), "is no header in base64url", "8.4.2")
            continue
        for name in ("alg", "kid"):
            if not header.get(name):
                yield error(at(where, "protected"), f"names no {name}", "8.4.2")
        if str(header.get("alg", "")).lower() == "none":
            yield error(at(where, "protected"), "is by no algorithm", "8.4.2")
        if header.get("typ") != "JOSE":
            yield warning(at(where, "protected"), "has no typ JOSE", "8.4.2")
        jku = header.get("jku")
        if isinstance(jku, str) and not jku.startswith("https://"):
            yield error(at(where, "protected"), "names keys that are not on https", "8.4.3")


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
    interfaces,
    links,
    security,
    _skills,
    _modes,
    _extensions,
    _signatures,
)
