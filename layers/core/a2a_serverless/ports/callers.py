"""Who calls: a principal, its owner, and the keys of what belongs to it. Knows no credential."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from a2a_serverless.ports.contexts import ContextKey
from a2a_serverless.tasks.log import TaskKey


def owner_of(issuer: str, subject: str) -> str:
    """The owner that a principal's tasks belong to: 43 characters of base64url, without separators to forge.

    Issuer and subject are hashed with their lengths, so that two issuers can never be made to collide.
    """
    digest = hashlib.sha256(f"{len(issuer)}:{issuer}{subject}".encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


@dataclass(frozen=True, slots=True)
class Caller:
    """A verified caller: which tenant and owner the call is for, and what may be told to the agent about it.

    Anonymous callers share one owner and get no deduplication: their message ids are not theirs alone.
    `base_url` is the public address this deployment is reached by, without a trailing slash. `extensions` are
    the URIs of those that the call activated: what they add is shown to it, and to nobody else. `belongs_to`
    is the tenant that the caller is known to be of, empty where they may ask for any: what is counted of them
    is counted there, whatever tenant they ask for.
    """

    tenant: str
    owner: str
    name: str
    base_url: str
    anonymous: bool = False
    claims: Mapping[str, str] = field(default_factory=dict)
    extensions: frozenset[str] = frozenset()
    belongs_to: str = ""

    def task(self, task_id: str) -> TaskKey:
        """The key of this caller's task with that id."""
        return TaskKey(self.tenant, self.owner, task_id)

    def context(self, context_id: str) -> ContextKey:
        """The key of this caller's context with that id."""
        return ContextKey(self.tenant, self.owner, context_id)
