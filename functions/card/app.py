"""API Gateway → the agent's card, the keys that verify it and its webhooks, and the health check."""

from mangum import Mangum

from a2a_serverless.bindings.discovery import TEXT, discovery
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.card import card_desk, incidents_of, key_desk, signing

SETTINGS = Settings.from_environment()
SIGNING = signing(SETTINGS)
APPLICATION = discovery(card_desk(SETTINGS, SIGNING), incidents_of(SETTINGS), key_desk(SETTINGS, SIGNING))

handler = Mangum(APPLICATION, lifespan="off", text_mime_types=[*TEXT])
