"""Files with definitions that `tenuto dev` sees change, and that it was not asked to serve."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from tenuto.definition import parse_document
from tenuto.model.errors import TenutoError


def unserved(changed: Iterable[Path], read: Iterable[Path]) -> list[Path]:
    """Those of the changed files that have a definition, and that no file that is read imports."""
    known = {each.resolve() for each in read}
    imported = {name for each in known if each.suffix == ".py" for name in _imported(each)}
    return sorted(
        each
        for each in changed
        if each.resolve() not in known and each.stem not in imported and _has_definition(each)
    )


def _has_definition(file: Path) -> bool:
    if file.suffix == ".py":
        is_test = file.name.startswith("test_") or file.name == "conftest.py"
        return not is_test and any(map(_is_workflow, ast.walk(_tree(file))))
    try:
        document = parse_document(file.read_bytes(), str(file))
    except (OSError, ValueError, TenutoError):
        return False
    return isinstance(document, dict) and bool({"steps", "nodes"} & document.keys())


def _is_workflow(node: ast.AST) -> bool:
    """Whether it is a function with the decorator `workflow`."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    named = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return any(
        (getattr(each, "attr", None) or getattr(each, "id", None)) == "workflow" for each in named
    )


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            yield from (each.name for each in node.names)


def _tree(file: Path) -> ast.AST:
    try:
        return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])
