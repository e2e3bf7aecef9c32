"""The agent card: how an agent describes itself to those who may call it (specification 4.4, 4.5, 8).

Types only. Which claims are true of a deployment, and how a card is signed and served, is decided elsewhere.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from a2a_serverless.protocol.protojson import OneOf, ProtoModel
from a2a_serverless.protocol.scalars import Boolean, NotEmpty, OptionalText, RequiredText, Struct, Text

Texts = tuple[Text, ...]


class StringList(ProtoModel):
    """A list of strings, where the proto needs a message."""

    list: Texts = ()


class SecurityRequirement(ProtoModel):
    """Schemes that must all be satisfied, each with the scopes it needs."""

    schemes: dict[Text, StringList] = Field(default_factory=dict)


class APIKeySecurityScheme(ProtoModel):
    """A key in a header, the query or a cookie."""

    description: OptionalText = None
    location: Literal["query", "header", "cookie"]
    name: RequiredText


class HTTPAuthSecurityScheme(ProtoModel):
    """An HTTP authentication scheme, such as Bearer."""

    description: OptionalText = None
    scheme: RequiredText
    bearer_format: OptionalText = None


class AuthorizationCodeOAuthFlow(ProtoModel):
    """A user grants access in a browser."""

    authorization_url: RequiredText
    token_url: RequiredText
    refresh_url: OptionalText = None
    scopes: dict[Text, Text]
    pkce_required: Boolean = False

    empty_when_absent: ClassVar[Mapping[str, object]] = {"scopes": {}}


class ClientCredentialsOAuthFlow(ProtoModel):
    """A program authenticates as itself."""

    token_url: RequiredText
    refresh_url: OptionalText = None
    scopes: dict[Text, Text]

    empty_when_absent: ClassVar[Mapping[str, object]] = {"scopes": {}}


class ImplicitOAuthFlow(ProtoModel):
    """Deprecated by the specification; read, not recommended."""

    authorization_url: OptionalText = None
    refresh_url: OptionalText = None
    scopes: dict[Text, Text] = Field(default_factory=dict)


class PasswordOAuthFlow(ProtoModel):
    """Deprecated by the specification; read, not recommended."""

    token_url: OptionalText = None
    refresh_url: OptionalText = None
    scopes: dict[Text, Text] = Field(default_factory=dict)


class DeviceCodeOAuthFlow(ProtoModel):
    """A device without a browser is authorised on another one."""

    device_authorization_url: RequiredText
    token_url: RequiredText
    refresh_url: OptionalText = None
    scopes: dict[Text, Text]

    empty_when_absent: ClassVar[Mapping[str, object]] = {"scopes": {}}


class OAuthFlows(OneOf):
    """One OAuth 2.0 flow."""

    alternatives: ClassVar[tuple[str, ...]] = (
        "authorization_code",
        "client_credentials",
        "implicit",
        "password",
        "device_code",
    )

    authorization_code: AuthorizationCodeOAuthFlow | None = None
    client_credentials: ClientCredentialsOAuthFlow | None = None
    implicit: ImplicitOAuthFlow | None = None
    password: PasswordOAuthFlow | None = None
    device_code: DeviceCodeOAuthFlow | None = None


class OAuth2SecurityScheme(ProtoModel):
    """OAuth 2.0."""

    description: OptionalText = None
    flows: OAuthFlows
    oauth2_metadata_url: OptionalText = None


class OpenIdConnectSecurityScheme(ProtoModel):
    """OpenID Connect."""

    description: OptionalText = None
    open_id_connect_url: RequiredText


class MutualTlsSecurityScheme(ProtoModel):
    """A client certificate."""

    description: OptionalText = None


class SecurityScheme(OneOf):
    """One way to authenticate."""

    alternatives: ClassVar[tuple[str, ...]] = (
        "api_key_security_scheme",
        "http_auth_security_scheme",
        "oauth2_security_scheme",
        "open_id_connect_security_scheme",
        "mtls_security_scheme",
    )

    api_key_security_scheme: APIKeySecurityScheme | None = None
    http_auth_security_scheme: HTTPAuthSecurityScheme | None = None
    oauth2_security_scheme: OAuth2SecurityScheme | None = None
    open_id_connect_security_scheme: OpenIdConnectSecurityScheme | None = None
    mtls_security_scheme: MutualTlsSecurityScheme | None = None


class AgentInterface(ProtoModel):
    """Where the agent is reached, by which binding and version."""

    url: RequiredText
    protocol_binding: RequiredText
    tenant: OptionalText = None
    protocol_version: RequiredText


class AgentProvider(ProtoModel):
    """Who runs the agent."""

    url: RequiredText
    organization: RequiredText


class AgentExtension(ProtoModel):
    """An extension the agent speaks; a required one must be declared by the client."""

    uri: OptionalText = None
    description: OptionalText = None
    required: Boolean = False
    params: Struct = Field(default_factory=dict)


class AgentCapabilities(ProtoModel):
    """The optional parts of the protocol. None says nothing, False says no."""

    streaming: Boolean | None = None
    push_notifications: Boolean | None = None
    extensions: tuple[AgentExtension, ...] = ()
    extended_agent_card: Boolean | None = None


class AgentSkill(ProtoModel):
    """Something the agent is good at."""

    id: RequiredText
    name: RequiredText
    description: Text
    tags: Texts
    examples: Texts = ()
    input_modes: Texts = ()
    output_modes: Texts = ()
    security_requirements: tuple[SecurityRequirement, ...] = ()

    empty_when_absent: ClassVar[Mapping[str, object]] = {"description": "", "tags": ()}


class AgentCardSignature(ProtoModel):
    """A JSON Web Signature of the card (8.4): base64url header and signature, and an unprotected header."""

    protected: RequiredText
    signature: RequiredText
    header: Struct = Field(default_factory=dict)


class AgentCard(ProtoModel):
    """What the agent is, what it can do, where and how to call it."""

    name: RequiredText
    description: Text
    supported_interfaces: Annotated[tuple[AgentInterface, ...], NotEmpty]
    provider: AgentProvider | None = None
    version: RequiredText
    documentation_url: Text | None = None
    capabilities: AgentCapabilities
    security_schemes: dict[Text, SecurityScheme] = Field(default_factory=dict)
    security_requirements: tuple[SecurityRequirement, ...] = ()
    default_input_modes: Texts
    default_output_modes: Texts
    skills: tuple[AgentSkill, ...]
    signatures: tuple[AgentCardSignature, ...] = ()
    icon_url: Text | None = None

    empty_when_absent: ClassVar[Mapping[str, object]] = {
        "description": "",
        "default_input_modes": (),
        "default_output_modes": (),
        "skills": (),
    }
