"""The Lambda runtime loop: what stands between the Lambda Runtime API and a handler, with streamed answers.

The managed Python runtime posts one whole result per invocation and cannot stream. This package replaces it:
`bootstrap` (the exec wrapper beside it) starts it in place of the stock client. Standard library only, and it
knows nothing of A2A, of this repository's functions or of any web framework; it runs any handler written for
the stock runtime.
"""
