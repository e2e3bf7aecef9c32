"""The ring of signing keys in DynamoDB: one item, replaced as a whole on condition of its version."""

from dataclasses import dataclass

from a2a_serverless.adapters.dynamodb_keys import key_ring
from a2a_serverless.adapters.dynamodb_table import IS_ABSENT, DynamoTable, Item, RefusedError
from a2a_serverless.ports.signing_keys import KeyRing

NEVER = 253_402_300_799
"""The last second of the year 9999: a ring does not expire."""

IS_THE_ONE_SEEN = "#version = :seen"
"""Nobody has changed the ring since the writer read it."""


@dataclass(frozen=True, slots=True)
class DynamoSigningKeys:
    """One item for each purpose that keys are kept for."""

    table: DynamoTable
    purpose: str = "webhooks"

    def read(self) -> KeyRing | None:
        """The ring, strongly consistent; None before the first."""
        item = self.table.get(key_ring(self.purpose))
        return _ring(item) if item else None

    def keep(self, ring: KeyRing, *, seen: KeyRing | None) -> KeyRing | None:
        """Put the ring in place of the one seen, if that stands; returns the one that stands afterwards.

        Refused by its own earlier attempt, whose answer was lost, it returns the ring that attempt stored.
        """
        item = {
            **key_ring(self.purpose)._asdict(),
            "version": ring.version,
            "expires": NEVER,
            "body": ring.to_json(),
        }
        try:
            if seen is None:
                self.table.put(item, when=IS_ABSENT)
            else:
                self.table.put(item, when=IS_THE_ONE_SEEN, values={"seen": seen.version})
        except RefusedError as refused:
            return _ring(refused.standing) if refused.standing else None
        return ring


def _ring(item: Item) -> KeyRing:
    return KeyRing.model_validate_json(item["body"])
