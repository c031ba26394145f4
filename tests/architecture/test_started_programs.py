"""Programs are started in few places, and for requests only the interpreter itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import SOURCE, Finding, dotted, findings, modules

OF_THE_SERVICE = frozenset({"tasks/child_process.py", "engine/membership/watchdog.py"})
"""Each starts `sys.executable`, with a program of this package."""
OF_THE_OPERATOR = frozenset(
    {
        *("cli/reloader.py", "demo/stage.py"),
        # Commands of the configuration, and of the command line of a worker.
        *("encryption/sources.py", "worker/credential.py"),
    }
)
_MODULES = frozenset({"subprocess", "multiprocessing", "concurrent.futures.process", "pty"})
_STARTING = ("os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.system", "os.popen")
_CALLED = ("create_subprocess_exec", "create_subprocess_shell", "ProcessPoolExecutor")
_RUNNING = frozenset({"subprocess.Popen", "subprocess.run"})


def started_programs(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (
                    (node.lineno, f"imports {each.name}") for each in names if each.name in _MODULES
                )
            case ast.ImportFrom(module=str(module)) if module in _MODULES:
                yield node.lineno, f"imports {module}"
            case ast.Call(func=function):
                name = dotted(function) or ""
                if name.startswith(_STARTING) or name.endswith(_CALLED):
                    yield node.lineno, f"calls {name}()"
            case _:
                pass


def test_programs_are_started_in_few_places() -> None:
    starting = {
        file.relative_to(SOURCE).as_posix()
        for file in modules(SOURCE)
        if findings([file], started_programs)
    }
    assert starting == OF_THE_SERVICE | OF_THE_OPERATOR


def test_for_requests_only_the_interpreter_itself_is_started() -> None:
    for name in OF_THE_SERVICE:
        tree = ast.parse((SOURCE / name).read_text(encoding="utf-8"))
        calls = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and dotted(node.func) in _RUNNING
        ]
        assert calls, name
        for call in calls:
            [command] = call.args
            assert isinstance(command, ast.List), name
            assert dotted(command.elts[0]) == "sys.executable", name


@pytest.mark.parametrize(
    "code",
    [
        *("import subprocess", "from subprocess import run", "import multiprocessing"),
        *("os.execv(x, y)", "os.fork()", "asyncio.create_subprocess_exec(x)"),
        *("ProcessPoolExecutor()", "os.popen(x)"),
    ],
)
def test_what_starts_a_program_is_seen(code: str) -> None:
    assert list(started_programs(ast.parse(code)))
