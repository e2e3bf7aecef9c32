"""What can be done with stacks, and by which words each is meant."""

import re
from collections.abc import Sequence
from enum import StrEnum


class Action(StrEnum):
    """What can be done."""

    CREATE = "create"
    UPDATE = "update"
    CONTINUE = "continue"
    DELETE = "delete"
    DIAGNOSE = "diagnose"
    FOLLOW = "follow"
    LIST = "list"


CHANGES = frozenset({Action.CREATE, Action.UPDATE, Action.CONTINUE, Action.DELETE})
"""What changes something in the cloud."""

WORDS: Sequence[tuple[Action, str, str]] = (
    (
        Action.CONTINUE,
        r"continu(?:e|es|ing)|resum(?:e|ing)|retry|repair|go(?:es)?\s+on|carry\s+on",
        "继续|修复|重试",
    ),
    (Action.DELETE, r"delet(?:e|es|ing)|remov(?:e|ing)|destroy(?:ing)?|tear(?:ing)?\s+down", "删除|销毁"),
    (Action.UPDATE, r"updat(?:e|es|ing)|chang(?:e|ing)|modify(?:ing)?|upgrad(?:e|ing)", "更新|修改|变更"),
    (
        Action.CREATE,
        r"creat(?:e|es|ing|ion)|deploy(?:ing)?|launch(?:ing)?|provision(?:ing)?|set\s+up|spin\s+up",
        "创建|部署|新建",
    ),
    (Action.LIST, r"list|(?:which|what|show|all)(?:\s+\w+){0,2}\s+stacks", "列出|有哪些"),
    (
        Action.FOLLOW,
        r"status|state|show|describe|watch|follow(?:ing)?|progress|how\s+is|look\s+at",
        "状态|查看|进度",
    ),
)
"""By which words an action is meant."""

WHY = (r"why|diagnos\w*|troubleshoot\w*|root\s+cause|what\s+(?:went|is|was)\s+wrong", "诊断|为什么|排查")
"""Words that mean a diagnosis whatever else is said: an update that failed is not to be done again."""
FAILED = (r"fail\w*|errors?|broken", "失败|错误")
"""Words that mean a diagnosis where nothing else is said."""


def _pattern(english: str, chinese: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{english})(?![\w-])|{chinese}", re.IGNORECASE)


VERBS = tuple((action, _pattern(english, chinese)) for action, english, chinese in WORDS)


def actions(words: str) -> list[Action]:
    """The actions that words mean: one, or none, or those between which they do not decide."""
    if _pattern(*WHY).search(words):
        return [Action.DIAGNOSE]
    meant = [action for action, pattern in VERBS if pattern.search(words)]
    changes = [action for action in meant if action in CHANGES]
    if set(changes) == {Action.CONTINUE, Action.CREATE}:
        return [Action.CONTINUE]
    if changes or meant:
        return changes or meant[:1]
    return [Action.DIAGNOSE] if _pattern(*FAILED).search(words) else []


def is_verb(word: str) -> bool:
    """Whether a word means an action."""
    return any(pattern.fullmatch(word) for _, pattern in VERBS)
