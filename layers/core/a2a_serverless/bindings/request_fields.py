"""A request's fields as HTTP+JSON spreads them: over the address, the query or the body (specification 11.5).

Only spreading is undone here; what a field may hold is its type's business. What a query cannot say by
itself is whether `true` is a word or a truth, and whether `2` is one or a number: fields that are booleans
or enums are read as such. A body of `null` is none: that is how clients in Go print nothing.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, get_args

from a2a_serverless.bindings.failures import UnsupportedMediaTypeError
from a2a_serverless.bindings.http import A2A_JSON, JSON, HttpRequest
from a2a_serverless.protocol.errors import InvalidParamsError
from a2a_serverless.protocol.json_limits import parse_request
from a2a_serverless.protocol.operations import Operation
from a2a_serverless.protocol.protojson import ProtoModel, json_name

BOOLEANS: Mapping[str, object] = {"true": True, "false": False}
NUMBER = re.compile(r"-?[0-9]{1,10}")


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
    body = parse_request(request.body)
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise InvalidParamsError.of("", "must be an object")
    return body


def _query(operation: Operation, request: HttpRequest) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in operation.request.model_fields:
        for spelling in _spellings(operation.request, json_name(name)):
            values = request.query.get(spelling, ())
            if len(values) > 1:
                raise InvalidParamsError.of(spelling, "must be given once")
            for value in values:
                fields[spelling] = _meant(operation.request, name, value)
    return fields


def _meant(model: type[ProtoModel], name: str, value: str) -> object:
    """The value in JSON that a word of a query stands for."""
    if name in _fields_of(model, bool):
        return BOOLEANS.get(value, value)
    if name in _fields_of(model, StrEnum) and NUMBER.fullmatch(value):
        return int(value)
    return value


@cache
def _fields_of(model: type[ProtoModel], kind: type) -> frozenset[str]:
    return frozenset(name for name, field in model.model_fields.items() if _is(field.annotation, kind))


def _is(annotation: object, kind: type) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, kind):
        return True
    return any(_is(inner, kind) for inner in get_args(annotation))


def _spellings(model: type[ProtoModel], name: str) -> tuple[str, ...]:
    """A field's names in JSON: its own, and the proto's where it differs."""
    other = next((field for field in model.model_fields if json_name(field) == name), name)
    return tuple(dict.fromkeys((name, other)))
