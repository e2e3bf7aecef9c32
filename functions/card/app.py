"""API Gateway → the agent's card, the keys that verify its webhooks, and the health check."""

from mangum import Mangum

from a2a_serverless.bindings.discovery import discovery
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.card import card_desk, key_desk

SETTINGS = Settings.from_environment()
handler = Mangum(discovery(card_desk(SETTINGS), key_desk(SETTINGS)), lifespan="off")
