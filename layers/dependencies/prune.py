"""Takes out of the built dependencies layer what no function opens; run by `sam build`, never on Lambda.

botocore describes every AWS service there is, 30 MB of them; a function opens the few named here. This file knows
the layout of installed wheels and nothing of the project; a client for a service that is missing here works on a
laptop and fails on Lambda, so a test compares the list with the clients the package makes.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

SERVICES = frozenset(
    {"dynamodb", "events", "kms", "lambda", "s3", "secretsmanager", "sqs", "ssm", "stepfunctions", "sts"}
)
"""The services whose descriptions stay, by botocore's folder names."""

UNUSED = ("bin", "boto3/data", "boto3/examples")
"""What boto3's resources, its documentation and consoles need; functions make plain clients."""


def superfluous(python: Path) -> Iterator[Path]:
    """Everything under the layer's python folder that is to go."""
    yield from (python / name for name in UNUSED if (python / name).exists())
    # Plain files in this folder (endpoints, partitions, retries, default configuration) serve every client.
    services = (path for path in (python / "botocore" / "data").iterdir() if path.is_dir())
    yield from (path for path in services if path.name not in SERVICES)
    yield from (path for path in (python / "botocore" / "data").rglob("examples-1.json*"))


def main(python: Path) -> None:
    """Remove it."""
    for path in list(superfluous(python)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
