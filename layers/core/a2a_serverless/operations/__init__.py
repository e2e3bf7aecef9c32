"""One function per operation of the specification, and the protocol of storage they share.

Plain synchronous functions over `Ports`: they know the specification and the rules that keep a task whole,
and nothing of AWS, HTTP, the environment or logging. Every flow is a sequence of single-item writes, each
of which may be the last one this process makes; whoever comes next (a retry, the sweeper) finishes it.
"""
