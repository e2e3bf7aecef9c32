"""Takes out of the built dependencies layer what no function opens; run by `sam build`, never on Lambda.

botocore describes every AWS service there is, 30 MB of them; a function opens the few named here. This file
knows the layout of installed wheels and nothing of the project. A client for a service that is missing here
works on a laptop and fails on Lambda, so a test compares the list with the clients the package makes.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

SERVICES = frozenset(
    {
        "bedrock-runtime",
        "dynamodb",
        "events",
        "kms",
        "lambda",
        "s3",
        "secretsmanager",
        "sqs",
        "ssm",
        "stepfunctions",
        "sts",
    }
)
"""The services whose descriptions stay, by botocore's folder names."""

UNUSED = (
    "*.dist-info/RECORD",  # lists files, and no longer the right ones
    "anyio/_backends/_trio.py",  # asyncio is the loop
    "anyio/pytest_plugin.py",
    "aws_lambda_powertools/event_handler/openapi/swagger_ui",
    "bin",
    "boto3/data",  # boto3's resources; functions make plain clients
    "boto3/examples",
    "botocore/data/*/*/examples-1.json*",
    "dateutil/zoneinfo/*.tar.gz",  # Lambda has time zones of its own
    "fastapi/testclient.py",
    "pydantic/mypy.py",
    "pydantic/v1",  # FastAPI would load all of it to see that no model is that old
    "starlette/testclient.py",
    "urllib3/contrib/emscripten",  # for browsers
)
"""What documentation, consoles and other systems need, as patterns under the layer's python folder."""


def superfluous(python: Path) -> Iterator[Path]:
    """Everything under the layer's python folder that is to go."""
    # Plain files in this folder (endpoints, partitions, retries, default configuration) serve every client.
    services = (path for path in (python / "botocore" / "data").iterdir() if path.is_dir())
    yield from (path for path in services if path.name not in SERVICES)
    for pattern in UNUSED:
        yield from python.glob(pattern)


def prune(python: Path) -> None:
    """Remove it from the layer whose python folder this is."""
    for path in list(superfluous(python)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    prune(Path(sys.argv[1]))
