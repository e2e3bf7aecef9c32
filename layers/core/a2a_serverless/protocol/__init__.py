"""The A2A 1.0.1 specification as types: what may be said on the wire, and nothing about saying it.

Objects, events, requests, the agent card, errors, the table of operations and the service parameters. The
proto file is the normative source of the data, ProtoJSON its JSON. Knows no storage, no clock, no HTTP
server, no AWS.
"""
