"""API Gateway → the agent's card, the keys that verify its webhooks, and the health check."""

from mangum import Mangum

from a2a_serverless.bindings.discovery import TEXT, discovery
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.card import card_desk, key_desk

SETTINGS = Settings.from_environment()
APPLICATION = discovery(card_desk(SETTINGS), key_desk(SETTINGS))

handler = Mangum(APPLICATION, lifespan="off", text_mime_types=[*TEXT])
