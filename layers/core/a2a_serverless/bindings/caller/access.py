"""Who may come in, and what they may do, as it stands at one moment.

What the environment or an access document says, made ready to check credentials with. Which of them was
asked, and how often it is read again, is decided elsewhere.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

from a2a_serverless.bindings.caller.principal import Principal
from a2a_serverless.bindings.caller.schemes import MAX_CREDENTIAL, NobodyError, Scheme
from a2a_serverless.protocol.card import SecurityRequirement, SecurityScheme, StringList

EVERY_OPERATION = "*"


class Access:
    """What was read at one moment; two readings are never the same.

    Attributes:
        schemes: the ways to show who one is.
        required_scopes: what a caller must be allowed to do, by operation; `*` stands for all operations.
        public_card: whether the card is shown to everybody.
        public_health: whether everybody may ask whether the agent is well.
    """

    def __init__(
        self,
        schemes: Sequence[Scheme] = (),
        required_scopes: Mapping[str, frozenset[str]] | None = None,
        *,
        public_card: bool = True,
        public_health: bool = True,
    ) -> None:
        self.schemes = schemes
        self.required_scopes = required_scopes or {}
        self.public_card = public_card
        self.public_health = public_health

    @cached_property
    def headers(self) -> tuple[str, ...]:
        """The headers that hold credentials, in lower case."""
        return tuple(dict.fromkeys(scheme.header for scheme in self.schemes))

    @cached_property
    def challenges(self) -> tuple[str, ...]:
        """What a caller without credentials is told, one challenge for each scheme."""
        return tuple(scheme.challenge for scheme in self.schemes)

    @cached_property
    def announced(self) -> Mapping[str, SecurityScheme]:
        """What the card says of the schemes, by name."""
        return {name: each for scheme in self.schemes for name, each in scheme.announced.items()}

    @cached_property
    def requirements(self) -> tuple[SecurityRequirement, ...]:
        """Any one of the schemes will do, with the scopes that every operation asks for."""
        scopes = StringList(list=tuple(sorted(self.required_scopes.get(EVERY_OPERATION, ()))))
        return tuple(SecurityRequirement(schemes={name: scopes}) for name in self.announced)

    def scopes_for(self, method: str) -> frozenset[str]:
        """The scopes that an operation asks for."""
        always = self.required_scopes.get(EVERY_OPERATION, frozenset())
        return always | self.required_scopes.get(method, frozenset())

    def principal(self, header: str, given: Sequence[str]) -> Principal:
        """Who shows these values of one header that holds credentials.

        Raises:
            NobodyError: not exactly one credential, of a scheme that is taken here, that names somebody.
            KeysOutOfReachError: that cannot be said at present.
        """
        if len(given) != 1 or len(given[0]) > MAX_CREDENTIAL:
            raise NobodyError
        word, _, rest = given[0].partition(" ")
        for scheme in self.schemes:
            if scheme.header == header and not scheme.word:
                return scheme.principal(given[0].strip(" "))
            if scheme.header == header and scheme.word == word.lower():
                return scheme.principal(rest.strip(" "))
        raise NobodyError
