"""The options that mean the same in every command that operates a deployment."""

import re
from typing import Annotated
from urllib.parse import urlsplit

import typer

REGION = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+")


def _region(text: str) -> str:
    if not REGION.fullmatch(text):
        raise typer.BadParameter(f"{text!r} is no Region, such as eu-west-1")
    return text


def _address(text: str) -> str:
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise typer.BadParameter(f"{text!r} is no http or https address")
    return text


Stack = Annotated[
    str | None,
    typer.Option(
        "--stack",
        metavar="NAME",
        envvar="A2A_STACK",
        help="The deployment's CloudFormation stack. Not needed where there is only one.",
    ),
]
Region = Annotated[
    str | None,
    typer.Option(
        "--region",
        metavar="REGION",
        envvar="AWS_REGION",
        parser=_region,
        help="The AWS Region; else as AWS's own tools find it.",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME", help="The profile of AWS's configuration to act as."),
]
EndpointUrl = Annotated[
    str | None,
    typer.Option(
        "--endpoint-url",
        metavar="URL",
        envvar="AWS_ENDPOINT_URL",
        parser=_address,
        help="Where AWS is emulated: what the local stack prints after `aws`.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
