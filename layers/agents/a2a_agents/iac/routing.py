"""Which skill a message is for: the one it names, the one that asked, or the one its words mean.

Words are looked at with the patterns of `INTENTS` and nothing cleverer, so that the same message always goes
the same way; where they could mean several skills the caller is asked. The README describes the rules.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from a2a_agents.iac.skills import Deployment, Skill
from a2a_serverless.agent import InputRequired, Message, Rejected, Turn

ROUTE = "iac"
"""Where the conversation's state remembers which skill works on which task."""

NAMED = "skill"
"""The key of a message's metadata that names a skill."""


@dataclass(frozen=True)
class Router:
    """The skills of an agent in one deployment.

    `intents` says by which words a skill is meant; `files_mean` is the skill for a message that brings files
    or a template and does not say what for.
    """

    skills: Sequence[Skill]
    deployment: Deployment
    intents: Mapping[str, re.Pattern[str]]
    files_mean: str

    def route(self, turn: Turn) -> Skill | InputRequired | Rejected:
        """The skill that works on this turn; or what the caller is told instead."""
        named = turn.message.metadata.get(NAMED)
        if named is not None:
            return self._named(named)
        remembered = turn.state.get(ROUTE)
        if isinstance(remembered, Mapping) and remembered.get("task") == turn.task_id:
            waiting = self._by_id(remembered.get("skill"))
            if waiting is not None:
                return self._if_usable(waiting)
        return self._meant(turn.message)

    def _named(self, named: object) -> Skill | Rejected:
        skill = self._by_id(named)
        if skill is None:
            return Rejected(f"There is no such skill. This agent's skills are: {self._list(self.offered())}.")
        return self._if_usable(skill)

    def _if_usable(self, skill: Skill) -> Skill | Rejected:
        reason = skill.usable(self.deployment)
        if reason is None:
            return skill
        return Rejected(
            f"The skill {skill.id} is not available: {reason}. Available are: {self._list(self.offered())}."
        )

    def _meant(self, message: Message) -> Skill | InputRequired | Rejected:
        text = "\n".join(part.text for part in message.parts if part.text)
        meant = self._by_words(text)
        if len(meant) == 1:
            return self._if_usable(meant[0])
        candidates = [skill for skill in meant if skill.usable(self.deployment) is None]
        if len(candidates) == 1:
            return candidates[0]
        if candidates or meant:
            if not candidates:
                return self._if_usable(meant[0])
            return InputRequired(
                "This could be for several skills. Which one is meant:"
                f" {self._list(candidates)}? Name it in the answer, or as metadata.skill."
            )
        if any(part.which() in ("raw", "url", "data") for part in message.parts) or looks_like_template(text):
            files_mean = self._by_id(self.files_mean)
            if files_mean is not None:
                return self._if_usable(files_mean)
        return InputRequired(
            f"What is to be done? This agent's skills are: {self._list(self.offered())}."
            " Name one in the answer, or as metadata.skill."
        )

    def _by_words(self, text: str) -> list[Skill]:
        """The skills that a text names, or else the ones its words mean; templates do not speak."""
        prose = without_templates(text)[:MOST_PROSE]
        named = [skill for skill in self.skills if re.search(rf"(?<![\w.-]){skill.id}(?![\w-])", prose)]
        if named:
            return named
        return [
            skill
            for skill in self.skills
            if skill.id in self.intents and self.intents[skill.id].search(prose)
        ]

    def offered(self) -> list[Skill]:
        """The skills that work in this deployment."""
        return [skill for skill in self.skills if skill.usable(self.deployment) is None]

    def _by_id(self, skill_id: object) -> Skill | None:
        return next((skill for skill in self.skills if skill.id == skill_id), None)

    @staticmethod
    def _list(skills: Sequence[Skill]) -> str:
        return ", ".join(skill.id for skill in skills)


MOST_PROSE = 4000
"""Characters of a message that are looked at for what it means."""

FENCED = re.compile(r"^[ \t]*(```+|~~~+)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)

TEMPLATE_BEGINS = re.compile(
    r"^[ \t]*(?:\{|---"
    r"|\"?(?:ROSTemplateFormatVersion|AWSTemplateFormatVersion|Resources|Transform|Parameters)\"?\s*:"
    r"|(?:resource|data|variable|module|provider|output|terraform|locals)\s+[\"{])",
    re.MULTILINE,
)


def without_templates(text: str) -> str:
    """What a person says around the templates of a text: no fenced ones, nothing after a bare one begins."""
    prose = FENCED.sub("\n", text)
    bare = TEMPLATE_BEGINS.search(prose)
    return prose[: bare.start()] if bare else prose


def looks_like_template(text: str) -> bool:
    """Whether a text brings a template, fenced or bare."""
    return FENCED.search(text) is not None or TEMPLATE_BEGINS.search(text) is not None


CONVERTS = re.compile(
    r"\b(?:convert\w*|conversion|migrat\w+|translat\w+|pack(?:age|s|ing)?|wrap\w*|port)\b|转换|转为|转成|迁移",
    re.IGNORECASE,
)
OPERATES = re.compile(
    r"\bstacks?\b|\b(?:deploy\w*|roll(?:s|ed|ing)?[ -]?back|tear(?:s|ing)?[ -]?down|destroy\w*)\b"
    r"|资源栈|部署",
    re.IGNORECASE,
)
REVIEWS = re.compile(
    r"\b(?:review\w*|audit\w*|lint\w*|scan\w*|inspect\w*|findings?|insecure|vulnerab\w+|misconfigur\w+)\b"
    r"|\b(?:check|validate|verify)\b(?![^.?!\n]*\bstacks?\b)|审查|评审|审计|检查",
    re.IGNORECASE,
)
GENERATES = re.compile(
    r"\b(?:create|generate|write|draft|design|author|compose|provision|build|set[ ]up)\b"
    r"(?![^.?!\n]*\bstacks?\b)"
    r"|生成|编写|创建(?!资源栈)",
    re.IGNORECASE,
)

INTENTS: Mapping[str, re.Pattern[str]] = {
    "iac_generation": GENERATES,
    "iac_review": REVIEWS,
    "aliyun_ros_operations": OPERATES,
    "terraform_ros_conversion": CONVERTS,
}
"""By which words a skill is meant."""
