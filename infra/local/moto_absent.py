"""AWS services that this deployment has not, made cheap to import.

moto's CloudFormation imports the models of thirty services to know their resource types. Two of them read
megabytes and a whole OpenAPI validator while they are imported, which is a second of the local stack's start,
and neither has a resource in our templates.
"""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

ABSENT: Final = ("moto.apigateway", "moto.ec2")


class AbsentModule(ModuleType):
    """A module in which every name is an empty class."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class AbsentServices(MetaPathFinder, Loader):
    """Finds the absent services before Python finds the real ones."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        service = ".".join(fullname.split(".")[:2])
        return ModuleSpec(fullname, self, is_package=True) if service in ABSENT else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to execute."""


def leave_out_absent_services() -> None:
    """From now on importing one of them costs nothing."""
    sys.meta_path.insert(0, AbsentServices())
