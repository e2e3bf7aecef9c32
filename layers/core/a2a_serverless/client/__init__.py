"""The other side of the protocol: what a program does that calls agents.

Stands beside bindings and adapters and knows neither: whoever calls an agent need not be a deployment, nor on
AWS. What verifies signatures needs the packages of the extra `signing`, and loads them when it is used.
"""
