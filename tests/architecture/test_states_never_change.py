"""An instance's state is assigned to where entries are taken in, and nowhere else.

Older states stay valid beside newer ones because of that: a cache, a reader and a decision that was
refused all rest on it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import pytest

from tests.architecture.source_tree import SOURCE, Finding, dotted, findings, modules

TAKING_IN = frozenset(
    SOURCE / "core" / f"{name}.py"
    for name in (
        "arrivals",
        "compensation_entries",
        "edges",
        "fold",
        "life",
        "loop_entries",
        "node_entries",
        "reopening",
        "sla_entries",
        "state",
        "timing",
    )
)
WITH_STATES = re.compile(r"\bstate\s*\.")
CHANGING = frozenset({"clear", "pop", "popitem", "setdefault", "update"})


def changes_of_states(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                assigned: Sequence[ast.expr] = targets
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                assigned = [target]
            case ast.Call(func=ast.Attribute(attr=method, value=inner)) if method in CHANGING:
                assigned = [inner]
            case _:
                continue
        for each in assigned:
            name = dotted(each.value if isinstance(each, ast.Subscript) else each) or ""
            if name.rpartition(".")[0].rpartition(".")[2] == "state":
                yield node.lineno, f"changes {name}"


def uses_of_fold_into(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=names) if any(each.name == "fold_into" for each in names):
                yield node.lineno, "folds into a state"
            case ast.Attribute(attr="fold_into"):
                yield node.lineno, "folds into a state"
            case _:
                pass


def test_only_a_decision_in_the_making_folds_into_its_own_state() -> None:
    core = SOURCE / "core"
    others = [f for f in modules(SOURCE) if f not in {core / "fold.py", core / "deciding.py"}]
    assert findings(others, uses_of_fold_into, re.compile("fold_into")) == []
    assert list(uses_of_fold_into(ast.parse("from tenuto.core.fold import fold_into")))


def test_states_never_change() -> None:
    others = [file for file in modules(SOURCE) if file not in TAKING_IN]
    assert findings(others, changes_of_states, WITH_STATES) == []


@pytest.mark.parametrize(
    "code",
    [
        "state.version = 1",
        "d.state.version += 1",
        "held.state.ready[key] = None",
        "del state.ready[key]",
        "d.state.unreachable.pop(key)",
    ],
)
def test_the_scan_sees(code: str) -> None:
    assert WITH_STATES.search(code), "its file would not be parsed"
    assert list(changes_of_states(ast.parse(code)))


@pytest.mark.parametrize("code", ["held.state = after", "self.state = state.copied()"])
def test_the_scan_leaves_alone(code: str) -> None:
    assert not list(changes_of_states(ast.parse(code)))
