"""API Gateway → the agent's card and the health check."""

from mangum import Mangum

from a2a_serverless.bindings.discovery import discovery
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.card import card_desk

handler = Mangum(discovery(card_desk(Settings.from_environment())), lifespan="off")
