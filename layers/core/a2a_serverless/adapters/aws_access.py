"""Whose account and which Region an operator acts in: botocore's session for a command, not for a function.

What is not said is found as AWS's own tools find it. An emulator on this machine needs no account, so what
leads to one gets credentials that open nothing, and the Region of the local stack, unless others are named.
"""

from urllib.parse import urlsplit

from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import Session

from a2a_serverless.adapters.aws_clients import AwsClients

LOCAL_REGION = "us-east-1"
LOCAL_CREDENTIALS = ("local", "local")
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def session(*, region: str | None, profile: str | None, endpoint_url: str | None) -> Session:
    """The session; nothing is asked of AWS yet.

    Raises:
        ProfileNotFound: AWS's configuration has no such profile.
    """
    made = Session(profile=profile)
    if endpoint_url is not None:
        made.get_component("config_store").set_config_variable("endpoint_url", endpoint_url)
    if endpoint_url is not None and urlsplit(endpoint_url).hostname in LOOPBACK:
        # A proxy would not lead to this machine.
        made.set_default_client_config(Config(proxies={}))
        region = region or LOCAL_REGION
        if profile is None:
            made.set_credentials(*LOCAL_CREDENTIALS)
    if region is not None:
        made.set_config_variable("region", region)
    return made


class NotAwsError(Exception):
    """Something answers there, but not as AWS does."""


def check_address(clients: AwsClients, endpoint_url: str) -> None:
    """Ask whatever answers there something that nobody but AWS understands; a refusal of AWS's is an answer.

    Raises:
        NotAwsError: it did not understand. The agent's own address is easily taken for this one.
    """
    try:
        understood = "TableNames" in clients.dynamodb().list_tables(Limit=1)
    except ClientError as error:
        # Where an answer has no code of AWS's, botocore gives the status in its place.
        understood = not error.response["Error"]["Code"].isdecimal()
    if not understood:
        raise NotAwsError(
            f"what answers at {endpoint_url} is not AWS: the local stack prints the address after `aws`"
        )
