"""The tools: what a call of the model's does. They read and write text; nothing else can be asked of them.

Arguments are the model's, and it may have been talked into anything: every name is checked, every size is
bounded, and a question to the user that asks for a secret is not put.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from a2a_agents.iac.generation.checking import Check
from a2a_agents.iac.generation.drafts import Drafts, NotDoneError, described
from a2a_agents.iac.generation.instructions import ASK, EDIT, READ, VALIDATE, WRITE
from a2a_agents.iac.generation.model import Call, Result
from a2a_agents.iac.generation.problems import told
from a2a_serverless.agent import Workspace

MOST_READ = 60_000
"""Characters of a file that are read at once."""

MOST_QUESTION = 1000
"""Characters of a question to the user."""

SECRETIVE = re.compile(
    r"pass\s*word|passphrase|credential|access\s*key|secret|private\s+key|\btoken\b|api\s*key|密码|密钥",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Question:
    """Something that the model wants to have decided."""

    call_id: str
    text: str


@dataclass
class Tools:
    """The tools of one turn."""

    drafts: Drafts
    workspace: Workspace
    check: Check

    async def run(self, call: Call) -> Result | Question:
        """Do what a call asks for."""
        do = self._all().get(call.name)
        if do is None:
            return Result(call_id=call.call_id, text=f"There is no tool {call.name!r}.", failed=True)
        try:
            done = await do(call)
        except NotDoneError as refusal:
            return Result(call_id=call.call_id, text=str(refusal), failed=True)
        return done if isinstance(done, Question) else Result(call_id=call.call_id, text=done)

    def _all(self) -> dict[str, Callable[[Call], Awaitable[str | Question]]]:
        return {
            WRITE.name: self._write,
            EDIT.name: self._edit,
            READ.name: self._read,
            VALIDATE.name: self._validate,
            ASK.name: self._ask,
        }

    async def _write(self, call: Call) -> str:
        name, content = _text(call, "name"), _text(call, "content")
        self.drafts.write(name, content)
        return f"Written: {name}, {len(content.splitlines())} lines."

    async def _edit(self, call: Call) -> str:
        name = _text(call, "name")
        if name not in self.drafts.files and (theirs := await self._theirs(name)) is not None:
            self.drafts.write(name, theirs)
        self.drafts.edit(name, _text(call, "old"), _text(call, "new"))
        return f"Edited: {name}."

    async def _read(self, call: Call) -> str:
        name = _text(call, "name")
        content = self.drafts.files.get(name)
        if content is None:
            content = await self._theirs(name)
        if content is None:
            files = [file.name for file in await self.workspace.list() if not file.name.startswith(".")]
            raise NotDoneError(
                f"There is no file {name!r}. Yours: {described(self.drafts.files) or 'none'}."
                f" The user's: {', '.join(files[:50]) or 'none'}."
            )
        return content[:MOST_READ] + ("\n… cut here" if len(content) > MOST_READ else "")

    async def _theirs(self, name: str) -> str | None:
        """A file of the conversation's workspace; None when there is none."""
        if name.startswith("."):
            return None
        try:
            return (await self.workspace.read(name)).decode()
        except FileNotFoundError:
            return None
        except ValueError:
            raise NotDoneError(f"{name!r} is no name of a file, or the file is not text.") from None

    async def _validate(self, _: Call) -> str:
        if not self.drafts.files:
            raise NotDoneError("There are no files yet: write them first.")
        return told(await self.check(self.drafts.files)) or "Nothing is wrong."

    async def _ask(self, call: Call) -> Question:
        text = _text(call, "question").strip()[:MOST_QUESTION]
        if not text or SECRETIVE.search(text):
            raise NotDoneError(
                "That is not asked. Secrets are parameters that are given when it is deployed."
            )
        choices = call.arguments.get("choices")
        listed = [str(one)[:200] for one in choices[:6]] if isinstance(choices, list) else []
        return Question(call.call_id, "\n".join([text, *(f"- {one}" for one in listed)]))


def _text(call: Call, name: str) -> str:
    value = call.arguments.get(name)
    if not isinstance(value, str):
        raise NotDoneError(f"{name} is missing, or not text.")
    return value
