"""Prints template.yaml as CloudFormation will get it: what SAM's shorthand stands for, without SAM.

    transform.py TEMPLATE [NAME=VALUE ...]

prints it as deployed with these parameters.

A linter of the short form does not see circles that only the long form has: function → API → function.
Runs where aws-sam-cli is installed, whose translator it uses; knows no AWS account.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from samcli.lib.utils.resources import AWS_SERVERLESS_FUNCTION, AWS_SERVERLESS_LAYERVERSION
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

UPLOADED = {
    AWS_SERVERLESS_FUNCTION: ("CodeUri", "s3://bucket/key"),
    AWS_SERVERLESS_LAYERVERSION: ("ContentUri", "s3://bucket/key"),
    "AWS::CloudFormation::Stack": ("TemplateURL", "https://bucket.s3.amazonaws.com/key"),
    "AWS::Serverless::StateMachine": ("DefinitionUri", "s3://bucket/key"),
}
"""Which property names a file, by type, and how it reads once `sam deploy` has uploaded that file."""


def transformed(template: dict[str, Any], given: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The long form of a SAM template, whose parameters default to what is given."""
    for name, value in (given or {}).items():
        template["Parameters"][name]["Default"] = value
    for resource in template["Resources"].values():
        if resource["Type"] in UPLOADED:
            name, address = UPLOADED[resource["Type"]]
            resource["Properties"][name] = address
    defaults = {name: parameter["Default"] for name, parameter in template["Parameters"].items()}
    long: dict[str, Any] = Translator({}, Parser()).translate(template, defaults)
    return long


if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    chosen = dict(argument.split("=", 1) for argument in sys.argv[2:])
    print(json.dumps(transformed(yaml_parse(text), chosen), indent=2))
