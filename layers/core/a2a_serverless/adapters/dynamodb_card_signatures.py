"""Signatures of cards in DynamoDB: one item for what a card says and who signs it, written once.

What stands never changes, so a process remembers it. It expires after a while, lest what nobody shows any
more is kept for ever; a card that is still shown is then signed anew.
"""

from collections import OrderedDict
from datetime import timedelta
from threading import Lock

from a2a_serverless.adapters.dynamodb_keys import signed_card
from a2a_serverless.adapters.dynamodb_table import IS_ABSENT, DynamoTable, Item, RefusedError
from a2a_serverless.ports.card_signing import Signatures
from a2a_serverless.protocol.card import AgentCardSignature
from a2a_serverless.protocol.protojson import ProtoModel

KEPT = timedelta(days=90)

MOST_REMEMBERED = 256
"""Cards whose signatures a process remembers: callers may have one each."""


class _Kept(ProtoModel):
    """What lies in an item."""

    signatures: tuple[AgentCardSignature, ...]


class DynamoCardSignatures:
    """The signatures; safe for many threads."""

    def __init__(self, table: DynamoTable) -> None:
        self._table = table
        self._remembered: OrderedDict[str, Item] = OrderedDict()
        self._lock = Lock()

    def read(self, digest: str) -> Signatures:
        """Those kept under the digest; nothing when there are none."""
        item = self._recall(digest) or self._table.get(signed_card(digest))
        return self._remember(digest, item) if item else ()

    def keep(self, digest: str, signatures: Signatures) -> Signatures:
        """Keep them unless others are kept there; returns the ones that stand.

        Refused by its own earlier attempt, whose answer was lost, it returns what that attempt stored.
        """
        item = {
            **signed_card(digest)._asdict(),
            "expires": int((self._table.clock.now() + KEPT).timestamp()),
            "body": _Kept(signatures=signatures).to_json(),
        }
        try:
            self._table.put(item, when=IS_ABSENT)
        except RefusedError as refused:
            item = dict(refused.standing or self._table.get(signed_card(digest)) or item)
        return self._remember(digest, item)

    def _recall(self, digest: str) -> Item | None:
        with self._lock:
            item = self._remembered.get(digest)
        return item if item is not None and not self._table.has_expired(item) else None

    def _remember(self, digest: str, item: Item) -> Signatures:
        with self._lock:
            self._remembered[digest] = item
            self._remembered.move_to_end(digest)
            if len(self._remembered) > MOST_REMEMBERED:
                self._remembered.popitem(last=False)
        return _Kept.model_validate_json(item["body"]).signatures
