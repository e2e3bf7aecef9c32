"""What `logging` writes inside a function: one event a line, with the request id, as the stock runtime does.

AWS: https://docs.aws.amazon.com/lambda/latest/dg/python-logging.html (AWS_LAMBDA_LOG_FORMAT,
AWS_LAMBDA_LOG_LEVEL). Libraries that
bring their own handler (Powertools) are not touched.
"""

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import TextIO

LEVELS: Mapping[str, int] = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
"""Lambda's names of levels and Python's."""


class RequestLog(logging.StreamHandler[TextIO]):
    """A handler whose events carry the id of the invocation that runs now."""

    def __init__(self, stream: TextIO, *, as_json: bool) -> None:
        super().__init__(stream)
        self.request_id = ""
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Render one event without a line feed, which would end it."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        text = logging.Formatter().format(record)
        if self._as_json:
            return json.dumps(
                {
                    "timestamp": f"{moment}Z",
                    "level": record.levelname,
                    "message": text,
                    "logger": record.name,
                    "requestId": self.request_id,
                }
            )
        line = f"[{record.levelname}]\t{moment}.{record.msecs:03.0f}Z\t{self.request_id}\t{text}"
        return line.replace("\n", "\r")


def start_logging(environ: Mapping[str, str]) -> RequestLog:
    """Attach the handler to the root logger, once, and return it: the loop names the invocation to it."""
    root = logging.getLogger()
    for attached in root.handlers:
        if isinstance(attached, RequestLog):
            return attached
    log = RequestLog(sys.stdout, as_json=environ.get("AWS_LAMBDA_LOG_FORMAT", "").upper() == "JSON")
    root.addHandler(log)
    level = LEVELS.get(environ.get("AWS_LAMBDA_LOG_LEVEL", "").upper())
    if level is not None:
        root.setLevel(level)
    return log
