"""A terminal for tests: a folder of its own, the installed program, and stores with a past."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from tenuto import Context, TaskError, Tenuto
from tenuto.model.json import Object
from tenuto.tasks.registry import DEFAULT_REGISTRY
from tests.cli.waiting import until, waits_for_event
from tests.cli.whole import program_of
from tests.kit.command_forks import ForkedCommand
from tests.kit.postgres_database import fresh_database

PATIENCE = 150
"""Seconds that a process may take on a loaded machine: less than a test may."""

TASKS = """
from tenuto import Context, TaskError, task

@task
async def double(ctx: Context, number: int) -> int:
    print("a task may print")
    return number * 2

@task
async def refuse(value: object) -> None:
    raise TaskError("OUT_OF_STOCK", "none left", retryable=False)
"""

DOUBLE: Object = {"steps": [{"stepId": "twice", "type": "TASK", "taskId": "double"}]}
REFUSE: Object = {"steps": [{"stepId": "reserve", "type": "TASK", "taskId": "refuse"}]}
WAIT: Object = {
    "steps": [
        {
            "stepId": "wait",
            "type": "EVENT_WAIT",
            "eventPattern": "paid",
            "eventCondition": "event.payload.id === workflow.input.id",
            "eventTimeout": {"duration": "P3D", "timeoutHandlerStepId": "late"},
            "transitions": {"default": "twice"},
        },
        {"stepId": "twice", "type": "TASK", "taskId": "double", "input": 21},
        {"stepId": "late", "type": "TASK", "taskId": "refuse"},
    ]
}


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever was printed
        return json.loads(self.out)


class Terminal:
    """A shell in a folder of its own."""

    def __init__(self, folder: Path, store: str | None = None) -> None:
        self.folder = folder
        self.store = store or f"sqlite:///{folder / 'store.db'}"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TENUTO")},
            "TENUTO_STORE": self.store,
            "XDG_CONFIG_HOME": str(folder / "config"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "200",
        }
        self.write("tasks.py", TASKS)

    def write(self, name: str, content: object) -> Path:
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return path

    def start(self, *arguments: str, is_loaded: bool = True) -> subprocess.Popen[str]:
        """A process of a command; unless it `is_loaded`, it has to load what it needs."""
        options: dict[str, Any] = {
            "cwd": self.folder,
            "env": self.environment,
            "text": True,
            **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE),
        }
        if is_loaded:
            return ForkedCommand(arguments, **options)
        return subprocess.Popen([sys.executable, "-m", "tenuto", *arguments], **options)

    def run(self, *arguments: str, stdin: str = "") -> Ended:
        """Run a command as a process of its own."""
        with self.start(*arguments) as process:
            out, err = process.communicate(stdin, timeout=PATIENCE)
        return Ended(process.returncode, out, err)

    def call(self, *arguments: str, input: str | None = None) -> Ended:
        """Run a command in this process: quick, for commands that run no tasks."""
        with chdir(self.folder), _no_tasks(self.folder):
            program = program_of(arguments[0] if arguments else "")
            result = CliRunner().invoke(
                program, arguments, input, env=self.environment, prog_name="tenuto"
            )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ended(result.exit_code, result.stdout, result.stderr)

    def past(self, live: Callable[[Tenuto], Awaitable[None]]) -> None:
        """Give the store a past: what an application did with it before."""

        async def main() -> None:
            async with Tenuto(self.store) as past:
                _register(past)
                await live(past)

        asyncio.run(main())


@contextmanager
def _no_tasks(folder: Path) -> Iterator[None]:
    """A command has the tasks that it loads, and no others, as if this were another process."""
    tasks = DEFAULT_REGISTRY._tasks
    before = tasks.copy()
    tasks.clear()
    try:
        yield
    finally:
        tasks.clear()
        tasks |= before
        for name, module in [*sys.modules.items()]:
            if str(getattr(module, "__file__", None)).startswith(str(folder)):
                del sys.modules[name]


def _register(app: Tenuto) -> None:
    @app.task
    async def double(ctx: Context, number: int) -> int:
        return number * 2

    @app.task
    async def refuse(value: object) -> None:
        raise TaskError("OUT_OF_STOCK", "none left", retryable=False)


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


@pytest.fixture
def database() -> str:
    """The URL of a database in which there are no instances yet."""
    return asyncio.run(fresh_database("tenuto_cli"))


@pytest.fixture
def on_postgres(tmp_path: Path, database: str) -> Terminal:
    return Terminal(tmp_path, database)


@pytest.fixture(params=["terminal", "on_postgres"])
def on_each_store(request: pytest.FixtureRequest) -> Terminal:
    found: Terminal = request.getfixturevalue(request.param)
    return found


async def one_of_each(app: Tenuto) -> None:
    """One instance completed, one failed, one waiting, in this order."""
    for name, document in (("double", DOUBLE), ("refuse", REFUSE), ("wait", WAIT)):
        await app.deploy({"id": name, **document})
    await (await app.start("double", 21)).result(timeout=60)
    failing = await app.start("refuse", {}, correlation_id="c-1")
    with pytest.raises(Exception, match="OUT_OF_STOCK"):
        await failing.result(timeout=60)
    waiting = await app.start("wait", {"id": 7})
    await until(app, waiting, waits_for_event)
