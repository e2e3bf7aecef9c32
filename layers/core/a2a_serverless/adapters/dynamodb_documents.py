"""Documents that operators keep under a name: one item each, replaced as a whole on condition of its version.

What a document says is its keeper's business; here it is a text. It does not expire.
"""

from dataclasses import dataclass
from typing import NamedTuple

from a2a_serverless.adapters.dynamodb_keys import document
from a2a_serverless.adapters.dynamodb_table import IS_ABSENT, DynamoTable, RefusedError

NEVER = 253_402_300_799
"""The last second of the year 9999."""

IS_THE_ONE_SEEN = "#version = :seen"
"""Nobody has changed the document since the writer read it."""


class KeptDocument(NamedTuple):
    """A document, and how often it was written before."""

    version: int
    text: str


class DocumentChangedError(Exception):
    """Somebody else has written the document since it was read."""


@dataclass(frozen=True, slots=True)
class DynamoDocuments:
    """The documents of one kind."""

    table: DynamoTable
    kind: str

    def read(self, name: str) -> KeptDocument | None:
        """The document, strongly consistent; None where there is none."""
        item = self.table.get(document(self.kind, name))
        return KeptDocument(int(item["version"]), str(item["body"])) if item else None

    def keep(self, name: str, text: str, *, seen: KeptDocument | None) -> None:
        """Put the document in place of the one seen.

        Raises:
            DocumentChangedError: that does not stand any more.
        """
        version = seen.version + 1 if seen is not None else 1
        key = document(self.kind, name)
        item = {**key._asdict(), "version": version, "expires": NEVER, "body": text}
        try:
            if seen is None:
                self.table.put(item, when=IS_ABSENT)
            else:
                self.table.put(item, when=IS_THE_ONE_SEEN, values={"seen": seen.version})
        except RefusedError as refused:
            standing = refused.standing or {}
            # An attempt of ours whose answer was lost has written the very same.
            if (standing.get("version"), standing.get("body")) != (version, text):
                raise DocumentChangedError(name) from refused
