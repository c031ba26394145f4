"""Waits that end: one that lasts too long fails, and says what it waited for.

A test that waits for other processes bounds its waits itself (`patience`, `until`). As a plugin
this module bounds everything else: a phase of a test that takes nearly `faulthandler_timeout`
fails with the stacks of its threads and tasks, and its worker goes on with the next test.
"""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TypeVar

import pytest

from tests.kit.stacks import stacks_of_tasks

PATIENCE = 120.0
"""Seconds for one wait, also on a machine that is busy with something else."""
T = TypeVar("T")


class Overdue(AssertionError):
    """Something did not happen."""


@asynccontextmanager
async def patience(what: str, seconds: float = PATIENCE) -> AsyncIterator[None]:
    """Bounds the waits inside: `what` is what they wait for."""
    bound = asyncio.timeout(seconds)
    try:
        async with bound:
            yield
    except TimeoutError as error:
        if not bound.expired():
            raise
        raise Overdue(f"{what}: not within {seconds:g} s") from error


async def until(holds: Callable[[], Awaitable[T]], *, every: float = 0.02) -> T:
    """Wait for another process: what `holds` finds, as soon as it is true."""
    async with patience(_named(holds)):
        while True:
            found = await holds()
            if found:
                return found
            await asyncio.sleep(every)


def _named(function: object) -> str:
    """A function as people find it, with the arguments that it was bound to."""
    if isinstance(function, partial):
        return f"{_named(function.func)} of {function.args}"
    name = getattr(function, "__qualname__", repr(function)).replace("<locals>.", "")
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} ({Path(code.co_filename).name}:{code.co_firstlineno})"


# -- the bound of every test

_SHARE = 0.9
"""Of the time after which the worker would be ended: some tests take half a minute, and a machine
that is busy with something else may give them a tenth of it."""


def _fail(_signal: int, _frame: FrameType | None) -> None:
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file)
        file.seek(0)
        threads = file.read()
    try:
        tasks = stacks_of_tasks()
    except RuntimeError:
        tasks = "no loop runs"
    raise Overdue(f"the test hangs\n{threads}\n{tasks}")


@contextmanager
def _bounded(item: pytest.Item) -> Iterator[None]:
    seconds = _SHARE * float(item.config.getini("faulthandler_timeout"))
    if item.get_closest_marker("soak") is not None:
        seconds = 0
    before = signal.signal(signal.SIGALRM, _fail)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    with _bounded(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with _bounded(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    with _bounded(item):
        return (yield)
