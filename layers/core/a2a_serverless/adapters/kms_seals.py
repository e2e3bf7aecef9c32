"""Small secrets sealed by a KMS key, which never leaves KMS.

What they are sealed for is KMS's encryption context: authenticated, not secret, and named in CloudTrail for
every time one is opened. An opened secret is remembered for a while, so that a burst of events costs one
request. Knows nothing of what the secrets are.
"""

import base64
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from a2a_serverless.ports.webhooks import UnopenableError

if TYPE_CHECKING:
    from mypy_boto3_kms.client import KMSClient

FORM = "kms1:"
"""How a sealed secret begins; what follows is KMS's ciphertext in base64url."""

REMEMBERED = 300.0
"""Seconds that an opened secret is remembered; a key that is disabled meanwhile opens it that much longer."""

MOST_REMEMBERED = 1000
"""Secrets remembered at once, of at most 4,096 bytes each."""

GONE = frozenset(
    {
        "DisabledException",
        "IncorrectKeyException",
        "InvalidCiphertextException",
        "KMSInvalidStateException",
        "NotFoundException",
    }
)
"""Refusals that stay: not sealed by us, or not for this, or by a key that is disabled or being deleted."""

Context = tuple[tuple[str, str], ...]


class KmsSeals:
    """Secrets sealed by the key of that id, ARN or alias; opened by whichever key sealed them.

    May be used by several threads at once. `now` counts seconds from anywhere.
    """

    def __init__(self, client: "KMSClient", key_id: str, now: Callable[[], float] = monotonic) -> None:
        self._client = client
        self._key_id = key_id
        self._now = now
        self._opened: OrderedDict[tuple[str, Context], tuple[float, bytes]] = OrderedDict()
        self._lock = Lock()

    def seal(self, secret: bytes, context: Mapping[str, str]) -> str:
        """The secret of 1 to 4,096 bytes, readable only by who may and who names the same context."""
        answer = self._client.encrypt(
            KeyId=self._key_id, Plaintext=secret, EncryptionContext=dict(_meant(context))
        )
        return FORM + base64.urlsafe_b64encode(answer["CiphertextBlob"]).decode("ascii")

    def open(self, sealed: str, context: Mapping[str, str]) -> bytes:
        """The secret again; raises UnopenableError."""
        key = sealed, _meant(context)
        secret = self._recall(key)
        if secret is None:
            secret = self._decrypt(*key)
            self._remember(key, secret)
        return secret

    def _decrypt(self, sealed: str, context: Context) -> bytes:
        # No key is named: the ciphertext says which it was, and may be older than the present one.
        try:
            answer = self._client.decrypt(CiphertextBlob=_ciphertext(sealed), EncryptionContext=dict(context))
        except ClientError as error:
            if error.response["Error"]["Code"] in GONE:
                raise UnopenableError from error
            raise
        return answer["Plaintext"]

    def _recall(self, key: tuple[str, Context]) -> bytes | None:
        with self._lock:
            until, secret = self._opened.get(key, (0.0, None))
            if secret is not None and until <= self._now():
                del self._opened[key]
                return None
            return secret

    def _remember(self, key: tuple[str, Context], secret: bytes) -> None:
        with self._lock:
            self._opened[key] = self._now() + REMEMBERED, secret
            self._opened.move_to_end(key)
            if len(self._opened) > MOST_REMEMBERED:
                self._opened.popitem(last=False)


def _ciphertext(sealed: str) -> bytes:
    try:
        ciphertext = base64.b64decode(sealed.removeprefix(FORM), altchars=b"-_", validate=True)
    except ValueError as error:
        raise UnopenableError from error
    if not ciphertext or not sealed.startswith(FORM):
        raise UnopenableError
    return ciphertext


def _meant(context: Mapping[str, str]) -> Context:
    """The context in order and without empty values, which KMS refuses."""
    return tuple(sorted((name, value) for name, value in context.items() if value))
