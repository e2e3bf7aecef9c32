"""Corrected templates: what is mechanical is put right, and every other byte stays."""

import difflib
import json

import pytest

from a2a_agents.iac.review.reviewing import review
from a2a_agents.iac.review.source import Source

YAML = """\
AWSTemplateFormatVersion: "2010-09-09"   # kept, like every comment
Parameters:
  DbPassword:
      Type: String
  Unused:
      Type: Number
Resources:
  Bucket:
    Type: AWS::S3::Bucket
  Table:
    Type: 'AWS::DynamoDB::Table'
    Properties: { TableName: !Ref DbPassword }
"""

HCL = """\
# kept
variable "password" {
  type = string
}

variable "unused" {}

resource "aws_dynamodb_table" "t" {
    name = "${var.password}"
}
"""


def changes(name: str, before: str) -> list[str]:
    after, _ = review([Source(name, before)]).corrections[name]
    return [
        line
        for line in difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
        if line.startswith(("+", "-"))
    ]


def test_yaml_is_corrected_in_place() -> None:
    assert changes("t.yaml", YAML) == [
        "+       NoEcho: true\n",
        "-   Unused:\n",
        "-       Type: Number\n",
        "+     DeletionPolicy: Retain\n",
        "+     UpdateReplacePolicy: Retain\n",
        "+     Properties:\n",
        "+       BucketEncryption:\n",
        "+         ServerSideEncryptionConfiguration:\n",
        "+           - ServerSideEncryptionByDefault:\n",
        "+               SSEAlgorithm: AES256\n",
        "+     DeletionPolicy: Retain\n",
        "+     UpdateReplacePolicy: Retain\n",
    ]


def test_terraform_is_corrected_in_place() -> None:
    assert changes("main.tf", HCL) == [
        "+   sensitive = true\n",
        '- variable "unused" {}\n',
        "- \n",
        '-     name = "${var.password}"\n',
        "+     name = var.password\n",
        "+   \n",
        "+   lifecycle {\n",
        "+     prevent_destroy = true\n",
        "+   }\n",
    ]


@pytest.mark.parametrize("indent", [None, 2])
def test_json_stays_json(indent: int | None) -> None:
    template = {
        "ROSTemplateFormatVersion": "2015-09-01",
        "Parameters": {
            "First": {"Type": "String"},
            "RootPassword": {"Type": "String"},
            "Last": {"Type": "String"},
        },
        "Resources": {
            "B": {"Type": "ALIYUN::OSS::Bucket", "Properties": {"BucketName": {"Ref": "RootPassword"}}}
        },
    }

    text, done = review([Source("t.json", json.dumps(template, indent=indent))]).corrections["t.json"]

    assert len(done) == 5
    assert json.loads(text) == {
        "ROSTemplateFormatVersion": "2015-09-01",
        "Parameters": {"RootPassword": {"NoEcho": True, "Type": "String"}},
        "Resources": {
            "B": {
                "DeletionPolicy": "Retain",
                "Type": "ALIYUN::OSS::Bucket",
                "Properties": {
                    "ServerSideEncryptionConfiguration": {"SSEAlgorithm": "AES256"},
                    "BucketName": {"Ref": "RootPassword"},
                },
            }
        },
    }


@pytest.mark.parametrize(("name", "text"), [("t.yaml", YAML), ("main.tf", HCL)])
def test_ends_of_lines_stay_what_they_are(name: str, text: str) -> None:
    windows, _ = review([Source(name, text.replace("\n", "\r\n"))]).corrections[name]
    unix, _ = review([Source(name, text)]).corrections[name]

    assert windows == unix.replace("\n", "\r\n")


@pytest.mark.parametrize(("name", "text"), [("t.yaml", YAML), ("main.tf", HCL)])
def test_what_is_corrected_is_not_found_again(name: str, text: str) -> None:
    corrected, done = review([Source(name, text)]).corrections[name]

    again = review([Source(name, corrected)])

    assert not {(each.rule, each.message) for each in done} & {(e.rule, e.message) for e in again.findings}
    assert name not in again.corrections


def test_a_parameter_that_is_mentioned_elsewhere_is_left_to_its_author() -> None:
    text = (
        "ROSTemplateFormatVersion: '2015-09-01'\nParameters:\n  A: {Type: String}\n  B: {Type: String}\n"
        "Resources: {}\nMetadata:\n  ALIYUN::ROS::Interface:\n    ParameterGroups: [{Parameters: [A]}]\n"
    )

    found = review([Source("t.yaml", text)])

    assert [each.rule.id for each in found.findings] == ["IAC104", "IAC104"]
    assert "A: {Type" in found.corrections["t.yaml"][0]
    assert "B: {Type" not in found.corrections["t.yaml"][0]
