"""The life of a task, pure: which states follow which, what a log of events adds up to, and what a caller sees of it.

Knows no storage, no wire, no clock and no agent: callers pass times and identifiers in, and get values back.
"""
