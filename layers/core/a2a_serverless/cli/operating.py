"""How a command gets at the deployment that it operates; what AWS says against it becomes a failure.

Loads the rest of the package only when a command runs: whoever asks for help need not wait for AWS's SDK.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from a2a_serverless.cli.exits import Exit, Failure

if TYPE_CHECKING:
    from a2a_serverless.adapters.aws_clients import AwsClients
    from a2a_serverless.adapters.dynamodb_documents import DynamoDocuments
    from a2a_serverless.wiring.operator import Operator


@contextmanager
def operating(
    context: typer.Context,
    stack: str | None,
    region: str | None,
    profile: str | None,
    endpoint_url: str | None,
) -> "Iterator[Operator]":
    """What the command operates on; `context.obj` is who reaches it, if it is not to be on AWS.

    Raises:
        Failure: there is no such deployment, or AWS could not be reached or refused something.
    """
    from a2a_serverless.wiring.operator import Access, operator  # noqa: PLC0415

    reach = context.obj or operator
    access = Access(stack, _region(context, region, endpoint_url), profile, endpoint_url)
    with _deployment_in_words():
        yield reach(access)


@contextmanager
def keeping(
    context: typer.Context,
    stack: str | None,
    region: str | None,
    profile: str | None,
    endpoint_url: str | None,
    *,
    kind: str,
) -> "Iterator[DynamoDocuments]":
    """The documents of a kind that a deployment keeps.

    Raises:
        Failure: there is no such deployment, or AWS could not be reached or refused something.
    """
    from a2a_serverless.wiring.operator import Access, documents  # noqa: PLC0415

    access = Access(stack, _region(context, region, endpoint_url), profile, endpoint_url)
    with _deployment_in_words():
        yield documents(access, kind)


@contextmanager
def on_aws(
    context: typer.Context, region: str | None, profile: str | None, endpoint_url: str | None
) -> "Iterator[AwsClients]":
    """AWS, for a command that needs no deployment.

    Raises:
        Failure: AWS could not be reached or refused something.
    """
    from a2a_serverless.adapters.aws_access import session  # noqa: PLC0415
    from a2a_serverless.adapters.aws_clients import AwsClients  # noqa: PLC0415

    region = _region(context, region, endpoint_url)
    with _aws_in_words():
        yield AwsClients(session(region=region, profile=profile, endpoint_url=endpoint_url))


@contextmanager
def _deployment_in_words() -> Iterator[None]:
    from a2a_serverless.adapters.aws_access import NotAwsError  # noqa: PLC0415
    from a2a_serverless.settings import SettingsError  # noqa: PLC0415
    from a2a_serverless.wiring.operator import (  # noqa: PLC0415
        AmbiguousDeploymentError,
        NoDeploymentError,
    )

    try:
        with _aws_in_words():
            yield
    except AmbiguousDeploymentError as error:
        raise Failure(Exit.USAGE, str(error)) from error
    except (NoDeploymentError, NotAwsError, SettingsError) as error:
        raise Failure(Exit.UNREACHABLE, str(error)) from error


@contextmanager
def _aws_in_words() -> Iterator[None]:
    from a2a_serverless.adapters.aws_problems import AWS_ERRORS, OUR_ERRORS, explain  # noqa: PLC0415

    try:
        yield
    except AWS_ERRORS as error:
        problem = explain(error)
        raise Failure(Exit.UNREACHABLE if problem.unreachable else Exit.FAILED, problem.text) from error
    except OUR_ERRORS as error:
        raise Failure(Exit.FAILED, f"AWS did not take everything: {error}") from error


def _region(context: typer.Context, region: str | None, endpoint_url: str | None) -> str | None:
    """The Region; one that the environment names is AWS's, and no emulator's."""
    emulated = endpoint_url is not None and _came_from_the_environment(context, "region")
    return None if emulated else region


def _came_from_the_environment(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is not None and source.name == "ENVIRONMENT"
