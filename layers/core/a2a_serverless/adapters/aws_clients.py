"""How this package talks to AWS: one botocore session, and clients whose time limits fit a Lambda function.

The environment (region, credentials, `AWS_ENDPOINT_URL`) is botocore's own to read. boto3 is not imported:
its clients are botocore's, and a cold start is shorter without it.
"""

from typing import TYPE_CHECKING, Any, cast

from botocore.config import Config
from botocore.session import Session, get_session

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_kms.client import KMSClient
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_stepfunctions.client import SFNClient

    from a2a_serverless.adapters.aws_values import SecretsManagerClient, SsmClient
    from a2a_serverless.adapters.cloudformation_stacks import CloudFormationClient
    from a2a_serverless.adapters.eventbridge_events import EventsClient

CONNECTIONS = 25
"""Connections kept open per client: a request, a turn's threads and its flushing timer share them."""

LINKS = Config(
    signature_version="s3v4",
    s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"},
)
"""How links are signed: by version 4, without which newer Regions refuse them, and for the Region's own host.

The SDK's own choice is the host of all Regions, which sends a link to a young bucket on to another host, for
which it is not signed.
"""


def _config(read_timeout: float) -> Config:
    """Standard retries: four attempts with back-off and jitter, throttles and lost connections included."""
    return Config(
        connect_timeout=1.0,
        read_timeout=read_timeout,
        retries={"mode": "standard", "total_max_attempts": 4},
        tcp_keepalive=True,
        max_pool_connections=CONNECTIONS,
        user_agent_extra="a2a-serverless",
    )


class AwsClients:
    """Clients of one session, so that credentials and service models are read once.

    A read of a small item answers in milliseconds or not at all, hence 3 s; an object of megabytes may take
    longer, hence 20 s.
    """

    def __init__(self, session: Session | None = None) -> None:
        self._session = session or get_session()

    def dynamodb(self) -> "DynamoDBClient":
        """The client of the table."""
        return cast("DynamoDBClient", self._session.create_client("dynamodb", config=_config(3.0)))

    def s3(self) -> "S3Client":
        """The client of the bucket."""
        config = _config(20.0).merge(LINKS)
        return cast("S3Client", self._session.create_client("s3", config=config))

    def stepfunctions(self) -> "SFNClient":
        """The client of the state machine."""
        return cast("SFNClient", self._session.create_client("stepfunctions", config=_config(5.0)))

    def sqs(self) -> "SQSClient":
        """The client of the queues; letters are waited for up to a second."""
        return cast("SQSClient", self._session.create_client("sqs", config=_config(5.0)))

    def kms(self) -> "KMSClient":
        """The client of the key that seals secrets."""
        return cast("KMSClient", self._session.create_client("kms", config=_config(3.0)))

    def events(self) -> "EventsClient":
        """The client of the event bus."""
        return cast("EventsClient", self._session.create_client("events", config=_config(5.0)))

    def secretsmanager(self) -> "SecretsManagerClient":
        """The client of the secret that says who may call."""
        return cast(
            "SecretsManagerClient", self._session.create_client("secretsmanager", config=_config(3.0))
        )

    def ssm(self) -> "SsmClient":
        """The client of the parameter that says who may call."""
        return cast("SsmClient", self._session.create_client("ssm", config=_config(3.0)))

    def bedrock_runtime(self) -> Any:  # noqa: ANN401  what it has is described where it is used
        """The client of models; one that thinks says nothing for a while."""
        return self._session.create_client("bedrock-runtime", config=_config(60.0))

    def cloudformation(self) -> "CloudFormationClient":
        """The client of the stacks, for an operator's commands: no layer describes its service."""
        return cast(
            "CloudFormationClient", self._session.create_client("cloudformation", config=_config(20.0))
        )
