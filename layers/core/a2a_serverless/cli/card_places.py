"""Where a card lies, and the exit statuses that tell what it is worth. Loads nothing that verifies one."""

from urllib.parse import urlsplit, urlunsplit

from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.client.card_verification import Verdict
from a2a_serverless.client.options import origin_of

STATUSES = {
    Verdict.VALID: Exit.DONE,
    Verdict.UNSIGNED: Exit.UNSIGNED,
    Verdict.UNKNOWN_KEY: Exit.UNKNOWN_KEY,
    Verdict.MISMATCH: Exit.MISMATCH,
    Verdict.MALFORMED: Exit.MALFORMED,
    Verdict.UNSUPPORTED_ALGORITHM: Exit.UNSUPPORTED_ALGORITHM,
    Verdict.AMBIGUOUS: Exit.AMBIGUOUS,
}

CARD_PATH = "/.well-known/agent-card.json"


def is_address(place: str) -> bool:
    """Whether it is an address, and no file."""
    return place.startswith(("https://", "http://"))


def card_address(url: str) -> str:
    """The address of the card, where it is that of the agent.

    Raises:
        Failure: it is none.
    """
    if origin_of(url) is None:
        raise Failure(Exit.USAGE, f"{url} is no http or https address")
    parts = urlsplit(url)
    card = parts if parts.path.endswith(".json") else parts._replace(path=parts.path.rstrip("/") + CARD_PATH)
    return urlunsplit(card)
