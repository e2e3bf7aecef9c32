"""Which pair signs webhooks at a moment, which are published, and how one follows another.

A pair is published before it signs and stays published after it signed last, so that a receiver who looks up
keys at any moment finds the one it needs. All who need a first pair, or a next one, agree on the one that
was stored first.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from a2a_serverless.ports.signing_keys import KeyPolicy, KeyPorts, KeyRing, SigningKey, sealed_for

READ_AGAIN = timedelta(minutes=5)
"""How long whoever signs goes by what it read of the ring."""

SOONEST = timedelta(minutes=10)
"""How long a pair is published ahead when there is no time to lose: while copies of the published keys may be
used, and until everybody who signs has read the ring again."""

IN_FLIGHT = timedelta(minutes=1)
"""How long after its making a signature may still be on its way."""


def signer(ring: KeyRing, now: datetime) -> SigningKey:
    """The pair that signs; the first one also for a clock that is a little behind its maker's."""
    return next((key for key in reversed(ring.keys) if key.signs_from <= now), ring.keys[0])


def published(ring: KeyRing | None, now: datetime) -> Sequence[SigningKey]:
    """The pairs whose public halves receivers are shown."""
    return [key for key in ring.keys if key.retires is None or now < key.retires] if ring else []


def current_ring(ports: KeyPorts) -> KeyRing:
    """The ring to sign by: made if there is none, with a next pair if the one that signs is old."""
    ring, now = ports.keys.read(), ports.clock.now()
    if ring is None or _is_old(ring, now, ports.policy):
        return _with_another(ports, ring, leaked=False)
    return ring


def rotate(ports: KeyPorts, *, leaked: bool = False) -> KeyRing:
    """Let another pair follow the one that signs; returns the ring as it stands then.

    One that already waits for its time is that other pair. With `leaked` nothing but the new pair is trusted
    for longer than it takes to make it known, ten minutes; what was signed before and is verified later is
    lost.
    """
    return _with_another(ports, ports.keys.read(), leaked=leaked)


def _is_old(ring: KeyRing, now: datetime, policy: KeyPolicy) -> bool:
    return not _waits(ring, now) and now >= signer(ring, now).signs_from + policy.lasts


def _waits(ring: KeyRing, now: datetime) -> bool:
    return ring.keys[-1] != signer(ring, now)


def _with_another(ports: KeyPorts, ring: KeyRing | None, *, leaked: bool) -> KeyRing:
    now = ports.clock.now()
    if ring is not None and _waits(ring, now) and not leaked:
        return ring
    key = _new_key(ports, now)
    while True:
        ring = ports.keys.keep(_succeeded(ring, key, now, ports.policy, leaked=leaked), seen=ring)
        # Whoever was faster added a pair as well, which serves all but those who distrust it.
        if ring is not None and (not leaked or key.kid in {each.kid for each in ring.keys}):
            return ring


def _new_key(ports: KeyPorts, now: datetime) -> SigningKey:
    pair = ports.pairs.new()
    sealed = ports.seals.seal(pair.private, sealed_for(pair.kid))
    return SigningKey(kid=pair.kid, x=pair.x, y=pair.y, sealed=sealed, created=now, signs_from=now)


def _succeeded(
    ring: KeyRing | None, key: SigningKey, now: datetime, policy: KeyPolicy, *, leaked: bool
) -> KeyRing:
    """The ring with the key as its last, and with an end for those before it."""
    if ring is None:
        return KeyRing(version=1, keys=(key,))
    signs_from = now + (SOONEST if leaked else policy.publish_ahead)
    retires = signs_from + (IN_FLIGHT if leaked else policy.publish_after)
    signing = signer(ring, now)

    def ended(each: SigningKey) -> SigningKey:
        changed: dict[str, Any] = {"sealed": ""} if each.signs_from < signing.signs_from else {}
        if leaked or each.retires is None:
            changed["retires"] = retires
        return each.model_copy(update=changed)

    # One that waits is dropped after a leak, unless somebody may sign with it before having read of that.
    before = (each for each in published(ring, now) if each.signs_from <= now + READ_AGAIN)
    following = key.model_copy(update={"signs_from": signs_from})
    return KeyRing(version=ring.version + 1, keys=(*map(ended, before), following))
