"""Examples of the documentation, taken out as they stand."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def example(document: str, language: str) -> str:
    """The one example of that language in a document of the repository."""
    text = (ROOT / document).read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return str(found)
