"""`python -m tests.bench [NAME …] [OPTION …]`: measure, and print one JSON object a line.

Every line has `bench`, `what`, `value` and `unit`; `aim` is the budget that the value is meant to keep.
Numbers are printed, never asserted: whether one is good enough is for a person to say. What takes minutes is
a proof: it runs when it is named, and fails when a promise is broken.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from tests.bench.artifacts import artifacts
from tests.bench.client_import import client_import
from tests.bench.cold_start import cold_start
from tests.bench.command import command
from tests.bench.fuzz import fuzz
from tests.bench.local_stack import local
from tests.bench.own_code import own_code
from tests.bench.price import price
from tests.bench.reading import get_task, list_tasks
from tests.bench.result import Result
from tests.bench.size import size
from tests.bench.streams import streams
from tests.bench.turn import turn
from tests.bench.webhooks import webhooks
from tests.bench.webhooks_under_fire import webhooks_under_fire

BENCHES: Mapping[str, Callable[[], Iterator[Result]]] = {
    "turn": turn,
    "get-task": get_task,
    "list-tasks": list_tasks,
    "price": price,
    "own-code": own_code,
    "cold-start": cold_start,
    "size": size,
    "local": local,
    "streams": streams,
    "webhooks": webhooks,
    "artifacts": artifacts,
    "client-import": client_import,
    "command": command,
}

PROOFS: Mapping[str, Callable[[argparse.Namespace], Iterator[Result]]] = {
    "webhooks-under-fire": lambda given: webhooks_under_fire(given.tasks),
    "fuzz": lambda given: fuzz(given.requests, given.seed),
}
"""What takes minutes, of the size that is given."""


def main(arguments: Sequence[str]) -> int:
    """Run the benches named, or all that take no minutes."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    known = [*BENCHES, *PROOFS]
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join(known)}; default: all but {', '.join(PROOFS)}",
    )
    parser.add_argument(
        "--tasks",
        type=int,
        default=1000,
        metavar="N",
        help="tasks of webhooks-under-fire (default: 1000)",
    )
    parser.add_argument(
        "--requests", type=int, default=20_000, metavar="N", help="requests of fuzz (default: 20000)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which requests (default: 1)")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.names) - set(known))
    if unknown:
        parser.error(f"no bench is called {', '.join(unknown)}")
    runs: dict[str, Callable[[], Iterator[Result]]] = {
        **BENCHES,
        **{name: partial(proof, given) for name, proof in PROOFS.items()},
    }
    for name in given.names or BENCHES:
        for result in runs[name]():
            print(json.dumps({"bench": name, **result.fields()}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
