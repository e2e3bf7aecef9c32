"""What the documentation says of commands is what they say of themselves."""

from tests.unit.cli.pages import DOCUMENT, PAGES, STATUSES, pages, statuses

TEXT = DOCUMENT.read_text(encoding="utf-8")


def test_every_command_has_its_page_as_its_help_prints_it() -> None:
    """Where this fails, `python -m tests.unit.cli.pages` writes the pages anew."""
    assert PAGES.findall(TEXT) == [pages()]


def test_every_exit_status_is_documented() -> None:
    assert STATUSES.findall(TEXT) == [statuses()]
