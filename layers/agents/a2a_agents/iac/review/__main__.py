"""The process a review runs in: files on standard input, what came out on standard output.

Whatever a template does to its reader, it does here: the process has limits on time and memory, is given no
credentials, and is ended by whoever started it. It answers twice, a line each: with the review of our own
rules, and once more when cfn-lint has spoken, which takes longer and may not be waited for.
"""

import json
import os
import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from a2a_agents.iac.review.findings import Kind
from a2a_agents.iac.review.lint import LintMatch, lint
from a2a_agents.iac.review.reviewing import Review, review
from a2a_agents.iac.review.source import Source
from a2a_agents.iac.review.told import counted, markdown, sarif

MOST_CPU_SECONDS: Final = 120

TOO_DEEP: Final = "The files are too deeply nested to be reviewed."
TOO_MUCH: Final = "The files take more memory than there is for a review."
NO_LINT: Final = "cfn-lint is not part of this deployment: our own rules alone looked at CloudFormation."
UNFINISHED: Final = "cfn-lint did not finish: our own rules alone looked at CloudFormation."


def main() -> int:
    """Read, review, answer."""
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no answer
    given = json.load(sys.stdin.buffer)
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_SECONDS, MOST_CPU_SECONDS))
    if sys.platform == "linux":  # elsewhere the limit is not kept, or forbids what is there already
        resource.setrlimit(resource.RLIMIT_AS, (given["memory"], given["memory"]))
    for value in answers(given):
        pipe.write(json.dumps(value).encode() + b"\n")
        pipe.flush()
    return 0


def answers(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What is answered to what was given, each as soon as it is known."""
    try:
        found = review([Source(file["name"], file["text"]) for file in given["files"]])
    except RecursionError:
        yield {"failed": TOO_DEEP}
        return
    except MemoryError:
        yield {"failed": TOO_MUCH}
        return
    documents = [each for each in found.documents if each.kind is Kind.CLOUDFORMATION]
    wanted = bool(documents) and given["lint"]
    yield told(found, (), (UNFINISHED,) if wanted else (), last=not wanted)
    if wanted:
        try:
            yield told(found, lint(documents, found.findings), (), last=True)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "cfnlint":
                raise
            yield told(found, (), (NO_LINT,), last=True)


def told(found: Review, matches: Sequence[LintMatch], notes: Sequence[str], *, last: bool) -> dict[str, Any]:
    """What the agent is told of a review."""
    return {
        "templates": [template.source.name for template in found.templates],
        "passed_over": found.passed_over,
        "counted": counted(found),
        "linted": len(matches),
        "markdown": markdown(found, matches, notes),
        "sarif": sarif(found, matches),
        "corrections": [
            {"name": name, "text": text, "findings": len(done)}
            for name, (text, done) in found.corrections.items()
        ],
        "last": last,
    }


if __name__ == "__main__":
    sys.exit(main())
