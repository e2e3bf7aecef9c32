"""Bridges: agents written with a framework, served as they are. One module each, and what they share.

A bridge imports its framework when it is imported itself, and nobody imports a bridge but a deployer's
agent, so only the function that runs turns pays for one. Knows the public API for agents and the framework.
"""
