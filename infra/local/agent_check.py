"""Whether an agent can be imported, found out in a process with the functions' search path.

Run as a program with MODULE:ATTR as its argument: prints nothing when it can, one line with the reason when
it cannot.
"""

import importlib
import sys

from a2a_serverless.agent import AgentProfile


def problem_with(agent: str) -> str:
    """Return why `module:attribute` cannot be used; "" when it can."""
    module_name, _, attribute = agent.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # noqa: BLE001 - a deployer's module may raise anything; the reason is what is asked for
        return f"module {module_name} cannot be imported: {type(error).__name__}: {error}"
    if not hasattr(module, attribute):
        return f"module {module_name} has no attribute {attribute!r}"
    if not callable(getattr(module, attribute)):
        return f"{agent} is not callable"
    if not isinstance(getattr(module, "profile", None), AgentProfile):
        return f"module {module_name} has no profile: an AgentProfile of that name, which becomes the card"
    return ""


if __name__ == "__main__":
    problem = problem_with(sys.argv[1])
    print(problem.replace("\n", " "), end="")
    sys.exit(1 if problem else 0)
