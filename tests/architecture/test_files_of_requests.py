"""What serves requests opens no file: no text of a client can become the name of one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import SOURCE, Finding, dotted, findings, modules

SERVING = (
    *("access", "api", "built_in", "calendars", "core", "definition", "egress", "engine", "events"),
    *("executions", "expr", "live", "logs", "metrics", "model", "schedules", "store/cold"),
    *("store/parts", "targets", "tracing"),
)
OF_THE_OPERATOR = frozenset(
    {"built_files.py", "memory.py", "note_files.py", "watchdog.py", "watchdog_process.py"}
)
"""Files beside a store: their names are made of its address and of the process; and those of the
web UI, which are all read at once, whatever a request names; and what the system says of memory."""
_OPENING = frozenset({"open", "os.open", "io.open", "importlib.import_module"})
_MODULES = frozenset({"glob", "pathlib", "shutil", "tempfile"})


def opened_files(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=function) if dotted(function) in _OPENING:
                yield node.lineno, f"calls {dotted(function)}()"
            case ast.Import(names=names):
                yield from (
                    (node.lineno, f"imports {each.name}") for each in names if each.name in _MODULES
                )
            case ast.ImportFrom(module=str(module)) if module in _MODULES:
                yield node.lineno, f"imports {module}"
            case _:
                pass


def test_nothing_that_serves_requests_opens_a_file() -> None:
    for part in SERVING:
        files = [file for file in modules(SOURCE / part) if file.name not in OF_THE_OPERATOR]
        assert files, part
        assert findings(files, opened_files) == []


def test_no_operation_deploys_by_the_name_of_a_file() -> None:
    """A program may name a file to deploy; what comes over the network is a document."""
    files = list(modules(SOURCE / "api"))
    assert findings(files, deployments) == []


def deployments(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("deploy", "read_definition"):
            yield node.lineno, f"uses {node.attr}"


@pytest.mark.parametrize(
    "code",
    ["open(name)", "os.open(name, 0)", "from pathlib import Path", "import tempfile", "io.open(x)"],
)
def test_what_opens_a_file_is_seen(code: str) -> None:
    assert list(opened_files(ast.parse(code)))


@pytest.mark.parametrize("code", ["store.open(id)", "self.open()", "'open(name)'", "reopen(x)"])
def test_what_opens_something_else_is_left_alone(code: str) -> None:
    assert not list(opened_files(ast.parse(code)))
