"""Conditional requests (RFC 9110, 13): whether a client's copy is still the current one.

Small enough to own: the frameworks at hand either compare If-None-Match as a plain string or cost more to
load than the whole function. Knows validators and header values only.
"""

import re
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime

from a2a_serverless.bindings.http import HttpRequest

ENTITY_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')

WHOLE_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')


def http_date(moment: datetime) -> str:
    """A moment in UTC as HTTP prints it."""
    return format_datetime(moment.replace(microsecond=0), usegmt=True)


def is_current(request: HttpRequest, etag: str, last_modified: datetime | None = None) -> bool:
    """Whether to answer 304 Not Modified to a GET or HEAD.

    `etag` is a strong entity tag with its quotes. If-None-Match compares weakly and, when present, makes
    If-Modified-Since not count; a date that is none is ignored (13.1.2, 13.1.3).
    """
    tags = request.header("if-none-match")
    if tags is not None:
        return tags.strip() == "*" or etag in ENTITY_TAG.findall(tags)
    since = _date(request.header("if-modified-since"))
    return since is not None and last_modified is not None and last_modified.replace(microsecond=0) <= since


def is_another(request: HttpRequest, etag: str) -> bool:
    """Whether to answer 412 Precondition Failed: the client wants what it knows, and this is something else.

    If-Match compares strongly (13.1.1).
    """
    wanted = request.header("if-match")
    return wanted is not None and wanted.strip() != "*" and not matches_strongly(wanted, etag)


def matches_strongly(tags: str, etag: str) -> bool:
    """Whether one of these entity tags is this one, byte for byte; weak ones never are, nor are dates."""
    return any(tag == etag for tag in WHOLE_TAG.findall(tags))


def _date(text: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(text) if text else None
    except (ValueError, OverflowError):  # no date, or one of a year that no computer counts to
        return None
    return date if date is not None and date.tzinfo is not None else None
