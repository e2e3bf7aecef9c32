"""Which region is meant: Alibaba Cloud's regions as people write them.

The list is the SDK's own, so that a new region is known once the SDK knows it; one that it does not know is
believed where somebody says "in" or "region" before it.
"""

import re

KNOWN = frozenset(  # one a word, so that the list can be read
    """
    ap-northeast-1 ap-northeast-2 ap-south-1 ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-5
    ap-southeast-6 ap-southeast-7 ap-southeast-8 cn-beijing cn-chengdu cn-fuzhou cn-guangzhou cn-hangzhou
    cn-hangzhou-finance cn-heyuan cn-heyuan-acdr-1 cn-hongkong cn-huhehaote cn-nanjing cn-qingdao cn-shanghai
    cn-shanghai-finance-1 cn-shenzhen cn-shenzhen-finance-1 cn-wuhan-lr cn-wulanchabu cn-wulanchabu-gic-1
    cn-zhangjiakou cn-zhengzhou-jva cn-zhongwei eu-central-1 eu-west-1 eu-west-2 me-central-1 me-east-1
    na-south-1 sa-east-1 us-east-1 us-southeast-1 us-west-1
    """.split()  # noqa: SIM905
)

SHAPE = re.compile(r"(?<![\w.-])[a-z]{2}-[a-z]+(?:-[a-z0-9]+)*(?![\w-])")
SAID = re.compile(r"(?:\bin|\bregion)\s*[:=]?\s*\"?$", re.IGNORECASE)


def region_in(text: str) -> str | None:
    """The first region that a text names."""
    for found in SHAPE.finditer(text):
        if found.group() in KNOWN or SAID.search(text[: found.start()]):
            return found.group()
    return None


def is_region(text: str) -> bool:
    """Whether a text could be a region's id."""
    return SHAPE.fullmatch(text) is not None
