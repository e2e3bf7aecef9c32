"""Secrets in plain text, and secrets that are shown. Says where, never what."""

from collections.abc import Iterator
from typing import Final

from a2a_agents.iac.review.documents import Document
from a2a_agents.iac.review.findings import Finding
from a2a_agents.iac.review.modules import Module
from a2a_agents.iac.review.nodes import Entry, Expression, Mapping, Node, Scalar, is_true, scalar_at, walk
from a2a_agents.iac.review.references import Refers, references
from a2a_agents.iac.review.rules import DEFAULT_SECRET, ECHOED, REVEALED, SECRET
from a2a_agents.iac.review.secret_names import (
    KNOWN_FORMATS,
    is_random,
    is_secret_name,
    is_secret_value,
)
from a2a_agents.iac.review.source import Source, Span
from a2a_agents.iac.review.writing import added, added_to_block

NAMES: Final = ("Name", "name", "Key", "key", "ParameterKey")
VALUES: Final = ("Value", "value", "ParameterValue")


def known_formats(source: Source) -> Iterator[Finding]:
    """Secrets that are known by how they look, wherever they stand."""
    for what, pattern in KNOWN_FORMATS.items():
        for found in pattern.finditer(source.text):
            yield Finding(SECRET, Span(source, found.start(), found.end()), f"Here stands {what}.")


def under_secret_names(node: Node, whose: str) -> Iterator[Finding]:
    """Texts under the name of a secret, and pairs of a name and a value."""
    for each in walk(node):
        if not isinstance(each, Mapping):
            continue
        for entry in each.entries:
            if is_plain_secret(entry.name, entry.value):
                yield Finding(SECRET, entry.value.at, f"{entry.name} of {whose} is given in plain text.")
        named = next((each.get(name) for name in NAMES if each.entry(name)), None)
        value = next((each.get(name) for name in VALUES if each.entry(name)), None)
        if isinstance(named, Scalar) and value is not None and is_plain_secret(str(named.value), value):
            yield Finding(SECRET, value.at, f"{named.value} of {whose} is given in plain text.")


def is_plain_secret(name: str, value: Node) -> bool:
    """Whether a value is a secret as it stands."""
    if not isinstance(value, Scalar) or value.value is None or isinstance(value.value, bool):
        return False
    text = str(value.value)
    if is_secret_name(name):
        return is_secret_value(text)
    return name.lower().endswith(("key", "auth", "signature")) and is_random(text)


DOCUMENT_SECTIONS: Final = ("Resources", "Mappings", "Locals", "Globals")


def in_document(document: Document) -> Iterator[Finding]:
    """The secrets of a ROS or CloudFormation template."""
    for section in DOCUMENT_SECTIONS:
        for entry in document.section(section).entries:
            yield from under_secret_names(entry.value, entry.name)
    secret = set()
    for name, entry in document.parameters.items():
        described = entry.value
        if isinstance(described, Mapping) and _is_secret_parameter(name, described):
            secret.add(name)
            yield from _parameter(name, entry, described)
    for entry in document.section("Outputs").entries:
        yield from _output(entry, secret)


def _is_secret_parameter(name: str, described: Mapping) -> bool:
    type_ = scalar_at(described, "Type")
    if type_ is not None and str(type_.value).startswith(("AWS::", "ALIYUN::", "List", "Number", "Boolean")):
        return False
    return is_true(described.get("NoEcho")) or is_secret_name(name)


def _parameter(name: str, entry: Entry, described: Mapping) -> Iterator[Finding]:
    if not is_true(described.get("NoEcho")):
        edits = () if described.entry("NoEcho") else added(described, ["NoEcho: true"], '"NoEcho": true')
        yield Finding(
            ECHOED, entry.key.at, f"The parameter {name} is shown to whoever sees the stack.", edits
        )
    default = described.get("Default")
    if isinstance(default, Scalar) and is_secret_value(str(default.value)):
        yield Finding(DEFAULT_SECRET, default.at, f"The parameter {name} has a default.")


def _output(entry: Entry, secret: set[str]) -> Iterator[Finding]:
    value = entry.value.get("Value") if isinstance(entry.value, Mapping) else None
    for reference in references(value) if value is not None else ():
        shown = reference.name in secret
        attribute = reference.attribute.rpartition(".")[2]
        if shown or (reference.by in (Refers.GET_ATT, Refers.SUB) and is_secret_name(attribute)):
            what = reference.name if shown else f"{attribute} of {reference.name}"
            yield Finding(REVEALED, reference.at, f"The output {entry.name} shows {what}.")


def in_module(module: Module) -> Iterator[Finding]:
    """The secrets of a Terraform module."""
    for block in module.blocks:
        if block.type not in ("variable", "output"):
            name = " ".join((block.type, *block.labels))
            yield from under_secret_names(block.body, name)
    for entry in module.variables_given:
        if is_plain_secret(entry.name, entry.value):
            yield Finding(SECRET, entry.value.at, f"The variable {entry.name} is given in plain text.")
    secret = set()
    for name, block in module.variables.items():
        if is_true(block.body.get("sensitive")) or _is_secret_variable(name, block.body):
            secret.add(name)
            yield from _variable(name, block.head, block.body)
    for block in module.of_type("output", 1):
        yield from _module_output(block.labels[0], block.body, secret)


def _is_secret_variable(name: str, body: Mapping) -> bool:
    type_, default = body.get("type"), body.get("default")
    if isinstance(type_, Expression) and type_.names not in (("string",), ("any",)):
        return False
    plain = default is None or (isinstance(default, Scalar) and not isinstance(default.value, bool))
    return plain and is_secret_name(name)


def _variable(name: str, head: Span, body: Mapping) -> Iterator[Finding]:
    if not is_true(body.get("sensitive")):
        edits = () if body.entry("sensitive") else added_to_block(body, ["sensitive = true"])
        yield Finding(ECHOED, head, f"The variable {name} is shown in plans.", edits)
    default = body.get("default")
    if isinstance(default, Scalar) and default.value is not None and is_secret_value(str(default.value)):
        yield Finding(DEFAULT_SECRET, default.at, f"The variable {name} has a default.")


def _module_output(name: str, body: Mapping, secret: set[str]) -> Iterator[Finding]:
    value = body.get("value")
    if value is None or is_true(body.get("sensitive")):
        return
    for node in walk(value):
        if not isinstance(node, Expression) or len(node.names) < 2:  # noqa: PLR2004  var.name
            continue
        variable = node.names[0] == "var" and node.names[1] in secret
        made = node.names[0] == "random_password" and node.names[-1] in ("result", "bcrypt_hash")
        if variable or made or (len(node.names) > 2 and is_secret_attribute(node.names[-1])):  # noqa: PLR2004  type.name.attribute
            edits = () if body.entry("sensitive") else added_to_block(body, ["sensitive = true"])
            yield Finding(REVEALED, node.at, f"The output {name} shows {'.'.join(node.names)}.", edits)
            return


def is_secret_attribute(name: str) -> bool:
    """Whether an attribute of a resource is a secret that its provider makes."""
    return is_secret_name(name) or name in ("private_key_pem", "private_key_openssh", "kube_config_raw")
