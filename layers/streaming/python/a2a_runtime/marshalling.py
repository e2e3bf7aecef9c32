"""Events in and results out, as JSON, by the rules of the stock Python runtime.

Decimals become numbers and text stays readable (not escaped); what JSON cannot carry is Runtime.MarshalError.
"""

import json
from decimal import Decimal


class MarshalError(Exception):
    """The handler's result has no JSON form."""


class UnmarshalError(Exception):
    """The event is not JSON."""


def read_event(event: bytes) -> object:
    """Decode the event of an invocation."""
    try:
        decoded: object = json.loads(event)
    except ValueError as error:
        raise UnmarshalError(f"Unable to unmarshal input: {error}") from error
    return decoded


def result_bytes(result: object) -> bytes:
    """Encode a handler's result; bytes are taken as JSON already."""
    if isinstance(result, bytes):
        return result
    try:
        return json.dumps(result, ensure_ascii=False, default=_number).encode()
    except (TypeError, ValueError) as error:
        raise MarshalError(f"Unable to marshal response: {error}") from error


def _number(value: object) -> float:
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
