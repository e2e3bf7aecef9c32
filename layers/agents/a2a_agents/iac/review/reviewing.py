"""The review itself: files in, findings and corrections out. Pure; loads what reads Terraform when needed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import PurePosixPath
from typing import Final

from a2a_agents.iac.review.checks import (
    buckets,
    encryption,
    keeping,
    policies,
    portability,
    ports,
    reach,
    required,
    secrets,
)
from a2a_agents.iac.review.checks import documents as document_checks
from a2a_agents.iac.review.corrections import corrected
from a2a_agents.iac.review.documents import Document, kind_of
from a2a_agents.iac.review.findings import Finding, Kind
from a2a_agents.iac.review.json_nodes import read_json
from a2a_agents.iac.review.nodes import Mapping as Tree
from a2a_agents.iac.review.nodes import Node, Scalar
from a2a_agents.iac.review.reading import Unreadable
from a2a_agents.iac.review.rules import SYNTAX
from a2a_agents.iac.review.source import Source
from a2a_agents.iac.review.yaml_nodes import read_yaml

RESOURCE_CHECKS: Final = (
    required.missing_properties,
    ports.open_ports,
    reach.public_databases,
    reach.open_networks,
    reach.plain_http,
    policies.policies,
    policies.attached,
    buckets.public_buckets,
    buckets.public_allowed,
    buckets.unencrypted_buckets,
    encryption.unencrypted,
    keeping.no_deletion_policy,
    keeping.no_deletion_protection,
    keeping.no_backup,
    portability.fixed_choices,
    portability.outdated,
)
"""What every resource is looked at for, whatever it is declared in."""


@dataclass(frozen=True)
class Template:
    """A file that was reviewed; Terraform's are several of one module."""

    source: Source
    kind: Kind


@dataclass
class Review:
    """What came out.

    Attributes:
        templates: what was reviewed.
        documents: the ROS and CloudFormation templates among it, as they were read.
        findings: by file and line.
        ignored: findings that a comment in the template takes back.
        passed_over: files that are no templates, each with why.
        corrections: by file, the text with the mechanical findings put right, and which those are.
    """

    templates: list[Template] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    ignored: list[Finding] = field(default_factory=list)
    passed_over: dict[str, str] = field(default_factory=dict)
    corrections: dict[str, tuple[str, list[Finding]]] = field(default_factory=dict)


TERRAFORM_NAMES: Final = (".tf", ".tofu")
VARIABLES_NAMES: Final = (".tfvars",)
DOCUMENT_NAMES: Final = (".json", ".yaml", ".yml", ".template", ".ros")
BLOCK: Final = re.compile(
    r'^[ \t]*(?:(?:resource|data)\s+"[^"]*"\s+"[^"]*"|(?:variable|module|output|provider)\s+"[^"]*"'
    r"|terraform|locals)"
    r"\s*\{",
    re.MULTILINE,
)


def review(files: Sequence[Source]) -> Review:
    """Review files together."""
    found = Review()
    terraform: list[Source] = []
    for source in files:
        suffix = PurePosixPath(source.name).suffix.lower()
        named = suffix in (*TERRAFORM_NAMES, *VARIABLES_NAMES)
        if named or (suffix not in DOCUMENT_NAMES and _is_hcl(source)):
            terraform.append(source)
        else:
            _document(source, found)
    if terraform:
        _terraform(terraform, found)
    _settle(found)
    _correct(found)
    return found


def _is_hcl(source: Source) -> bool:
    return BLOCK.search(source.text) is not None and not source.text.lstrip().startswith("{")


def _document(source: Source, found: Review) -> None:
    try:
        root = read_document(source)
    except Unreadable as fault:
        if _names_resources(source):
            found.templates.append(Template(source, _guessed(source)))
            found.findings.append(Finding(SYNTAX, fault.at, f"The file cannot be read: {fault.why}."))
            found.findings.extend(secrets.known_formats(source))
        else:
            found.passed_over[source.name] = f"it cannot be read (line {fault.at.line}: {fault.why})"
        return
    kind = kind_of(root)
    if kind is None or not isinstance(root, Tree):
        found.passed_over[source.name] = "it is no ROS, CloudFormation or Terraform template"
        return
    found.templates.append(Template(source, kind))
    document = Document(kind, source, root)
    found.documents.append(document)
    found.findings.extend(of_document(document))
    if document.wraps_terraform:
        _wrapped(document, found)


def read_document(source: Source) -> Node:
    """The tree of a JSON or YAML text.

    Raises:
        Unreadable: it is neither.
    """
    if source.text.lstrip().startswith("{"):
        try:
            return read_json(source)
        except Unreadable as fault:
            name = PurePosixPath(source.name).suffix.lower()
            if name in (".yaml", ".yml") or "\n" not in source.text:
                return read_yaml(source)
            raise fault from None
    return read_yaml(source)


MENTIONS: Final = re.compile(r"\b(?:ALIYUN|AWS)::\w+|TemplateFormatVersion|^\W*Resources\W*:", re.MULTILINE)


def _names_resources(source: Source) -> bool:
    """Whether a file that cannot be read was meant to be a template."""
    return MENTIONS.search(source.text) is not None


def _guessed(source: Source) -> Kind:
    ros = "ROSTemplateFormatVersion" in source.text or "ALIYUN::" in source.text
    return Kind.ROS if ros else Kind.CLOUDFORMATION


def of_document(document: Document) -> Iterator[Finding]:
    """What is found in a ROS or CloudFormation template."""
    for check in document_checks.CHECKS:
        yield from check(document)
    yield from secrets.known_formats(document.source)
    yield from secrets.in_document(document)
    yield from portability.template_version(document)
    for resource in document.resources:
        for look in RESOURCE_CHECKS:
            yield from look(resource)


def _wrapped(document: Document, found: Review) -> None:
    """The Terraform files inside of a ROS template; lines are the template's where YAML has them."""
    files = []
    for entry in document.section("Workspace").entries:
        value = entry.value
        if (
            isinstance(value, Scalar)
            and isinstance(value.value, str)
            and entry.name.endswith(TERRAFORM_NAMES)
        ):
            block = value.at.text[:1] == "|"
            name = f"{document.source.name}#{entry.name}"
            files.append(Source(name, value.value, value.at.line + 1 if block else 1))
    if files:
        inside = Review()
        _terraform(files, inside)
        found.findings.extend(replace(finding, edits=()) for finding in inside.findings)
        found.passed_over.update(inside.passed_over)


def _terraform(sources: Sequence[Source], found: Review) -> None:
    try:
        terraform = import_module("a2a_agents.iac.review.terraform")
    except ModuleNotFoundError as error:
        if error.name not in ("hcl2", "lark"):
            raise
        for source in sources:
            found.passed_over[source.name] = "this deployment has no python-hcl2, which reads Terraform"
        return
    found.templates.extend(Template(source, Kind.TERRAFORM) for source in sources)
    found.findings.extend(terraform.of_files(sources, RESOURCE_CHECKS))


IGNORE: Final = re.compile(r"(?:#|//).{0,200}?\biac-review:ignore[=: ]+((?:IAC\d{3}[, ]*)+)")


def _settle(found: Review) -> None:
    """Each finding once, in order, without those that a comment takes back."""
    once: dict[tuple[str, str, int, str], Finding] = {}
    for finding in found.findings:
        once.setdefault((finding.rule.id, finding.at.source.name, finding.at.start, finding.message), finding)
    ordered = sorted(once.values(), key=lambda f: (f.at.source.name, f.at.line, f.rule.id, f.at.start))
    taken_back = {source: _ignores(source) for source in {finding.at.source for finding in ordered}}
    found.findings = []
    for finding in ordered:
        ignores = taken_back[finding.at.source]
        line = finding.at.line
        kept = finding.rule.id not in ignores.get(line, ()) and finding.rule.id not in ignores.get(
            line - 1, ()
        )
        (found.findings if kept else found.ignored).append(finding)


def _ignores(source: Source) -> dict[int, frozenset[str]]:
    """By line, the rules that a comment there takes back, for its line and the next."""
    found = {}
    if "iac-review:ignore" in source.text:
        for each in IGNORE.finditer(source.text):
            found[source.line(each.start())] = frozenset(re.findall(r"IAC\d{3}", each.group(1)))
    return found


def _correct(found: Review) -> None:
    """The corrections that are read again and found good."""
    for template in found.templates:
        mine = [finding for finding in found.findings if finding.at.source is template.source]
        text, done = corrected(template.source, mine)
        if done and _reads(Source(template.source.name, text), template.kind):
            found.corrections[template.source.name] = (text, done)


def _reads(source: Source, kind: Kind) -> bool:
    try:
        if kind is Kind.TERRAFORM:
            import_module("a2a_agents.iac.review.hcl_nodes").read_hcl(source)
        else:
            return kind_of(read_document(source)) is kind
    except Unreadable:
        return False
    return True


def as_sources(files: Mapping[str, str]) -> list[Source]:
    """Files by name, as they are reviewed."""
    return [Source(name, text) for name, text in files.items()]
