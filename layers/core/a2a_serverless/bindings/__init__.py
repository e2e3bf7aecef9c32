"""The wire: how the operations are reached over JSON-RPC and HTTP+JSON, and how the agent is discovered.

Every binding turns one HTTP request into one HTTP response, both plain values: `gateway` alone knows the
shape in which API Gateway delivers them. Nothing here decides anything about a task, and nothing here loads
a web framework except `discovery`, which only the card's function imports.
"""
