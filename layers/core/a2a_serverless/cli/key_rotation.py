"""`a2a-serverless push rotate-key`: another key to sign webhooks with."""

from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import moment, print_json
from a2a_serverless.operations.signing_keys import rotate
from a2a_serverless.ports.signing_keys import KeyPorts, KeyRing
from a2a_serverless.protocol.scalars import print_timestamp
from a2a_serverless.wiring.operator import Operator


def rotate_keys(operator: Operator, *, leaked: bool, as_json: bool) -> None:
    """Make the next key, unless one waits already, and say when it signs.

    Raises:
        Failure: what makes keys is not installed.
    """
    keys = _keys(operator)
    before = keys.keys.read()
    ring = rotate(keys, leaked=leaked)
    made = before is None or ring.version != before.version
    if as_json:
        print_json({"deployment": operator.deployment, "made": made, "keys": _members(ring)})
        return
    for line in _lines(ring, made=made):
        print(line)


def _keys(operator: Operator) -> KeyPorts:
    try:
        return operator.keys()
    except ModuleNotFoundError as missing:
        message = f"{missing.name} is not installed: pip install 'a2a-serverless[cli,signing]'"
        raise Failure(Exit.FAILED, message) from missing


def _members(ring: KeyRing) -> list[dict[str, str | None]]:
    """The public side of the keys, by the time from which they sign."""
    return [
        {
            "kid": key.kid,
            "created": print_timestamp(key.created),
            "signsFrom": print_timestamp(key.signs_from),
            "retires": print_timestamp(key.retires) if key.retires else None,
        }
        for key in ring.keys
    ]


def _lines(ring: KeyRing, *, made: bool) -> list[str]:
    *before, key = ring.keys
    if not before:
        return [f"{key.kid} is the first key, and signs from now on."]
    since = moment(key.signs_from)
    if made:
        first = f"{key.kid} is published now and signs from {since}."
    else:
        first = f"{key.kid} is published already and signs from {since}; no other was made."
    return [first, *(f"{each.kid} is published until {moment(each.retires)}." for each in before)]
