"""The agent card and its security schemes (specification 4.4, 4.5)."""

from typing import Any

import pytest

from a2a_serverless.protocol.card import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    ClientCredentialsOAuthFlow,
    OAuth2SecurityScheme,
    OAuthFlows,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a_serverless.protocol.errors import InvalidParamsError

INTERFACE = AgentInterface(url="https://example.com", protocol_binding="JSONRPC", protocol_version="1.0")
SCHEMES: dict[str, Any] = {
    "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
    "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"}},
    "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://example.com/oidc"}},
    "m_tls": {"mtlsSecurityScheme": {}},
    "oauth": {
        "oauth2SecurityScheme": {
            "flows": {"clientCredentials": {"tokenUrl": "https://example.com/token", "scopes": {}}}
        }
    },
}


def card(**changes: Any) -> AgentCard:
    empty = AgentCard(
        name="Echo",
        description="",
        supported_interfaces=(INTERFACE,),
        version="1",
        capabilities=AgentCapabilities(),
        default_input_modes=(),
        default_output_modes=(),
        skills=(),
    )
    return empty.model_copy(update=changes)


def blamed(value: object) -> list[tuple[str, str]]:
    with pytest.raises(InvalidParamsError) as refused:
        AgentCard.from_dict(value)
    return [(violation.field, violation.description) for violation in refused.value.violations]


def test_required_fields_are_printed_even_when_empty_and_no_others() -> None:
    assert card().to_dict() == {
        "name": "Echo",
        "description": "",
        "supportedInterfaces": [
            {"url": "https://example.com", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "version": "1",
        "capabilities": {},
        "defaultInputModes": [],
        "defaultOutputModes": [],
        "skills": [],
    }


def test_a_card_whose_printer_left_out_empty_fields_is_read() -> None:
    sparse = {key: value for key, value in card().to_dict().items() if value not in ("", [])}

    assert AgentCard.from_dict(sparse) == card()


def test_a_card_without_a_name_an_address_or_capabilities_is_refused() -> None:
    assert blamed({"version": "1"}) == [
        ("name", "is required"),
        ("supportedInterfaces", "is required"),
        ("capabilities", "is required"),
    ]
    assert blamed(card().to_dict() | {"supportedInterfaces": []}) == [
        ("supportedInterfaces", "must have at least one element")
    ]


def test_a_capability_that_is_denied_is_printed_and_one_not_mentioned_is_not() -> None:
    announced = AgentCapabilities(streaming=False, push_notifications=True)

    assert announced.to_dict() == {"streaming": False, "pushNotifications": True}


def test_an_optional_url_that_was_set_is_kept_even_when_empty() -> None:
    assert card(icon_url="").to_dict()["iconUrl"] == ""


def test_every_security_scheme_survives_reading_and_printing_under_its_own_name() -> None:
    assert (
        AgentCard.from_dict(card().to_dict() | {"securitySchemes": SCHEMES}).to_dict()["securitySchemes"]
        == SCHEMES
    )


def test_a_requirement_names_schemes_and_their_scopes() -> None:
    required = SecurityRequirement(schemes={"oauth": StringList(list=("read",)), "bearer": StringList()})

    assert required.to_dict() == {"schemes": {"oauth": {"list": ["read"]}, "bearer": {}}}
    assert SecurityRequirement.from_json(required.to_json()) == required


@pytest.mark.parametrize(
    ("scheme", "field", "description"),
    [
        ({}, "", "must have exactly one of apiKeySecurityScheme, httpAuthSecurityScheme, "),
        (SCHEMES["key"] | SCHEMES["bearer"], "", "must have exactly one of apiKeySecurityScheme, "),
        ({"apiKeySecurityScheme": {"location": "body", "name": "k"}}, ".apiKeySecurityScheme.location", ""),
        ({"httpAuthSecurityScheme": {}}, ".httpAuthSecurityScheme.scheme", "is required"),
        ({"oauth2SecurityScheme": {}}, ".oauth2SecurityScheme.flows", "is required"),
        (
            {"oauth2SecurityScheme": {"flows": {}}},
            ".oauth2SecurityScheme.flows",
            "must have exactly one of authorizationCode, clientCredentials, implicit, password, deviceCode",
        ),
        (
            {"oauth2SecurityScheme": {"flows": {"deviceCode": {"tokenUrl": "https://example.com"}}}},
            ".oauth2SecurityScheme.flows.deviceCode.deviceAuthorizationUrl",
            "is required",
        ),
    ],
)
def test_a_broken_security_scheme_is_refused_by_its_path(
    scheme: dict[str, Any], field: str, description: str
) -> None:
    ((path, why),) = blamed(card().to_dict() | {"securitySchemes": {"my_scheme": scheme}})

    assert path == "securitySchemes.my_scheme" + field
    assert why.startswith(description)


def test_a_scheme_is_written_in_python_by_the_specifications_names() -> None:
    flow = ClientCredentialsOAuthFlow(token_url="https://example.com/token", scopes={})
    flows = OAuthFlows(client_credentials=flow)
    scheme = SecurityScheme(oauth2_security_scheme=OAuth2SecurityScheme(flows=flows))

    assert scheme.to_dict() == SCHEMES["oauth"]
