"""A model for the local stack: it asks for a choice, writes a template with a fault, and repairs it."""

from collections.abc import AsyncGenerator, Sequence

from a2a_agents.iac.generation.model import Call, Delta, Piece, Said, Tokens, Tool
from tests.unit.agents.iac.writers import FIXED_ZONE

STEPS = ("ask_user", "write_file", "edit_file")


class Writer:
    """Does the next thing by what it was told so far, as it remembers nothing itself."""

    name = "writer"

    async def answer(
        self, instructions: str, conversation: Sequence[Said], tools: Sequence[Tool], *, most_tokens: int
    ) -> AsyncGenerator[Piece, None]:
        """See `a2a_agents.iac.generation.model.Model`."""
        done = [call.name for said in conversation for call in said.calls]
        step = STEPS[len(done)] if len(done) < len(STEPS) else ""
        last = conversation[-1]
        match step:
            case "ask_user":
                yield Call(call_id="ask", name="ask_user", arguments={"question": "One zone or two?"})
            case "write_file":
                yield Delta("I write it.")
                arguments = {"name": "template.yaml", "content": FIXED_ZONE}
                yield Call(call_id="write", name="write_file", arguments=arguments)
            case "edit_file" if "check finds" in last.text:
                arguments = {"name": "template.yaml", "old": "cn-hangzhou-h", "new": "{Ref: ZoneId}"}
                yield Call(call_id="edit", name="edit_file", arguments=arguments)
            case _:
                yield Delta("Done.")
        yield Tokens(10, 5)


model = Writer()
