"""IAM in front of moto: a function may do what its role in the template grants, and is refused anything else.

Who is none of the functions may do everything. What each function did is kept, so that somebody can hold it
against what it was granted.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Final
from xml.sax.saxutils import escape

from infra.local.aws_calls import calls_of, signer
from infra.local.deployment import ACCOUNT
from infra.local.grants import Call, Grant, lacking
from infra.local.wire import Request, Response

CALLS_MADE: Final = "/local/calls-made"
"""Where it is told which function made which calls; no address of AWS."""


class Guard:
    """Knows functions by their access keys.

    `alias_of` gives the ARN by which a resource is granted here; for most it is their own.
    """

    def __init__(
        self, grants: Mapping[str, Sequence[Grant]], alias_of: Callable[[str], str] = lambda arn: arn
    ) -> None:
        self._grants = grants
        self._alias_of = alias_of
        self._made: dict[str, set[tuple[str, str]]] = {function: set() for function in grants}
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Response | None:
        """Return the refusal of a call that is not granted; None when it is for AWS to answer."""
        function, service = signer(request)
        if function not in self._grants:
            return self._told() if request.target == CALLS_MADE else None
        for asked in calls_of(request, service):
            call = replace(asked, resources=tuple(map(self._alias_of, asked.resources)))
            with self._lock:
                self._made[function].update((call.action, resource) for resource in call.resources)
            resource = lacking(self._grants[function], call)
            if resource is not None:
                return refusal(function, call, resource, service)
        return None

    def _told(self) -> Response:
        with self._lock:
            made = {function: sorted(calls) for function, calls in self._made.items()}
        return Response(HTTPStatus.OK, (("Content-Type", "application/json"),), json.dumps(made).encode())


def refusal(function: str, call: Call, resource: str, service: str) -> Response:
    """Return what AWS answers to a call that is not granted."""
    who = f"arn:aws:sts::{ACCOUNT}:assumed-role/{function}"
    message = f"User: {who} is not authorized to perform: {call.action} on resource: {resource}"
    if service == "s3":
        body = f"<Error><Code>AccessDenied</Code><Message>{escape(message)}</Message></Error>"
        return Response(HTTPStatus.FORBIDDEN, (("Content-Type", "application/xml"),), body.encode())
    said = json.dumps({"__type": "AccessDeniedException", "message": message})
    return Response(HTTPStatus.BAD_REQUEST, (("Content-Type", "application/x-amz-json-1.0"),), said.encode())
