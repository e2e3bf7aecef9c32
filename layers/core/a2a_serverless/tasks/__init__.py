"""The life of a task, pure: which states follow which, what a log adds up to, what callers see of it.

Knows no storage, no wire, no clock and no agent: callers pass times and identifiers in, and get values back.
"""
