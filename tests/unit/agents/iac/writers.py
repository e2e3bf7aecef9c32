"""A model that says what a test has written down for it, and remembers what it was told."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any

from a2a_agents.iac.generation.model import Call, Delta, ModelError, Piece, Result, Said, Tokens, Tool

GOOD = """\
ROSTemplateFormatVersion: '2015-09-01'
Description: A network.
Parameters:
  ZoneId:
    Type: String
    AssociationProperty: ALIYUN::ECS::ZoneId
Resources:
  Vpc:
    Type: ALIYUN::ECS::VPC
    Properties:
      CidrBlock: 10.0.0.0/16
  VSwitch:
    Type: ALIYUN::ECS::VSwitch
    Properties:
      CidrBlock: 10.0.1.0/24
      VpcId: {Ref: Vpc}
      ZoneId: {Ref: ZoneId}
Outputs:
  VpcId:
    Value: {Ref: Vpc}
"""
FIXED_ZONE = GOOD.replace("{Ref: ZoneId}", "cn-hangzhou-h")

Script = Sequence[Piece | ModelError]


def call(tool: str, call_id: str = "c", /, **arguments: Any) -> Call:
    return Call(call_id=call_id, name=tool, arguments=arguments)


def writes(content: str = GOOD, name: str = "template.yaml") -> Script:
    return (Delta("Writing it."), call("write_file", name=name, content=content), Tokens(100, 50))


DONE: Script = (Delta("Done."), Tokens(10, 5))


@dataclass
class ScriptedModel:
    """Says the next script each time it is asked, the last one for ever."""

    scripts: Sequence[Script]
    name: str = "scripted"
    heard: list[tuple[str, list[Said]]] = field(default_factory=list)

    async def answer(
        self, instructions: str, conversation: Sequence[Said], tools: Sequence[Tool], *, most_tokens: int
    ) -> AsyncGenerator[Piece, None]:
        number = min(len(self.heard), len(self.scripts) - 1)
        self.heard.append((instructions, [said.model_copy(deep=True) for said in conversation]))
        for piece in self.scripts[number]:
            if isinstance(piece, ModelError):
                raise piece
            yield (
                piece.model_copy(update={"call_id": f"{piece.call_id}{len(self.heard)}"})
                if isinstance(piece, Call)
                else piece
            )

    @property
    def results(self) -> list[Result]:
        """What its tools have given it, as far as it was told."""
        return [result for said in self.heard[-1][1] for result in said.results]
