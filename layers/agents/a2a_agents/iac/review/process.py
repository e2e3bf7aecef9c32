"""Runs a review in a process of its own and takes what it has said by the end of its time."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

MODULE: Final = "a2a_agents.iac.review"
PASSED_ON: Final = ("PATH", "LD_LIBRARY_PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "COVERAGE_PROCESS_START")
"""Variables that a reviewing process has. Credentials are not among them."""

MOST_MEMORY: Final = 1536 * 1024 * 1024
"""Bytes of address space of a review, cfn-lint included, where there is so much."""
LEAST_MEMORY: Final = 384 * 1024 * 1024
OWN_MEMORY: Final = 128 * 1024 * 1024
"""What the agent's own process keeps of its function's memory."""


def memory(environment: Mapping[str, str]) -> int:
    """Bytes that a review may take: what its function leaves, so that the review breaks and not the turn."""
    size = int(environment.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "0")) * 1024 * 1024
    return min(MOST_MEMORY, max(LEAST_MEMORY, size - OWN_MEMORY)) if size else MOST_MEMORY


MOST_ANSWER: Final = 64 * 1024 * 1024
"""Bytes of one answer: a report, and corrected copies of what was sent."""


@dataclass(frozen=True)
class Reviewed:
    """What a review has said: a report, or why there is none."""

    failed: str | None
    report: Mapping[str, Any]


NOT_IN_TIME: Final = "The review took too long and was stopped. Send fewer or smaller files."
BROKE_OFF: Final = "The review of these files broke off. Send fewer or smaller files."


async def reviewed(files: Mapping[str, str], *, seconds: float, lint: bool, module: str = MODULE) -> Reviewed:
    """Review files by name, in so many seconds; what cfn-lint has not said by then is done without."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment,
        limit=MOST_ANSWER,
    )
    answers: list[Mapping[str, Any]] = []
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await _talk(process, files, answers, lint=lint)
                await process.wait()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if not answers:
        ended = process.returncode is not None and process.returncode >= 0
        return Reviewed(BROKE_OFF if ended else NOT_IN_TIME, {})
    return Reviewed(answers[-1].get("failed"), answers[-1])


async def _talk(
    process: asyncio.subprocess.Process,
    files: Mapping[str, str],
    answers: list[Mapping[str, Any]],
    *,
    lint: bool,
) -> None:
    asked = {
        "files": [{"name": name, "text": text} for name, text in files.items()],
        "lint": lint,
        "memory": memory(os.environ),
    }
    if process.stdin is None or process.stdout is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(json.dumps(asked).encode())
        await process.stdin.drain()
        process.stdin.close()
    while line := await process.stdout.readline():
        answers.append(json.loads(line))
