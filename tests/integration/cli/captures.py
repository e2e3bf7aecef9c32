"""What the documentation shows of the command: typed at a deployment, with the same ids each time.

`python -m tests.integration.cli.captures` puts it into the documents as it is now.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.stack import ROOT, running

DOCUMENTS = (ROOT / "README.md", ROOT / "layers" / "core" / "a2a_serverless" / "cli" / "README.md")
CAPTURES = re.compile(r"(?<=<!-- captures -->\n).*?(?=<!-- end of captures -->)", re.DOTALL)

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
IDS = (
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
    "6fa459ea-ee8a-4ca4-894e-db77e160355e",
    "16fd2706-8baf-433b-82eb-8c7fada847da",
    "886313e1-3b8a-4372-9b90-0c9aee199e5d",
)
BEGUN = re.compile(r"^(task \S+ of context \S+: )working$", re.MULTILINE)
AT_WORK = re.compile(r"^working\n", re.MULTILINE)
"""What is told or not, by how soon a turn begins."""

ADDRESS = "http://127.0.0.1:8080"

TYPED = (
    'a2a-serverless call URL "Order ORD-1042 is damaged" --stream',
    'a2a-serverless call URL --task TASK "See damage.jpg."',
    "a2a-serverless task list URL",
    'a2a-serverless call URL "Order ORD-9999 is damaged"',
    "a2a-serverless task get URL TASK-1",
    "a2a-serverless call URL Hello --tokn secret",
)
"""What is typed; URL is the deployment's address, TASK the task that was named last."""


def captures(url: str, here: Path) -> str:
    """Everything that is typed with what it prints, as the document has it."""
    shown: list[str] = []
    task = ""
    for typed in TYPED:
        words = [task if word == "TASK" else url if word == "URL" else word for word in shlex.split(typed)]
        printed = _printed(words[1:], here)
        found = re.search(r"task (\S+)", printed)
        shown.append(f"$ {typed.replace('URL', url).replace('--task TASK', f'--task {task}')}\n{printed}")
        task = found[1].rstrip(":") if found else task
    text = "".join(shown).replace(url, ADDRESS)
    text = AT_WORK.sub("", BEGUN.sub(r"\1submitted", text))
    ids = {found: IDS[number] for number, found in enumerate(dict.fromkeys(ID.findall(text)))}
    text = ID.sub(lambda found: ids[found[0]], text)
    return f"```console\n{TIME.sub('2026-11-30T12:00:00Z', text)}```\n"


def _printed(arguments: list[str], here: Path) -> str:
    """What both outputs show, in order."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("A2A_", "AWS_"))}
    paths = os.pathsep.join(map(str, (ROOT / "layers" / "core", ROOT / "layers" / "agents")))
    ended = subprocess.run(
        [sys.executable, "-m", "a2a_serverless.cli", *arguments],
        cwd=here,
        env={**kept, "PYTHONPATH": paths, "XDG_CONFIG_HOME": str(here)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ended.stdout


@contextmanager
def captured() -> Iterator[str]:
    """The same, at a deployment of its own."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "logs") as stack:
        yield captures(stack.url, Path(folder))


def main() -> None:
    """Put it into the documents."""
    with captured() as shown:
        for document in DOCUMENTS:
            text = document.read_text(encoding="utf-8")
            document.write_text(CAPTURES.sub(lambda _: shown, text), encoding="utf-8")


if __name__ == "__main__":
    main()
