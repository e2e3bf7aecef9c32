"""The files that the model writes: text under names that stay inside, within limits. Nothing of them runs."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_FILES = 30
MOST_FILE = 100_000
"""Characters of one file, as JSON that is kept has them: those beyond ASCII count for six."""
MOST_TOGETHER = 300_000
"""Characters of all files, counted so."""

NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}/){0,4}[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
KINDS = {
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "template": "application/yaml",
    "json": "application/json",
    "tf": "text/plain",
    "tfvars": "text/plain",
    "hcl": "text/plain",
    "md": "text/markdown",
}
"""Media types by the end of a name; a file of no other kind is written."""


class NotDoneError(Exception):
    """A file was not written; the text is for the model."""


@dataclass
class Drafts:
    """Files by name."""

    files: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, content: str) -> None:
        """Write a file.

        Raises:
            NotDoneError: its name or its size is not allowed.
        """
        check_name(name)
        if name not in self.files and len(self.files) >= MOST_FILES:
            raise NotDoneError(f"There are {MOST_FILES} files already.")
        size = len(json.dumps(content))
        together = size + sum(len(json.dumps(text)) for other, text in self.files.items() if other != name)
        if size > MOST_FILE or together > MOST_TOGETHER:
            raise NotDoneError(
                f"A file has at most {MOST_FILE} characters, all of them together {MOST_TOGETHER}."
            )
        if "\0" in content or not content.strip():
            raise NotDoneError("The content is empty, or not text.")
        self.files[name] = content

    def edit(self, name: str, old: str, new: str) -> None:
        """Put other text where `old` stands.

        Raises:
            NotDoneError: there is no such file, or the text does not stand in it once.
        """
        if name not in self.files:
            raise NotDoneError(
                f"There is no file {name!r}; the files are: {', '.join(self.files) or 'none'}."
            )
        found = self.files[name].count(old) if old else 0
        if found != 1:
            raise NotDoneError(f"The old text stands in the file {found} times; it must once.")
        self.write(name, self.files[name].replace(old, new))


def check_name(name: str) -> None:
    """Raises NotDoneError for a name that leads out, or of a file that is not written here."""
    if not NAME.fullmatch(name) or ".." in name.split("/"):
        raise NotDoneError(
            "A name is a relative path of letters, digits, `_`, `-` and `.`, without `..` and hidden files."
        )
    if media_type(name) is None:
        raise NotDoneError(f"Only these kinds of files are written: {', '.join(KINDS)}.")


def media_type(name: str) -> str | None:
    """What a file of this name is."""
    return KINDS.get(name.rpartition(".")[2].lower()) if "." in name else None


def described(files: Mapping[str, str]) -> str:
    """The files in a line."""
    return ", ".join(f"{name} ({len(text.splitlines())} lines)" for name, text in files.items())
