"""One turn of the skill: understand, let the model write, check, let it repair, and tell what came of it.

Everything is bounded: repairs, answers of the model, tokens, and the time of an answer. Between answers there
is a checkpoint, so that a task may outlast an invocation. What the model says decides nothing here but text.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing

from a2a_agents.iac.generation.checking import Check
from a2a_agents.iac.generation.drafts import Drafts, described, media_type
from a2a_agents.iac.generation.instructions import TOOLS, Language, instructions
from a2a_agents.iac.generation.memory import Memory
from a2a_agents.iac.generation.model import Call, Delta, Model, ModelError, Result, Said, Tokens
from a2a_agents.iac.generation.problems import Problem, errors, told
from a2a_agents.iac.generation.tools import Question, Tools
from a2a_agents.iac.operations.regions import region_in
from a2a_serverless.agent import (
    ArtifactChunk,
    Completed,
    Failed,
    InputRequired,
    Outcome,
    Rejected,
    ToolCall,
    ToolResult,
    Turn,
    Update,
    Usage,
    Working,
)
from a2a_serverless.frameworks.messages import File, RefusedError, Response, given

MOST_REPAIRS = 5
"""Rounds of repair after the first writing."""

MOST_STEPS = 40
"""Answers of the model in one task."""

MOST_TOKENS = 400_000
"""Tokens of one task, in and out."""

MOST_OUTPUT = 8192
"""Tokens of one answer."""

ANSWER_SECONDS = 120.0
"""Seconds for one answer."""

MOST_FAILURES = 3
"""Times in a row that the model may give no answer."""

AFTER_FAILURE = 10.0
"""Seconds until it is asked again."""

AT_LEAST = 1.0
"""Seconds for an answer, however little time is left."""

TERRAFORM = re.compile(r"\bterraform\b|\bopentofu\b|\bhcl\b|\.tf\b", re.IGNORECASE)
CLOUDFORMATION = re.compile(r"\bcloud\s?formation\b|\bAWS\b", re.IGNORECASE)


class Ends(Exception):
    """The turn ends here, so."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(type(outcome).__name__)
        self.outcome = outcome


async def write(
    turn: Turn, model: Model, checks: Callable[[str], Check], *, region: str = ""
) -> AsyncIterator[Update]:
    """One turn, whose outcome is the last update.

    `checks` gives the check of files for a region, `region` is the one that is meant where nobody names one.
    """
    memory = Memory.of(turn)
    work = _Work(turn, memory, model, checks, region)
    outcome: Outcome = Completed()
    try:
        async with aclosing(work.updates()) as updates:
            async for update in updates:
                yield update
    except Ends as end:
        outcome = end.outcome
    except RefusedError as refusal:
        outcome = Rejected(str(refusal))
    if isinstance(outcome, InputRequired):
        memory.save(turn)
    else:
        memory.done(turn)
    yield outcome


class Enough(Exception):
    """The model is not asked again, for this reason; what there is of files is handed over as it is."""


class _Work:
    def __init__(
        self, turn: Turn, memory: Memory, model: Model, checks: Callable[[str], Check], region: str
    ) -> None:
        self._turn = turn
        self._memory = memory
        self._model = model
        self._checks = checks
        self._region = region
        self._response = Response(turn)
        self._drafts = Drafts(memory.files)

    async def updates(self) -> AsyncGenerator[Update, None]:
        """What the turn does until it ends."""
        memory = self._memory
        await self._hear()
        check = self._checks(memory.region)
        tools = Tools(self._drafts, self._turn.workspace, check)
        if not memory.steps:
            yield Working(f"Writing {WORKS[memory.language or Language.ROS]}.")
        reason = ""
        while True:
            try:
                async for update in self._until_still(tools):
                    yield update
            except Enough as enough:
                reason = str(enough)
            problems = (
                [*await check(memory.files)] if memory.files else [Problem("-", "No file was written.")]
            )
            wrong = errors(problems)
            if reason or not wrong or memory.repairs >= MOST_REPAIRS:
                break
            memory.repairs += 1
            yield Working(f"Repairing, round {memory.repairs} of {MOST_REPAIRS}: {len(wrong)} errors.")
            text = f"The check finds errors. Repair them, and nothing else:\n{told(wrong)}"
            memory.conversation.append(Said(role="user", text=text))
            await self._pause()
        async for update in self._deliver(problems, reason):
            yield update

    # What was said ----------------------------------------------------------------------------------------

    async def _hear(self) -> None:
        """Take up the message once: as the request, or as the answer to what was asked."""
        memory, turn = self._memory, self._turn
        if memory.heard == turn.message.message_id:
            return
        pieces = await given(turn)
        text = "\n\n".join(piece for piece in pieces if isinstance(piece, str)).strip()
        for piece in pieces:
            if isinstance(piece, File):
                raise piece.unsupported()
        memory.heard = turn.message.message_id
        memory.region = region_in(text) or memory.region or self._region
        if memory.asked:
            answer = Result(call_id=memory.asked, text=text)
            memory.conversation[-1].results.append(answer)
            memory.asked = ""
        elif memory.asks_region:
            memory.conversation[0].text += f"\n\n{text}"
        else:
            memory.language = language_of(text)
            files = [file.name for file in await turn.workspace.list() if not file.name.startswith(".")]
            listed = f"\n\nFiles of the user: {', '.join(files[:50])}" if files else ""
            memory.conversation.append(Said(role="user", text=f"{text}{listed}"))
        if not memory.region and memory.language is not Language.CLOUDFORMATION:
            memory.asks_region = True
            raise Ends(InputRequired("For which region? For example cn-hangzhou."))

    # The model --------------------------------------------------------------------------------------------

    async def _until_still(self, tools: Tools) -> AsyncGenerator[Update, None]:
        """Let the model work until it calls no more tools."""
        memory = self._memory
        while memory.conversation[-1].role == "user":
            self._check_bounds()
            said = Said(role="assistant")
            async for update in self._answer(said):
                yield update
            memory.conversation.append(said)
            if not said.calls:
                return
            results = Said(role="user")
            question: Question | None = None
            for call in said.calls:
                yield ToolCall(call.call_id, call.name, call.arguments)
                done = await tools.run(call)
                if isinstance(done, Question) and question is None:
                    question = done
                    continue
                if isinstance(done, Question):
                    done = Result(call_id=call.call_id, text="One question at a time.", failed=True)
                results.results.append(done)
                shown = {"error": done.text} if done.failed else {"output": done.text}
                yield ToolResult(call.call_id, call.name, **shown)
            memory.conversation.append(results)
            if question is not None:
                memory.asked = question.call_id
                raise Ends(InputRequired(question.text))
            await self._pause()

    async def _answer(self, said: Said) -> AsyncGenerator[Update, None]:
        """One answer of the model, put into `said` as it comes."""
        memory = self._memory
        memory.steps += 1
        language = memory.language or Language.ROS
        seconds = max(AT_LEAST, min(ANSWER_SECONDS, self._turn.remaining_seconds() - AT_LEAST))
        try:
            pieces = self._model.answer(
                instructions(language, memory.region), memory.conversation, TOOLS, most_tokens=MOST_OUTPUT
            )
            async with asyncio.timeout(seconds), aclosing(pieces):
                async for piece in pieces:
                    match piece:
                        case Delta(text=text):
                            said.text += text
                            for chunk in self._response.text(text):
                                yield chunk
                        case Call():
                            said.calls.append(piece)
                        case Tokens(input=taken, output=made):
                            memory.tokens += taken + made
                            yield Usage(taken, made, self._model.name)
        except (ModelError, TimeoutError) as error:
            await self._fails(error)
        memory.failures = 0
        self._response.pause()

    async def _fails(self, error: ModelError | TimeoutError) -> None:
        """The model gave no answer: ask again after a while, if that may help."""
        memory = self._memory
        memory.failures += 1
        passing = isinstance(error, TimeoutError) or error.passing
        if passing and memory.failures < MOST_FAILURES:
            memory.save(self._turn)
            await self._turn.checkpoint(resume_after=AFTER_FAILURE)
        why = str(error) if isinstance(error, ModelError) else "it took too long"
        raise Enough(f"The model gives no answer: {why}.")

    def _check_bounds(self) -> None:
        memory = self._memory
        if memory.steps >= MOST_STEPS or memory.tokens >= MOST_TOKENS:
            what = "steps" if memory.steps >= MOST_STEPS else "tokens"
            raise Enough(f"Gave up: the model has taken too many {what} for one template.")

    async def _pause(self) -> None:
        """A place to go on from."""
        self._memory.save(self._turn)
        await self._turn.checkpoint()

    # The result -------------------------------------------------------------------------------------------

    async def _deliver(self, problems: list[Problem], reason: str) -> AsyncGenerator[Update, None]:
        """Hand over the files, and say honestly what is wrong with them."""
        memory = self._memory
        for chunk in self._response.end():
            yield chunk
        wrong = errors(problems)
        for name, text in memory.files.items():
            await self._turn.workspace.write(name, text.encode(), media_type(name) or "text/plain")
            yield ArtifactChunk(
                artifact_id(name),
                text,
                name=name,
                description="A draft, not finished." if wrong or reason else None,
                media_type=media_type(name),
                append=False,
                last_chunk=True,
            )
        rest = told([one for one in problems if one not in wrong])
        if reason or wrong:
            found = f"After {memory.repairs} rounds of repair the check still finds:\n{told(problems)}"
            raise Ends(Failed(f"{reason} {found}".strip() if wrong else f"{reason} It may be unfinished."))
        hints = f"\nWorth a look:\n{rest}" if rest else ""
        raise Ends(Completed(f"Wrote {described(memory.files)}; the check finds no errors.{hints}"))


WORKS = {
    Language.ROS: "a ROS template",
    Language.TERRAFORM: "a Terraform module",
    Language.CLOUDFORMATION: "a CloudFormation template",
}


def language_of(text: str) -> Language:
    """What is asked for: ROS, if nothing else is named."""
    if TERRAFORM.search(text):
        return Language.TERRAFORM
    return Language.CLOUDFORMATION if CLOUDFORMATION.search(text) else Language.ROS


def artifact_id(name: str) -> str:
    """The id of the artifact of a file."""
    return re.sub(r"[^A-Za-z0-9_.:-]", ":", name)[:128]
