"""How templates are read: exact places in every language, and bounds for the hostile ones."""

import json
import random
from textwrap import dedent
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from a2a_agents.iac.review.hcl_nodes import read_hcl
from a2a_agents.iac.review.hcl_texts import on_one_line
from a2a_agents.iac.review.json_nodes import read_json
from a2a_agents.iac.review.nodes import Expression, Listing, Mapping, Node, Scalar, walk
from a2a_agents.iac.review.reading import Unreadable
from a2a_agents.iac.review.reviewing import review
from a2a_agents.iac.review.source import Source
from a2a_agents.iac.review.yaml_nodes import read_yaml

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def plain(node: Node) -> Any:
    match node:
        case Scalar():
            return node.value
        case Listing():
            return [plain(item) for item in node.items]
        case Mapping():
            return {entry.name: plain(entry.value) for entry in node.entries}
        case Expression():
            return node.at.text


@given(values, st.sampled_from([None, 1, 4]), st.sampled_from(["ascii", "unicode"]))
def test_json_is_read_as_what_it_says(value: Any, indent: int | None, escapes: str) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=escapes == "ascii")

    assert plain(read_json(Source("t.json", text))) == value


@given(values, st.sampled_from(["block", "flow"]))
def test_yaml_is_read_as_what_it_says(value: Any, style: str) -> None:
    text = yaml.safe_dump(value, default_flow_style=style == "flow", allow_unicode=True)

    assert plain(read_yaml(Source("t.yaml", text))) == yaml.safe_load(text)


@given(values)
def test_every_value_stands_where_it_is_said_to_stand(value: Any) -> None:
    source = Source("t.json", json.dumps(value, indent=2))

    for node in walk(read_json(source)):
        assert plain(read_json(Source("piece", node.at.text))) == plain(node)
        assert source.text[: node.at.start].count("\n") == node.at.line - 1


def test_short_tags_are_read_in_their_long_form() -> None:
    text = "a: !Ref X\nb: !GetAtt X.Y.Z\nc: !Sub [a, {b: c}]\nd: !If [C, 1, 2]\ne: !Condition Z\n"

    assert plain(read_yaml(Source("t.yaml", text))) == {
        "a": {"Ref": "X"},
        "b": {"Fn::GetAtt": ["X", "Y.Z"]},
        "c": {"Fn::Sub": ["a", {"b": "c"}]},
        "d": {"Fn::If": ["C", 1, 2]},
        "e": {"Condition": "Z"},
    }


def test_terraform_is_read_with_places_of_everything_in_it() -> None:
    text = dedent(
        """\
        resource "a_b" "c" {
          list = [1, -2, true, null, "x\\n\\"$${y}"]
          text = "a-${var.x[0].y}-b"
          here = <<-EOT
            one ${upper(local.z)} two
          EOT
        }
        """
    )

    block = read_hcl(Source("main.tf", text)).blocks[0]

    assert (block.type, block.labels, block.head.text) == ("resource", ("a_b", "c"), 'resource "a_b" "c"')
    assert plain(block.body.get("list") or block.body) == [1, -2, True, None, 'x\n"${y}']
    named = {
        each.at.text: (each.names, each.at.line) for each in walk(block.body) if isinstance(each, Expression)
    }
    assert named["var.x[0].y"] == (("var", "x", "y"), 3)
    assert named["local.z"] == (("local", "z"), 5)


def test_an_interpolation_may_go_over_lines() -> None:
    text = 'locals {\n  a = "x${\n    var.b\n  }y${"{\\"\n"}"\n  c = "#{" # "${\n}\n'

    assert len(on_one_line(text)) == len(text)
    body = read_hcl(Source("main.tf", text)).blocks[0].body
    assert [
        (each.at.text, each.at.line) for each in walk(body) if isinstance(each, Expression) and each.names
    ] == [("var.b", 3)]


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(9 * [f'*{before}'])}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BOMB, "aliases counted"),
        ("a: &a [*a]", "an alias stands inside of what it names"),
        ("[" * 10_000, "deeply nested"),
        ("{a: " * 3_000 + "}" * 3_000, "deeply nested"),
        ("- " * 10_000 + "x", "deeply nested"),
        ("a: b\n--- \nc: d", "document"),
        ("a: \x07", "a character"),
        ("? [a]\n: b", "a key is a text"),
        ("", "nothing"),
    ],
)
def test_hostile_yaml_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read_yaml(Source("t.yaml", text))


@pytest.mark.parametrize(
    "text",
    ["[" * 10_000, '{"a":' * 10_000, "[1" + ",1" * 100_000 + "]", "1e999999999999", "9" * 5_000, '"\\ud800'],
)
def test_hostile_json_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(Unreadable):
        read_json(Source("t.json", text))


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 300 + "]" * 300,
        "a {" * 300 + "}" * 300,
        'a = "' + "${" * 200 + '"',
        "a = <<E\n",
        "a = " + "f(" * 500 + ")" * 500,
    ],
)
def test_hostile_terraform_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(Unreadable):
        read_hcl(Source("main.tf", text))


def test_what_is_only_long_is_read() -> None:
    chain = "x" + ".y" * 2_000
    total = " + ".join(["local.a"] * 500)

    blocks = read_hcl(Source("main.tf", f"locals {{\n  a = {chain}\n  b = {total}\n}}\n")).blocks

    assert len([each for each in walk(blocks[0].body) if isinstance(each, Expression) and each.names]) == 501


TEMPLATES = {
    "t.yaml": """\
AWSTemplateFormatVersion: '2010-09-09'
Parameters:
  P: {Type: String, Default: a}
Resources:
  S:
    Type: AWS::EC2::SecurityGroup
    DependsOn: [B]
    Properties:
      GroupDescription: !Sub '${P}-x'
      SecurityGroupIngress:
        - {IpProtocol: tcp, FromPort: 22, ToPort: 22, CidrIp: 0.0.0.0/0}
  B: {Type: AWS::S3::Bucket, Properties: {AccessControl: PublicRead}}
Outputs:
  O: {Value: !GetAtt B.Arn}
""",
    "t.json": """\
{"ROSTemplateFormatVersion": "2015-09-01",
 "Parameters": {"Password": {"Type": "String"}},
 "Resources": {"D": {"Type": "ALIYUN::RDS::DBInstance", "Properties": {"SecurityIPList": "0.0.0.0/0"}}}}
""",
    "main.tf": """\
variable "p" {
  type = string
}
resource "aws_iam_policy" "a" {
  policy = jsonencode({ Statement = [{ Effect = "Allow", Action = "*", Resource = "*" }] })
}
output "o" {
  value = "${var.p}"
}
""",
}
PIECES = (*"{}[]\"':\n\t#é\\", "", "!Ref ", "&a ", "*a", "${", "<<EOF\n", "- ", "null", "0")


@given(st.sampled_from(sorted(TEMPLATES)), st.integers(0, 2**32))
def test_no_mutation_of_a_template_breaks_the_review(name: str, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  of a test
    text = TEMPLATES[name]
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(text))
        text = text[:at] + chance.choice(PIECES) + text[at + chance.choice((0, 0, 1, 5, 40)) :]

    found = review([Source(name, text)])

    lines = text.count("\n") + 1
    assert all(1 <= each.at.line <= lines for each in found.findings)
    assert found.templates or found.passed_over
