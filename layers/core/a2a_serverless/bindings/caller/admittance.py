"""The front door: who calls, whether they may, and under which address they found us.

Asked before anything of a body is read, by every way in. Whatever is wrong with credentials gives the same
answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from a2a_serverless.bindings.caller.access import Access
from a2a_serverless.bindings.caller.principal import LOCAL, Principal, named, nobody
from a2a_serverless.bindings.caller.refusals import CannotTellError, MissingScopeError, UnknownCallerError
from a2a_serverless.bindings.caller.schemes import AUTHORIZATION, Bearer, NobodyError, Token
from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.ports.access import KeysOutOfReachError


class Admittance:
    """Who is let in.

    Attributes:
        access: says who may come in, as it stands when asked.
        anonymous: whether callers without credentials are served, all as one principal.
        local_principal: every caller without credentials is this one; for a machine of one's own only.
        base_url: the public address of the deployment; empty means the one a request came in by.
    """

    def __init__(
        self,
        tokens: Sequence[Token] = (),
        *,
        access: Callable[[], Access] | None = None,
        anonymous: bool = False,
        local_principal: str = "",
        base_url: str = "",
    ) -> None:
        only = Access((Bearer(tuple(tokens)),) if tokens else ())
        self.access = access or (lambda: only)
        self.anonymous = anonymous
        self.local_principal = local_principal
        self.base_url = base_url

    def authenticate(self, request: HttpRequest) -> Principal:
        """The principal a request comes from.

        A header that no configured scheme reads is for whatever stands in front of us. Credentials of
        several schemes must all be right, and of one principal.

        Raises:
            UnknownCallerError: credentials are missing where they are needed, or wrong wherever they are.
            CannotTellError: what would prove them is out of reach.
        """
        access = self.access()
        shown = [(name, given) for name in access.headers if (given := request.headers.get(name))]
        try:
            principals = [access.principal(name, given) for name, given in shown]
        except NobodyError as error:
            raise UnknownCallerError(access.challenges) from error
        except KeysOutOfReachError as error:
            raise CannotTellError(error.retry_after) from error
        if len({(each.issuer, each.name) for each in principals}) > 1:
            raise UnknownCallerError(access.challenges)
        if principals:
            return replace(principals[0], scopes=frozenset().union(*(each.scopes for each in principals)))
        if self.local_principal:
            return named(self.local_principal, issuer=LOCAL)
        if self.anonymous:
            return nobody()
        raise UnknownCallerError(access.challenges)

    def permit(self, principal: Principal, method: str) -> None:
        """Let a principal call an operation.

        Raises:
            MissingScopeError: it asks for a scope that they have not.
            UnknownCallerError: the same of somebody who did not say who they are.
        """
        access = self.access()
        required = access.scopes_for(method)
        if required <= principal.scopes:
            return
        if principal.anonymous:
            raise UnknownCallerError(access.challenges)
        raise MissingScopeError(sorted(required))

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers that credentials may come in, besides Authorization."""
        return tuple(name for name in self.access().headers if name != AUTHORIZATION)

    def address(self, request: HttpRequest) -> str:
        """The public address of the deployment, without a trailing slash."""
        return self.base_url or request.origin
