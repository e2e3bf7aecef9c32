"""The table of requirements and the tests that cite it, held against each other."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.conformance.requirements import REQUIREMENTS

HERE = Path(__file__)


def citations() -> Iterator[tuple[str, str | None]]:
    """Every conformance test with the requirement it cites; None when it cites none."""
    for path in sorted(HERE.parent.glob("test_*.py")):
        if path == HERE:
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                cited = [found for found in map(cited_by, node.decorator_list) if found]
                yield f"{path.name}:{node.name}", cited[0] if cited else None


def cited_by(decorator: ast.expr) -> str | None:
    match decorator:
        case ast.Call(func=ast.Name(id="requirement"), args=[ast.Constant(value=str(name))]):
            return name
    return None


def test_every_test_cites_a_requirement() -> None:
    assert [test for test, cited in citations() if cited not in REQUIREMENTS] == []


def test_every_requirement_has_a_test() -> None:
    assert REQUIREMENTS.keys() - {cited for _, cited in citations()} == set()
