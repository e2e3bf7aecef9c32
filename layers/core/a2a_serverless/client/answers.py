"""Between objects of the protocol and the JSON of requests and answers."""

from typing import Any, TypeVar

from a2a_serverless.client.failures import UnexpectedAnswerError
from a2a_serverless.protocol.errors import InvalidParamsError
from a2a_serverless.protocol.protojson import ProtoModel

T = TypeVar("T", bound=ProtoModel)


def present(**fields: Any) -> dict[str, Any]:  # noqa: ANN401  JSON is any of six types
    """The fields that are set: in ProtoJSON the others are left out."""
    return {name: value for name, value in fields.items() if value is not None}


def read(kind: type[T], value: object) -> T:
    """An object of the protocol from an answer's JSON; raises UnexpectedAnswerError for what is none."""
    try:
        return kind.from_dict(value)
    except InvalidParamsError as error:
        blamed = "; ".join(f"{each.field or 'it'} {each.description}" for each in error.violations)
        raise UnexpectedAnswerError(
            f"the answer is no {kind.__name__.removeprefix('Received')}: {blamed}"
        ) from None
