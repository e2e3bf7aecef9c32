"""A managed A2A 1.0 endpoint for any Python agent, on AWS, with no server to run.

Rooms, from the inside out: `protocol`, `tasks`, `agent` and `ports`, `operations`, then the bindings,
adapters and frameworks around them, and `wiring` on top. This package imports none of them, so that each
function loads only the rooms it needs.
"""
