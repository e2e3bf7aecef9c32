"""The review of Terraform files: by directory, each a module. Loads python-hcl2."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from a2a_agents.iac.review.blocks import HclFile
from a2a_agents.iac.review.checks import buckets, policies, portability, secrets
from a2a_agents.iac.review.checks import modules as checks
from a2a_agents.iac.review.findings import Finding
from a2a_agents.iac.review.hcl_nodes import read_hcl
from a2a_agents.iac.review.modules import Module
from a2a_agents.iac.review.nodes import Entry
from a2a_agents.iac.review.reading import Unreadable
from a2a_agents.iac.review.resources import Resource
from a2a_agents.iac.review.rules import SYNTAX
from a2a_agents.iac.review.source import Source

ResourceCheck = Callable[[Resource], Iterator[Finding]]


def of_files(sources: Sequence[Source], resource_checks: Sequence[ResourceCheck]) -> list[Finding]:
    """What is found in the files, which are all there is of their modules."""
    found: list[Finding] = []
    files: dict[str, list[HclFile]] = {}
    given: dict[str, list[Entry]] = {}
    broken: set[str] = set()
    for source in sources:
        directory = str(PurePosixPath(source.name).parent).removeprefix(".")
        found.extend(secrets.known_formats(source))
        try:
            file = read_hcl(source)
        except Unreadable as fault:
            found.append(Finding(SYNTAX, fault.at, f"The file cannot be read: {fault.why}."))
            broken.add(directory)
            continue
        if source.name.endswith(".tfvars"):
            given.setdefault(directory, []).extend(file.attributes)
        else:
            files.setdefault(directory, []).append(file)
    modules = {
        directory: Module(directory, read, directory not in broken, given.get(directory, ()))
        for directory, read in files.items()
    }
    for module in modules.values():
        found.extend(of_module(module, resource_checks))
        found.extend(checks.calls(module, modules))
    return found


def of_module(module: Module, resource_checks: Sequence[ResourceCheck]) -> Iterator[Finding]:
    """What is found in one module."""
    for check in checks.CHECKS:
        yield from check(module)
    yield from secrets.in_module(module)
    yield from buckets.in_module(module)
    yield from portability.terraform_version(module)
    for document in module.data:
        yield from policies.policies(document)
    for resource in module.resources:
        for look in resource_checks:
            yield from look(resource)
