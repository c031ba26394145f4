"""The core decides and the model holds values: neither touches the world.

What is allowed to be imported is a list, so that a new module of the standard library is a
decision. What is called is checked against a list of names, because `datetime` is a value type
and a clock in one. A name may be read from a value of our own (`d.now`, the moment handed in):
only what is called or comes from a module is a clock.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import (
    SOURCE,
    Finding,
    Scan,
    dotted,
    findings,
    imports,
    modules,
)

PURE = (SOURCE / "core", SOURCE / "model")

CATALOGUE = SOURCE / "model" / "codes.py"
"""Reads the table of codes that is installed beside it, as a module is read when it is imported."""

IDENTITY = SOURCE / "expr" / "identity.py"
"""Tells which lists of a value are one and the same: no result depends on it."""

ALLOWED_IMPORTS = frozenset(
    {
        "__future__",
        "abc",
        "base64",
        "bisect",
        "collections",
        "contextvars",
        "copy",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "hashlib",
        "heapq",
        "itertools",
        "json",
        "math",
        "msgspec",
        "operator",
        "re",
        "rpds",
        "string",
        "tenuto",
        "types",
        "typing",
        "uuid",
        "whenever",
    }
)

FORBIDDEN_FUNCTIONS = frozenset(
    {"__import__", "breakpoint", "eval", "exec", "globals", "id", "input", "open", "print"}
)

FORBIDDEN_METHODS = frozenset(
    {
        # clocks
        "monotonic",
        "now",
        "now_in_system_tz",
        "today",
        "today_in_system_tz",
        "utcnow",
        # ids and randomness (a hash of something, as uuid5 is, makes nothing up)
        "getnode",
        "uuid1",
        "uuid4",
        "uuid6",
        "uuid7",
        "uuid8",
    }
)


def asynchronous_code(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        match node:
            case ast.AsyncFunctionDef() | ast.AsyncFor() | ast.AsyncWith() | ast.Await():
                yield node.lineno, "asynchronous code"
            case ast.comprehension(is_async=1, target=target):
                yield target.lineno, "asynchronous code"
            case _:
                pass


def impure_imports(tree: ast.Module) -> Iterator[Finding]:
    for line, module in imports(tree):
        if module.partition(".")[0] not in ALLOWED_IMPORTS:
            yield line, f"imports {module}"


def impure_calls(tree: ast.Module) -> Iterator[Finding]:
    foreign = set(foreign_names(tree))
    imported = {name for name, original in foreign if original in FORBIDDEN_METHODS}
    modules_and_types = {name for name, _ in foreign}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_FUNCTIONS | imported:
                yield node.lineno, f"calls {name}()"
            case ast.Call(func=ast.Attribute(attr=name)) if name in FORBIDDEN_METHODS:
                yield node.lineno, f"calls .{name}()"
            case ast.Attribute(attr=name) if (
                name in FORBIDDEN_METHODS
                and (dotted(node) or "").partition(".")[0] in modules_and_types
            ):
                yield node.lineno, f"reads .{name}"


def foreign_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What is imported from outside the product: its name here, and its own."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                aliases = names
            case ast.ImportFrom(module=str(module), names=names) if (
                module.partition(".")[0] != "tenuto"
            ):
                aliases = names
            case _:
                continue
        for alias in aliases:
            yield (alias.asname or alias.name).partition(".")[0], alias.name


def salted_hashes(tree: ast.Module) -> Iterator[Finding]:
    """`hash()` of text differs from process to process; only `__hash__` may pass it on."""
    own = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__hash__"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="hash")) if id(node) not in own:
                yield node.lineno, "calls hash()"


def module_wide_variables(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield node.lineno, "changes a variable of the module"


def untyped_values(tree: ast.Module) -> Iterator[Finding]:
    """`Any` is allowed only where type checkers do not look: opposite `if TYPE_CHECKING`."""
    unseen = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
        for branch in node.orelse
        for inner in ast.walk(branch)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "Any" and id(node) not in unseen:
            yield node.lineno, "uses Any"


@pytest.mark.parametrize(
    "scan",
    [
        asynchronous_code,
        impure_imports,
        impure_calls,
        salted_hashes,
        module_wide_variables,
        untyped_values,
    ],
)
def test_core_and_model_are_pure(scan: Scan) -> None:
    unchecked = {CATALOGUE} if scan is impure_imports else set()
    assert findings([file for file in modules(*PURE) if file not in unchecked], scan) == []


def test_the_catalogue_reads_its_own_table_and_nothing_else() -> None:
    read = [name for _, name in impure_imports(ast.parse(CATALOGUE.read_bytes()))]
    assert read == ["imports tomllib", "imports importlib.resources"]


@pytest.mark.parametrize("scan", [asynchronous_code, impure_calls, module_wide_variables])
def test_what_the_core_uses_is_not_impure(scan: Scan) -> None:
    used = (SOURCE / name for name in ("calendars", "expr", "schedules"))
    assert findings([file for file in modules(*used) if file != IDENTITY], scan) == []


def test_only_one_module_asks_which_objects_are_the_same() -> None:
    assert [name for _, name in impure_calls(ast.parse(IDENTITY.read_bytes()))] == ["calls id()"]


@pytest.mark.parametrize(
    ("scan", "code"),
    [
        (asynchronous_code, "async def f(): pass"),
        (asynchronous_code, "async def f(): return [x async for x in y]"),
        (impure_imports, "import asyncio"),
        (impure_imports, "import logging.handlers"),
        (impure_imports, "from random import Random"),
        (impure_imports, "def f():\n    import time"),
        (impure_calls, "datetime.now(UTC)"),
        (impure_calls, "datetime.datetime.utcnow()"),
        (impure_calls, "dt.date.today()"),
        (impure_calls, "uuid.uuid4()"),
        (impure_calls, "from uuid import uuid4 as new\nnew()"),
        (impure_calls, "Instant.now()"),
        (impure_calls, "from datetime import datetime\nmoment = datetime.now\nmoment()"),
        (impure_calls, "from datetime import datetime as d\nmoment = d.now\nmoment()"),
        (impure_calls, "import datetime as dt\nmap(dt.datetime.utcnow, x)"),
        (impure_calls, "import datetime\nclock = datetime.datetime.now"),
        (impure_calls, "def f(d): return d.now()"),
        (impure_calls, "open('x')"),
        (impure_calls, "print('x')"),
        (salted_hashes, "hash('x')"),
        (module_wide_variables, "def f():\n    global n\n    n = 1"),
        (untyped_values, "def f(x: Any): pass"),
        (untyped_values, "X = dict[str, Any]"),
    ],
)
def test_what_is_impure_is_seen(scan: Scan, code: str) -> None:
    assert list(scan(ast.parse(code)))


@pytest.mark.parametrize(
    ("scan", "code"),
    [
        (impure_imports, "from tenuto.model.graph import Graph"),
        (impure_imports, "from collections.abc import Mapping"),
        (impure_calls, "def decide(graph, state, input, now): return fold(state, now)"),
        (impure_calls, "def f(d): return NodeSkipped(at=d.now)"),
        (impure_calls, "from tenuto.core.deciding import Deciding\nx = Deciding.now"),
        (impure_calls, "uuid.uuid5(namespace, name)"),
        (salted_hashes, "def __hash__(self): return hash(self.key)"),
        (untyped_values, "if TYPE_CHECKING:\n    J = dict\nelse:\n    J = Any"),
    ],
)
def test_what_is_pure_is_left_alone(scan: Scan, code: str) -> None:
    assert list(scan(ast.parse(code))) == []
