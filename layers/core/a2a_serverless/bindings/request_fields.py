"""A request's fields as HTTP+JSON spreads them: over the address, the query or the body (specification 11.5).

Only spreading is undone here; what a field may hold is its type's business. The one thing a query cannot
say by itself is whether `true` is a word or a truth, so fields that are booleans are read as such.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from a2a_serverless.bindings.failures import UnsupportedMediaTypeError
from a2a_serverless.bindings.http import A2A_JSON, JSON, HttpRequest
from a2a_serverless.protocol.errors import InvalidParamsError
from a2a_serverless.protocol.operations import Operation
from a2a_serverless.protocol.protojson import ProtoModel, json_name, parse_json

BOOLEANS: Mapping[str, object] = {"true": True, "false": False}


def request_fields(
    operation: Operation, request: HttpRequest, addressed: Mapping[str, str]
) -> Mapping[str, object]:
    """The fields of the operation's request, those of the address first; an empty one in the body is none.

    Raises:
        UnsupportedMediaTypeError: the body says to be something else than JSON.
        JSONParseError: the body is no JSON.
        InvalidParamsError: the body is no object, says something else than the address, or a query repeats
        a field.
    """
    fields = _body(request) if request.method == "POST" else _query(operation, request)
    for name, value in addressed.items():
        for spelling in _spellings(operation.request, name):
            if fields.pop(spelling, None) not in (None, "", value):
                raise InvalidParamsError.of(name, "must be what the address says")
    return {**fields, **addressed}


def _body(request: HttpRequest) -> dict[str, Any]:
    if not request.body:
        return {}
    if request.media_type not in (None, JSON, A2A_JSON):
        raise UnsupportedMediaTypeError(f"The request must be {A2A_JSON} or {JSON}")
    body = parse_json(request.body)
    if not isinstance(body, dict):
        raise InvalidParamsError.of("", "must be an object")
    return body


def _query(operation: Operation, request: HttpRequest) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    truths = _booleans(operation.request)
    for name in operation.request.model_fields:
        for spelling in _spellings(operation.request, json_name(name)):
            values = request.query.get(spelling, ())
            if len(values) > 1:
                raise InvalidParamsError.of(spelling, "must be given once")
            for value in values:
                fields[spelling] = BOOLEANS.get(value, value) if name in truths else value
    return fields


@cache
def _booleans(model: type[ProtoModel]) -> frozenset[str]:
    return frozenset(name for name, field in model.model_fields.items() if _is_boolean(field.annotation))


def _is_boolean(annotation: object) -> bool:
    return annotation is bool or any(_is_boolean(inner) for inner in get_args(annotation))


def _spellings(model: type[ProtoModel], name: str) -> tuple[str, ...]:
    """A field's names in JSON: its own, and the proto's where it differs."""
    other = next((field for field in model.model_fields if json_name(field) == name), name)
    return tuple(dict.fromkeys((name, other)))
