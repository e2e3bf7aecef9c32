"""Find the handler that `_HANDLER` names, and say in the stock runtime's words why it cannot be found.

The only file that imports a deployer's code and touches the module search path.
"""

import importlib
import sys
from collections.abc import Callable, Mapping

from a2a_runtime.failures import Failure, failure_of

Handler = Callable[[object, object], object]
"""Takes the decoded event and the context, returns something JSON can carry or a streamed answer."""


class HandlerUnavailable(Exception):
    """The handler cannot be loaded; `failure` is what the platform is told."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def extend_search_path(environ: Mapping[str, str]) -> None:
    """Search for modules as the stock runtime does: the function's, then the layers', then the runtime's."""
    task_root = environ.get("LAMBDA_TASK_ROOT")
    if task_root and sys.path[:1] != [task_root]:
        sys.path.insert(0, task_root)
    runtime = environ.get("LAMBDA_RUNTIME_DIR")
    if runtime:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        later = ["/opt/python", f"/opt/python/lib/{version}/site-packages", runtime]
        sys.path.extend(folder for folder in later if folder not in sys.path)


def load_handler(name: str) -> Handler:
    """Import the handler `module.function` (the module may be written with slashes).

    Raises:
        HandlerUnavailable: With the error type that AWS's own runtime reports for the same mistake.
    """
    module_name, dot, function_name = name.rpartition(".")
    if not dot:
        raise HandlerUnavailable(Failure("Runtime.MalformedHandlerName", f"Bad handler '{name}'"))
    try:
        module = importlib.import_module(module_name.replace("/", "."))
    except Exception as error:
        # Whatever a module raises at import is a failed start; these two have names of their own.
        if isinstance(error, ImportError):
            failure = _renamed(error, "Runtime.ImportModuleError", f"Unable to import module '{module_name}'")
        elif isinstance(error, SyntaxError):
            failure = _renamed(
                error, "Runtime.UserCodeSyntaxError", f"Syntax error in module '{module_name}'"
            )
        else:
            failure = failure_of(error)
        raise HandlerUnavailable(failure) from error
    handler: Handler | None = getattr(module, function_name, None)
    if handler is None:
        message = f"Handler '{function_name}' missing on module '{module_name}'"
        raise HandlerUnavailable(Failure("Runtime.HandlerNotFound", message))
    return handler


def _renamed(error: Exception, error_type: str, what: str) -> Failure:
    return Failure(error_type, f"{what}: {error}", stack_trace=failure_of(error).stack_trace)
