"""The whole deployment on one machine: moto for AWS, our loop for Lambda, an HTTP front for API Gateway.

`python -m infra.local` reads `template.yaml` and `infra/state.yaml` and runs what they declare on 127.0.0.1,
with AWS's limits, one process per Lambda environment. Nothing that is deployed imports this package, and it
imports nothing of the functions.
"""
