"""Things that are never in the project, whatever else changes.

This file is searched like any other: its patterns are written so that they do not match themselves,
and its examples are put together from parts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import (
    ROOT,
    SOURCE,
    Finding,
    Scan,
    dotted,
    findings,
    imports,
    modules,
    project_files,
    texts,
)

DRAWERS = frozenset(
    {"base", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
)

UNSAFE_MODULES = frozenset(
    {"cloudpickle", "code", "dill", "jsonpickle", "marshal", "pickle", "shelve"}
)

HTTP_CLIENTS = frozenset(
    {"aiohttp", "http.client", "httplib2", "httpx", "requests", "urllib.request", "urllib3"}
)

UNSAFE_CALLS = frozenset(
    {
        "__import__",
        "compile",
        "eval",
        "exec",
        "os.popen",
        "os.system",
        "yaml.full_load",
        "yaml.load",
        "yaml.unsafe_load",
    }
)

SQL_METHODS = frozenset(
    {"execute", "executemany", "executescript", "fetchrow", "fetchval", "prepare"}
)

SKIPS = frozenset(
    {
        "importorskip",
        "mark.skip",
        "mark.skipif",
        "mark.xfail",
        "param.skip",
        "skip",
        "skipIf",
        "skipUnless",
        "xfail",
    }
)

SLEEPS = frozenset({"asyncio.sleep", "time.sleep"})

CLOCKS = frozenset(
    {
        "time.perf_counter",
        "time.perf_counter_ns",
        "time.process_time",
        "time.process_time_ns",
        "time.thread_time",
    }
)

# Whatever a scan finds has one of its words: files without them need not be parsed.
EVALUATION_WORDS = re.compile(
    r"\b(?:cloudpickle|dill|jsonpickle|marshal|pickle|shelve)\b|^\s*(?:import|from)\b.*\bcode\b"
    r"|\b(?:__import__|compile|eval|exec|popen|system|load|full_load|unsafe_load)\b|shell",
    re.MULTILINE,
)
CLIENT_WORDS = re.compile("|".join(map(re.escape, sorted(HTTP_CLIENTS))) + "|urllib|from http")
SQL_WORDS = re.compile("|".join(sorted(SQL_METHODS)))
SKIP_WORDS = re.compile("skip|xfail", re.IGNORECASE)
CLOCK_WORDS = re.compile("sleep|" + "|".join(each.partition(".")[2] for each in sorted(CLOCKS)))

PROMISES = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X])\b")

REGISTRIES = re.compile(
    r"\b(?:pypi|pythonhosted|npmjs|anaconda)\.(?:org|com)\b"
    r"|\byarnpkg\.com\b"
    r"|\b(?:[j]frog|artifactor[y])\b"
    r"|--(?:(?:extra-)?index[-]url|find[-]links|trusted[-]host)\b",
    re.IGNORECASE,
)

SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KE[Y]-----"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[0-9A-Za-z]{36}\b"
    r"|\bxox[abprs]-[0-9A-Za-z-]{10,}"
    r"|\bsk-[0-9A-Za-z_-]{32,}"
)

MACHINE_PATHS = re.compile(r"(?<![\w.<>{}-])/(?:root|home|Users|work|opt)/\w|\b[A-Z]:\\+Users\b")


def code_evaluation(tree: ast.Module) -> Iterator[Finding]:
    for line, module in imports(tree):
        if module.partition(".")[0] in UNSAFE_MODULES:
            yield line, f"imports {module}"
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=function) if dotted(function) in UNSAFE_CALLS:
                yield node.lineno, f"calls {dotted(function)}()"
            case ast.keyword(arg="shell", value=ast.Constant(value=True)):
                yield node.lineno, "runs a shell"
            case ast.Call(func=ast.Attribute(attr="create_subprocess_shell")):
                yield node.lineno, "runs a shell"
            case _:
                pass


def http_clients(tree: ast.Module) -> Iterator[Finding]:
    for line, module in imports(tree):
        if module in HTTP_CLIENTS or module.partition(".")[0] in HTTP_CLIENTS:
            yield line, f"imports {module}"


def built_sql(tree: ast.Module) -> Iterator[Finding]:
    """SQL that is put together where it is executed, or in a variable on the way there."""
    built_names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)
        and node.value is not None
        and (is_built(node.value) or isinstance(node, ast.AugAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=method), args=[statement, *_]) if (
                method in SQL_METHODS
            ):
                is_built_name = isinstance(statement, ast.Name) and statement.id in built_names
                if is_built_name or is_built(statement):
                    yield node.lineno, f"puts SQL together for {method}()"


def is_built(text: ast.expr) -> bool:
    match text:
        case ast.JoinedStr(values=values):
            return any(isinstance(value, ast.FormattedValue) for value in values)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
            return is_text(left) or is_text(right)
        case ast.Call(func=ast.Attribute(value=value, attr="format" | "replace" | "join")):
            return is_text(value) or isinstance(value, ast.Name)
        case _:
            return False


def is_text(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        or is_built(node)
    )


def skipped_tests(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute():
                library, _, name = (dotted(node) or "").partition(".")
                if library in {"pytest", "unittest"} and name in SKIPS:
                    yield node.lineno, f"leaves a test out with {name}"
            case ast.ImportFrom(module="pytest" | "unittest", names=names):
                for alias in names:
                    if alias.name in SKIPS:
                        yield node.lineno, f"leaves a test out with {alias.name}"
            case _:
                pass


def waits_by_the_clock(tree: ast.Module) -> Iterator[Finding]:
    """Real time in a test: a sleep that is no poll of another process, or a measurement."""
    polls = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.While)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute() as function, args=arguments):
                name = dotted(function)
                is_turn = [ast.unparse(each) for each in arguments] == ["0"]
                if name in CLOCKS or (name in SLEEPS and not is_turn and id(node) not in polls):
                    yield node.lineno, f"calls {name}()"
            case _:
                pass


def mentions(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{file.relative_to(ROOT)}:{text.count(chr(10), 0, hit.start()) + 1}: {hit.group()}"
        for file, text in texts()
        for hit in pattern.finditer(text)
    ]


def test_nothing_evaluates_code_or_runs_a_shell() -> None:
    assert findings(modules(), code_evaluation, EVALUATION_WORDS) == []


def test_nothing_but_the_one_way_out_calls_out_over_http() -> None:
    way_out = SOURCE / "egress"
    # The server of a worker or a client is named by whoever runs it, and by nobody whom it serves.
    to_server = (SOURCE / "worker" / "http_broker_client.py", SOURCE / "client" / "connection.py")
    others = [
        file
        for file in modules(SOURCE)
        if not file.is_relative_to(way_out) and file not in to_server
    ]
    assert findings(others, http_clients, CLIENT_WORDS) == []


def test_no_file_holds_a_secret() -> None:
    assert mentions(SECRETS) == []


def test_sql_is_never_put_together_from_text() -> None:
    assert findings(modules(SOURCE), built_sql, SQL_WORDS) == []


def test_no_test_is_left_out() -> None:
    assert findings(modules(ROOT / "tests"), skipped_tests, SKIP_WORDS) == []


def test_tests_wait_on_signals() -> None:
    tests = [file for file in modules(ROOT / "tests") if file.name.startswith("test_")]
    assert findings(tests, waits_by_the_clock, CLOCK_WORDS) == []


def test_no_file_names_a_package_registry() -> None:
    assert mentions(REGISTRIES) == []


def test_no_file_names_a_path_of_one_machine() -> None:
    assert mentions(MACHINE_PATHS) == []


def test_no_file_leaves_work_for_later() -> None:
    assert mentions(PROMISES) == []


def test_every_module_is_named_after_its_job() -> None:
    parts = {
        part: file.relative_to(ROOT)
        for file in modules()
        for part in file.relative_to(ROOT).with_suffix("").parts
    }
    assert {part: file for part, file in parts.items() if part.strip("_") in DRAWERS} == {}


def test_there_is_one_lock_file() -> None:
    assert [file.name for file in project_files() if file.name == "uv.lock"] == []


@pytest.mark.parametrize(
    ("scan", "code"),
    [
        (code_evaluation, "eval('1')"),
        (code_evaluation, "exec('1')"),
        (code_evaluation, "compile('1', 'f', 'eval')"),
        (code_evaluation, "import pickle"),
        (code_evaluation, "from pickle import loads"),
        (code_evaluation, "yaml.load(text)"),
        (code_evaluation, "subprocess.run('ls', shell=True)"),
        (code_evaluation, "os.system('ls')"),
        (http_clients, "import httpx"),
        (http_clients, "from urllib.request import urlopen"),
        (built_sql, "db.execute(f'select {x}')"),
        (built_sql, "db.execute('select ' + x)"),
        (built_sql, "db.execute('select %s' % x)"),
        (built_sql, "db.execute('select {}'.format(x))"),
        (built_sql, "db.execute(SELECT.format(x))"),
        (built_sql, "db.executemany('select ' + ', '.join(x) + ' from t', rows)"),
        (built_sql, "sql = f'select {x}'\ndb.execute(sql)"),
        (built_sql, "sql = 'select'\nsql += x\ndb.execute(sql)"),
        (skipped_tests, "@pytest.mark.skip\ndef test(): pass"),
        (skipped_tests, "@pytest.mark.skipif(True, reason='')\ndef test(): pass"),
        (skipped_tests, "@pytest.mark.xfail\ndef test(): pass"),
        (skipped_tests, "pytest.skip('later')"),
        (skipped_tests, "from pytest import importorskip"),
        (waits_by_the_clock, "time.sleep(1)"),
        (waits_by_the_clock, "async def test():\n    await asyncio.sleep(0.1)"),
        (waits_by_the_clock, "start = time.perf_counter()"),
    ],
)
def test_what_is_forbidden_is_seen(scan: Scan, code: str) -> None:
    words: dict[Scan, re.Pattern[str]] = {
        code_evaluation: EVALUATION_WORDS,
        http_clients: CLIENT_WORDS,
        built_sql: SQL_WORDS,
        skipped_tests: SKIP_WORDS,
        waits_by_the_clock: CLOCK_WORDS,
    }
    assert words[scan].search(code), "its file would not be parsed"
    assert list(scan(ast.parse(code)))


def test_every_unsafe_name_is_among_the_words_that_files_are_searched_for() -> None:
    modules_and_calls = {
        *(f"import {name}" for name in UNSAFE_MODULES),
        *UNSAFE_CALLS,
    }
    assert {each for each in modules_and_calls if not EVALUATION_WORDS.search(each)} == set()
    assert {each for each in HTTP_CLIENTS if not CLIENT_WORDS.search(each)} == set()
    assert {each for each in SLEEPS | CLOCKS if not CLOCK_WORDS.search(each)} == set()
    assert {each for each in SKIPS if not SKIP_WORDS.search(each)} == set()


@pytest.mark.parametrize(
    ("scan", "code"),
    [
        (code_evaluation, "re.compile('x')"),
        (code_evaluation, "subprocess.run(['ls'])"),
        (http_clients, "from urllib.parse import urlsplit"),
        (built_sql, "db.execute('select ?', (f'{x}',))"),
        (built_sql, "db.execute(QUERIES['append'], parameters)"),
        (built_sql, "db.execute('select a '\n'from b')"),
        (skipped_tests, "engine.skip('P3D')"),
        (waits_by_the_clock, "async def turn():\n    await asyncio.sleep(0)"),
        (waits_by_the_clock, "while not file.exists():\n    time.sleep(0.01)"),
    ],
)
def test_what_is_allowed_is_left_alone(scan: Scan, code: str) -> None:
    assert list(scan(ast.parse(code))) == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (REGISTRIES, "https://py" + "pi.org/simple"),
        (REGISTRIES, "--index" + "-url x"),
        (MACHINE_PATHS, "open('/ho" + "me/ada/x')"),
        (MACHINE_PATHS, "file:///ro" + "ot/x"),
        (PROMISES, "# TO" + "DO: later"),
        (SECRETS, "-----BEGIN RSA PRIVATE" + " KEY-----"),
        (SECRETS, "AKIA" + "A" * 16),
    ],
)
def test_what_is_not_to_be_named_is_seen(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (MACHINE_PATHS, "docs/home/page"),
        (MACHINE_PATHS, "sqlite:///orders.db"),
        (MACHINE_PATHS, "POST /workflows/test"),
        (PROMISES, "a todo list"),
    ],
)
def test_what_may_be_named_is_left_alone(pattern: re.Pattern[str], text: str) -> None:
    assert not pattern.search(text)
