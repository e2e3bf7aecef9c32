"""Who calls: credentials to a principal, a principal to the caller the operations know (specification 7).

The same for every way in. Schemes read credentials, an access document says which there are, the admittance
is what a front door asks, and the refusals are what it answers. Knows no binding and no operation.
"""

from a2a_serverless.bindings.caller.access import Access
from a2a_serverless.bindings.caller.admittance import Admittance
from a2a_serverless.bindings.caller.principal import Principal
from a2a_serverless.bindings.caller.schemes import Token

__all__ = ["Access", "Admittance", "Principal", "Token"]
