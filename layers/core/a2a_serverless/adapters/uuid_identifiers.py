"""Fresh identifiers from the operating system's randomness, fresh also in a restored process."""

from uuid import uuid4


class UuidIdentifiers:
    """Random UUIDs."""

    def new(self) -> str:
        """One that was never given before."""
        return str(uuid4())
