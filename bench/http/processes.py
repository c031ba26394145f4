"""`tenuto serve` and `tenuto worker` as processes of their own."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

BATCH = 50
_CONCURRENCY = 200
_PATIENCE = 60.0
_TASKS = """\
import asyncio

from tenuto import task


@task
async def noop(input):
    return None


@task
async def pause(input):
    await asyncio.sleep(input["pause"])
"""


class Served(NamedTuple):
    """A service that answers."""

    url: str
    pid: int


@contextlib.contextmanager
def served(store: str, *, with_tasks: bool = True) -> Iterator[Served]:
    """`tenuto serve` on a store; `with_tasks`: it runs tasks as well."""
    with _folder() as (tasks, said):
        words = ["serve", "--store", store, "--port", "0"]
        process = _tenuto(*words, *(("--tasks", str(tasks)) if with_tasks else ()), said=said)
        try:
            yield Served(_address(process, said), process.pid)
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def worker(url: str) -> Iterator[None]:
    """`tenuto worker`, which claims batches from the service at `url`."""
    with _folder() as (tasks, said):
        words = ["worker", str(tasks), "--server", url, "--batch", str(BATCH)]
        process = _tenuto(*words, "--concurrency", str(_CONCURRENCY), said=said)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def _tenuto(*words: str, said: Path) -> subprocess.Popen[bytes]:
    """The command; a file takes what it says, since nobody empties a pipe."""
    with said.open("wb") as file:
        return subprocess.Popen([sys.executable, "-m", "tenuto", *words], stderr=file)


def _address(process: subprocess.Popen[bytes], said: Path) -> str:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(r"serving (http://\S+)", said.read_text()):
            return found[1]
        time.sleep(0.05)
    raise RuntimeError(f"the service did not start:\n{said.read_text()}")


@contextlib.contextmanager
def _folder() -> Iterator[tuple[Path, Path]]:
    """A file with tasks, and one for what a process says."""
    with tempfile.TemporaryDirectory(prefix="tenuto-bench-") as name:
        tasks = Path(name) / "bench_tasks.py"
        tasks.write_text(_TASKS)
        yield tasks, Path(name) / "said"
