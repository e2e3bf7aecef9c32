"""Between objects of the protocol and the JSON of requests and answers."""

from typing import Any, TypeVar

from a2a_serverless.client.failures import UnexpectedAnswerError
from a2a_serverless.protocol.errors import InvalidParamsError
from a2a_serverless.protocol.protojson import ProtoModel

T = TypeVar("T", bound=ProtoModel)

THEIR_OWN = frozenset({"data", "metadata"})
"""What agents fill as they like: a name within it means nothing to the protocol."""


def present(**fields: Any) -> dict[str, Any]:  # noqa: ANN401  JSON is any of six types
    """The fields that are set: in ProtoJSON the others are left out."""
    return {name: value for name, value in fields.items() if value is not None}


def read(kind: type[T], value: object) -> T:
    """An object of the protocol from an answer's JSON; raises UnexpectedAnswerError for what is none.

    A message or an artifact without parts is taken for one of an empty text: the specification wants a part
    (5.7), but agents end an artifact with a chunk that has none, and printers leave an empty list out.
    """
    try:
        return kind.from_dict(value)
    except InvalidParamsError as error:
        if any(each.field.rpartition(".")[2] != "parts" for each in error.violations):
            raise _unexpected(kind, error) from None
    try:
        return kind.from_dict(_with_parts(value))
    except InvalidParamsError as error:
        raise _unexpected(kind, error) from None


def _with_parts(value: object) -> object:
    """The same JSON, in which nothing lacks the parts that it must have."""
    if isinstance(value, list):
        return [_with_parts(each) for each in value]
    if not isinstance(value, dict):
        return value
    whole = {name: each if name in THEIR_OWN else _with_parts(each) for name, each in value.items()}
    if not value.get("parts") and ("messageId" in value or "artifactId" in value):
        whole["parts"] = [{"text": ""}]
    return whole


def _unexpected(kind: type[ProtoModel], error: InvalidParamsError) -> UnexpectedAnswerError:
    blamed = "; ".join(f"{each.field or 'it'} {each.description}" for each in error.violations)
    return UnexpectedAnswerError(f"the answer is no {kind.__name__.removeprefix('Received')}: {blamed}")
