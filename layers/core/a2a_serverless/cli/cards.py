"""`a2a-serverless discover` and `extended-card`: a card as people read it, and as it was received."""

import json
from collections.abc import Iterator, Sequence

from a2a_serverless.cli.agent_choice import chosen_agent
from a2a_serverless.cli.calling_options import Calling
from a2a_serverless.cli.connecting import connected
from a2a_serverless.cli.output import readable, shown
from a2a_serverless.client import Discovered
from a2a_serverless.protocol.card import AgentCard, AgentSkill, SecurityScheme
from a2a_serverless.protocol.protojson import parse_json


def show_card(calling: Calling, address: str | None, *, extended: bool) -> None:
    """Print the card of an agent, or the one that it shows to this caller.

    Raises:
        Failure: there is none, or nobody who is trusted has signed it.
    """
    agent = connected(calling, chosen_agent(calling, address))

    async def read() -> tuple[AgentCard, Discovered | None]:
        if not extended:
            found = await agent.discovered()
            return found.card, found
        async with agent.client() as client:
            return await client.get_extended_agent_card(), None

    card, found = agent.run(read())
    if calling.as_json:
        members = parse_json(found.text) if found is not None else card.to_dict()
        print(json.dumps(members, indent=2, ensure_ascii=False))
        return
    for line in described(card):
        print(line)
    if found is not None:
        print(f"\n{_verified(found)}")


def described(card: AgentCard) -> Iterator[str]:
    """A card in lines."""
    yield shown(f"{card.name} {card.version}")
    yield readable(card.description)
    by = f"{card.provider.organization} ({card.provider.url})" if card.provider else ""
    facts = (
        ("by", by),
        ("documentation", card.documentation_url or ""),
        ("takes", ", ".join(card.default_input_modes)),
        ("gives", ", ".join(card.default_output_modes)),
        ("can", ", ".join(_capabilities(card))),
        ("asks for", " or ".join(_requirements(card)) or "no credentials"),
    )
    yield ""
    for name, fact in facts:
        if fact:
            yield shown(f"{name:14}{fact}")
    yield "\nIs called at"
    for each in card.supported_interfaces:
        tenant = f", tenant {each.tenant}" if each.tenant else ""
        yield shown(f"  {each.protocol_binding} {each.protocol_version}  {each.url}{tenant}")
    if card.capabilities.extensions:
        yield "\nExtensions"
        for extension in card.capabilities.extensions:
            needed = " (required)" if extension.required else ""
            yield shown(f"  {extension.uri}{needed}  {extension.description or ''}".rstrip())
    yield from _skills(card.skills)


def _capabilities(card: AgentCard) -> Iterator[str]:
    said = card.capabilities
    if said.streaming:
        yield "stream"
    if said.push_notifications:
        yield "call webhooks"
    if said.extended_agent_card:
        yield "show callers a card of their own"


def _requirements(card: AgentCard) -> Iterator[str]:
    for requirement in card.security_requirements:
        yield " and ".join(_scheme(name, card.security_schemes.get(name)) for name in requirement.schemes)


def _scheme(name: str, scheme: SecurityScheme | None) -> str:
    if scheme is None:
        return name
    if scheme.http_auth_security_scheme is not None:
        return f"{name} ({scheme.http_auth_security_scheme.scheme})"
    if scheme.api_key_security_scheme is not None:
        key = scheme.api_key_security_scheme
        return f"{name} (a key in the {key.location} {key.name})"
    kinds = {
        "oauth2_security_scheme": "OAuth 2.0",
        "open_id_connect_security_scheme": "OpenID Connect",
        "mtls_security_scheme": "a client certificate",
    }
    return f"{name} ({kinds.get(scheme.which() or '', 'unknown')})"


def _skills(skills: Sequence[AgentSkill]) -> Iterator[str]:
    for skill in skills:
        yield ""
        yield shown(f"Skill {skill.id}: {skill.name}")
        if skill.description:
            yield f"  {readable(skill.description)}"
        if skill.tags:
            yield shown(f"  tags: {', '.join(skill.tags)}")
        for example in skill.examples:
            yield shown(f"  such as: {example}")


def _verified(found: Discovered) -> str:
    if found.verification is not None:
        return shown(f"Signed: {found.verification.detail}.")
    if found.card.signatures:
        return "It is signed; --jwks or --trust-jku says whom to trust about that."
    return "It is not signed."
