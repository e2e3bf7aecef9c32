"""Who is let in by an access document: where it lies, and what it takes to go by it.

Loaded only where there is one, and of what it loads in turn only what the document asks for: tokens of
issuers need PyJWT and `cryptography`, which a deployment without them does not carry.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.adapters.uuid_identifiers import UuidIdentifiers
from a2a_serverless.bindings.caller import Access, Token
from a2a_serverless.bindings.caller.document import AccessDocument, AccessDocumentError
from a2a_serverless.bindings.caller.rereading import RereadAccess
from a2a_serverless.ports import Clock
from a2a_serverless.ports.access import (
    IssuedTokens,
    TrustedIssuer,
    UnreadableValueError,
    UnusableKeysError,
)
from a2a_serverless.settings import Settings, SettingsError
from a2a_serverless.wiring.incidents import incidents
from a2a_serverless.wiring.kept_values import kept_value
from a2a_serverless.wiring.late import late

if TYPE_CHECKING:
    from a2a_serverless.adapters.issuer_keys import IssuerKeys
    from a2a_serverless.adapters.verification_keys import VerificationKey

SIGNING = frozenset({"jwt", "cryptography"})
"""What the signing layer holds."""


def access(settings: Settings, clients: AwsClients | None = None) -> Callable[[], Access]:
    """Who may come in, by the access document that the settings name, and by the tokens they hold.

    Raises:
        SettingsError: it cannot be read, or cannot be gone by.
    """
    kind, _, rest = settings.credentials.partition(":")
    reader = DocumentReader(settings, SystemClock())
    try:
        if kind == "inline":
            given = reader.read(rest)
            return lambda: given
        told = late(lambda: incidents(settings, UuidIdentifiers()))
        return RereadAccess(
            kept_value(settings.credentials, clients or AwsClients()),
            reader.read,
            SystemClock(),
            told,
        )
    except (AccessDocumentError, UnreadableValueError) as error:
        raise SettingsError(f"CREDENTIALS: {error}") from None


class DocumentReader:
    """Makes of a document's text who may come in. Fetched keys outlive the document they were for."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._keys: IssuerKeys[Sequence[VerificationKey]] | None = None

    def read(self, text: str) -> Access:
        """Who may come in by this document.

        Raises:
            AccessDocumentError: nobody, or it cannot be gone by.
        """
        settings = self._settings
        tokens = [Token(name, sha256) for name, sha256 in settings.bearer_tokens]
        document = AccessDocument.read(text, loopback=settings.loopback_issuers)
        found = document.access(tokens, self._verifier)
        if not (found.schemes or settings.anonymous or settings.local_principal):
            raise AccessDocumentError("it names nobody, so that nobody would be let in")
        return found

    def _verifier(self, issuers: Sequence[TrustedIssuer]) -> IssuedTokens:
        try:
            return self._tokens(issuers)
        except UnusableKeysError as error:
            number = [issuer.issuer for issuer in issuers].index(error.issuer)
            raise AccessDocumentError(
                f"jwt[{number}] has no key for its algorithms that can be used"
            ) from None
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in SIGNING:
                raise
            raise AccessDocumentError("jwt needs the signing layer: deploy with Jwt=on") from None

    def _tokens(self, issuers: Sequence[TrustedIssuer]) -> IssuedTokens:
        from a2a_serverless.adapters.https_keys import HttpsKeys  # noqa: PLC0415  see above
        from a2a_serverless.adapters.issuer_keys import IssuerKeys  # noqa: PLC0415  as above
        from a2a_serverless.adapters.pyjwt_tokens import PyjwtTokens  # noqa: PLC0415  as above
        from a2a_serverless.adapters.verification_keys import fetched_from  # noqa: PLC0415  as above

        if self._keys is None:
            web = HttpsKeys(loopback=self._settings.loopback_issuers)
            self._keys = IssuerKeys(fetched_from(web.fetch), self._clock)
        return PyjwtTokens(issuers, self._keys, self._clock)
