"""Corrections that add something to a template: in its own way of writing, and nothing else changed."""

from collections.abc import Sequence

from a2a_agents.iac.review.findings import Edit
from a2a_agents.iac.review.nodes import Mapping
from a2a_agents.iac.review.source import Span

Lines = Sequence[str]


def added(mapping: Mapping, lines: Lines, json: str) -> tuple[Edit, ...]:
    """A mapping of a ROS or CloudFormation template with entries put before its first.

    `lines` are YAML, indented as at the left margin; `json` is the same as JSON's `"key": value`. Nothing for
    an empty mapping, whose place in the text says too little, or for one that a tag made.
    """
    if not mapping.entries:
        return ()
    source = mapping.at.source
    start = mapping.entries[0].key.at.start
    newline = "\r\n" if "\r\n" in source.text else "\n"
    if not mapping.flow:
        indent = " " * (source.column(start) - 1)
        return (Edit(Span(source, start, start), "".join(line + newline + indent for line in lines)),)
    between = source.text[mapping.at.start + 1 : start]
    if source.text[mapping.at.start] != "{" or between.strip():
        return ()
    return (Edit(Span(source, start, start), f"{json},{between or ' '}"),)


def added_to_block(block: Mapping, lines: Lines) -> tuple[Edit, ...]:
    """A Terraform block with lines put at its end; nothing where that does not stand on a line of its own."""
    source = block.at.source
    brace = block.at.end - 1
    newline = "\r\n" if "\r\n" in source.text else "\n"
    if source.text[brace - 1 : brace + 1] == "{}":
        text = newline + "".join(f"  {line}{newline}" for line in lines)
        return (Edit(Span(source, brace, brace), text),)
    start = source.text.rfind("\n", 0, brace) + 1
    before = source.text[start:brace]
    if start <= block.at.start or before.strip():
        return ()
    return (Edit(Span(source, start, start), "".join(f"{before}  {line}{newline}" for line in lines)),)
