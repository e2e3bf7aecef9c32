"""Examples of the documentation, taken out as they stand."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def example(document: str, language: str, *, after: str = "", before: str = "") -> str:
    """The one example of that language in a document of the repository, or between two lines of it."""
    (found,) = examples(document, language, after=after, before=before)
    return found


def examples(document: str, language: str, *, after: str = "", before: str = "") -> list[str]:
    """The examples of that language, in order, between two lines of a document."""
    text = "\n" + (ROOT / document).read_text(encoding="utf-8")
    _, _, rest = text.partition(f"\n{after}\n") if after else ("", "", text)
    part = rest.partition(f"\n{before}\n")[0] if before else rest
    return re.findall(rf"^```{language}\n(.*?)^```$", part, flags=re.MULTILINE | re.DOTALL)
