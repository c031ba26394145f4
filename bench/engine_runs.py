"""Runs of the shipped engine with its defaults, on a new SQLite file each."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from tenuto import Tenuto, task
from tenuto.engine.upkeep.differences import Verdict
from tenuto.engine.upkeep.verification import verify
from tenuto.model.json import JSON, Object

Statement = tuple[str, object]

_AT_ONCE = 2_000


@task
async def noop(input: JSON) -> None:
    """Does nothing, as quickly as it can be done."""


@task
async def megabyte() -> str:
    """A value as large as an output may be."""
    return "x" * 999_000


@asynccontextmanager
async def new_app(*documents: Object) -> AsyncIterator[tuple[Tenuto, Path]]:
    """An app on a new file."""
    with tempfile.TemporaryDirectory(prefix="tenuto-bench-") as folder:
        path = Path(folder) / "bench.db"
        async with Tenuto(f"sqlite:///{path}") as app:
            for document in documents:
                await app.deploy(document)
            yield app, path


async def run_all(app: Tenuto, workflow: str, count: int, at_once: int | None = None) -> float:
    """Seconds from the first start to the last result; `at_once`: so many are under way."""
    places = asyncio.Semaphore(at_once or count)

    async def one(n: int) -> None:
        async with places:
            instance = await app.start(workflow, {"n": n})
            await instance.result(300)

    began = time.perf_counter()
    await asyncio.gather(*(one(n) for n in range(count)))
    return time.perf_counter() - began


async def verified(app: Tenuto, count: int) -> list[Verdict]:
    """The verdicts on so many instances, after each was found as its log says."""
    verdicts = [verdict async for verdict in verify(app.engine.store, app.engine.plans)]
    differences = [difference for verdict in verdicts for difference in verdict.differences]
    assert len(verdicts) == count, "every instance is there"
    assert not differences, differences[:3]
    return verdicts


async def one_by_one(app: Tenuto, rounds: int) -> list[float]:
    """Seconds from start to result of instances of one step, each of them alone."""
    took = []
    for n in range(rounds):
        began = time.perf_counter()
        instance = await app.start("linear_1", {"n": n})
        await instance.result(30)
        took.append(time.perf_counter() - began)
    return took


async def start_sleeping(app: Tenuto, count: int) -> None:
    """Start so many that sleep, not all at once."""
    for first in range(0, count, _AT_ONCE):
        some = range(first, min(first + _AT_ONCE, count))
        await asyncio.gather(*(app.start("sleeping", {"n": n}) for n in some))


def disk_bytes(path: Path) -> int:
    """What the database takes on disk, with what is not checkpointed yet."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


def recorded(app: Tenuto) -> tuple[list[Statement], Callable[[], None]]:
    """The statements that write, as they are executed; and how to stop recording."""
    statements: list[Statement] = []
    store = app.engine.store

    def keep(sql: str, parameters: object) -> None:
        # A transaction that was under way when it began is not part of it.
        if statements or sql.startswith("BEGIN"):
            statements.append((sql, parameters))

    store.recorder = keep  # type: ignore[attr-defined]

    def stop() -> None:
        store.recorder = None  # type: ignore[attr-defined]

    return statements, stop
