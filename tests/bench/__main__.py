"""`python -m tests.bench [NAME …]`: measure, and print one JSON object a line.

Every line has `bench`, `what`, `value` and `unit`; `aim` is the budget that the value is meant to keep.
Numbers are printed, never asserted: whether one is good enough is for a person to say.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from tests.bench.cold_start import cold_start
from tests.bench.local_stack import local
from tests.bench.own_code import own_code
from tests.bench.price import price
from tests.bench.reading import get_task, list_tasks
from tests.bench.result import Result
from tests.bench.size import size
from tests.bench.streams import streams
from tests.bench.turn import turn

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
}


def main(arguments: Sequence[str]) -> int:
    """Run the benches named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)}; default: all")
    names = parser.parse_args(arguments).names or list(BENCHES)
    unknown = sorted(set(names) - BENCHES.keys())
    if unknown:
        parser.error(f"no bench is called {', '.join(unknown)}")
    for name in names:
        for result in BENCHES[name]():
            print(json.dumps({"bench": name, **result.fields()}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
