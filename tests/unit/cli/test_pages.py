"""What the documentation says of commands is what they say of themselves, and what it shows is printed."""

import re
import shlex
from datetime import UTC, datetime

from tests.unit.cli.desk import OTHER_TASK, Desk
from tests.unit.cli.pages import DOCUMENT, PAGES, STATUSES, pages, statuses

TEXT = DOCUMENT.read_text(encoding="utf-8")
EXAMPLES = re.compile(r"^```text\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_command_has_its_page_as_its_help_prints_it() -> None:
    """Where this fails, `python -m tests.unit.cli.pages` writes the pages anew."""
    assert PAGES.findall(TEXT) == [pages()]


def test_every_exit_status_is_documented() -> None:
    assert STATUSES.findall(TEXT) == [statuses()]


def test_what_the_documentation_shows_is_printed() -> None:
    desk = Desk()
    desk.clock.moment = datetime(2026, 11, 30, 11, 4, 12, tzinfo=UTC)
    desk.gave_up(
        desk.registered(), datetime(2026, 11, 29, 11, 2, tzinfo=UTC), attempts=105, reason="answered 503"
    )
    desk.clock.moment = noon = datetime(2026, 11, 30, 12, 0, 3, tzinfo=UTC)
    audit = desk.registered("audit", OTHER_TASK, url="https://audit.example/")
    desk.gave_up(audit, noon, attempts=1, reason="answered 410")

    shown = [example for block in EXAMPLES.findall(TEXT) for example in block.split("$ ") if example]

    assert len(shown) == 3
    for example in shown:
        typed, _, printed = example.partition("\n")
        assert desk.run(*shlex.split(typed)[1:]).stdout == printed
