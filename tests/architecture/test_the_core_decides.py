"""Nothing outside of the core decides, and simulations replace ports, never what is private."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard, get_args

import pytest

from tenuto.model.entries import Entry
from tests.architecture.source_tree import ROOT, SOURCE, Finding, Scan, findings, modules

ENTRIES = {kind.__name__ for kind in get_args(Entry)}
MADE_BY_CORE = {"Decision", "Deciding", *ENTRIES}
WITH_CALLS = re.compile(rf"\b(?:{'|'.join(sorted(MADE_BY_CORE))})\b")
SHELL = sorted(each for each in SOURCE.iterdir() if each.name not in ("core", "model"))
SIMULATORS = (SOURCE / "testing", ROOT / "tests" / "kit" / "simulator")
OF_LANGUAGE = {"_replace", "_callback", "_log_destroy_pending", "_run"}
"""Of named tuples, and what a loop of one's own needs of the standard library's tasks."""


def decisions_made(tree: ast.Module) -> Iterator[Finding]:
    """Calls that make a decision or an entry."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in MADE_BY_CORE:
                yield node.lineno, f"makes a {name}"


def private_names(tree: ast.Module) -> Iterator[Finding]:
    """Private names of other modules' objects, and whatever replaces names of other modules."""
    own = {node.attr for node in ast.walk(tree) if _is_set_here(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_private(node) and node.attr not in own:
            yield node.lineno, f"reaches for {node.attr}"
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [getattr(node, "module", ""), *(each.name for each in node.names)]
            if any(name and name.startswith("unittest") for name in names):
                yield node.lineno, "replaces names"
        if isinstance(node, ast.Name) and node.id in ("setattr", "monkeypatch"):
            yield node.lineno, "replaces names"


def _is_set_here(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _is_private(node: ast.Attribute) -> bool:
    """Whether it is a private name of anything but the object itself."""
    match node.value:
        case ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super")):
            return False
        case _:
            is_of_language = node.attr.startswith("__") or node.attr in OF_LANGUAGE
            return node.attr.startswith("_") and not is_of_language


def test_only_the_core_makes_decisions_and_entries() -> None:
    assert findings(modules(*SHELL), decisions_made, WITH_CALLS) == []


def test_simulators_replace_ports_and_no_private_names() -> None:
    assert findings(modules(*SIMULATORS), private_names) == []


@pytest.mark.parametrize(
    ("scan", "code"),
    [
        (decisions_made, "Decision(state=state)"),
        (decisions_made, "d = core.Deciding(plan, state, now, policies)"),
        (decisions_made, "entries.StatusChanged(at=now)"),
        (private_names, "engine.runner._report = wire"),
        (private_names, "engine._reported"),
        (private_names, "from unittest.mock import patch"),
        (private_names, "setattr(drafting, 'MOST_ROWS', 1)"),
    ],
)
def test_what_is_not_allowed_is_seen(scan: Scan, code: str) -> None:
    assert list(scan(ast.parse(code)))
