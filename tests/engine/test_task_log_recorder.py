"""Lines on their way to the store: bounded, in batches, and apart from the attempts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tenuto.engine.effects import task_log_recorder
from tenuto.engine.effects.task_log_recorder import TaskLogRecorder
from tenuto.model.errors import StoreUnavailable
from tenuto.model.task_logs import LogChunk, LogLine
from tenuto.ports import SystemClock
from tenuto.store.parts.task_logs import TaskLogRow
from tenuto.tasks.capture import CURRENT
from tests.tasks.test_attempt_log import NOON

pytestmark = pytest.mark.asyncio


class Clock(SystemClock):
    """Pauses are over at once."""

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        await asyncio.sleep(0)
        return event.is_set()


class Scene:
    """A recorder, and a store that is away at first while more lines come."""

    def __init__(self) -> None:
        self.meanwhile: list[str] = []
        self.steps: list[str] = []
        self.seen: list[object] = []
        self.counted: list[tuple[str, int]] = []
        store = cast("Any", SimpleNamespace(task_logs=self))
        self.recorder = TaskLogRecorder(store, Clock(), asyncio.ensure_future, self.count)

    def keep(self, *texts: str) -> None:
        for text in texts:
            line = LogLine(at=NOON, text=text)
            self.recorder.keep(("i", text[:9], "", 1), LogChunk(lines=(line,)))

    def count(self, tenant: str, size: int) -> None:
        self.counted.append((tenant, size))

    async def add(self, rows: Sequence[TaskLogRow], _: datetime) -> dict[str, int]:
        self.seen.append(CURRENT.get())
        if self.meanwhile:
            self.keep(*self.meanwhile)
            self.meanwhile = []
            raise StoreUnavailable("away")
        self.steps += [row.step for row in rows]
        return {"ours": sum(row.size for row in rows)}


@pytest.mark.parametrize(("bound", "value"), [("_MOST", 3), ("_MOST_BYTES", 3 * 65)])
async def test_in_an_outage_the_oldest_lines_are_lost(
    monkeypatch: pytest.MonkeyPatch, bound: str, value: int
) -> None:
    monkeypatch.setattr(task_log_recorder, bound, value)
    monkeypatch.setattr(task_log_recorder, "_AT_ONCE", 2)
    scene = Scene()
    scene.meanwhile = ["4", "5"]
    scene.keep("1", "2", "3")
    await scene.recorder.written()
    assert scene.steps == ["3", "4", "5"]


async def test_the_writer_is_in_the_context_of_no_attempt() -> None:
    scene = Scene()

    async def attempt() -> None:
        CURRENT.set(cast("Any", object()))
        scene.keep("1")

    await asyncio.create_task(attempt())
    await scene.recorder.written()
    assert scene.seen == [None]
    assert scene.counted == [("ours", 65)]


async def test_other_work_goes_on_while_large_lines_are_cleaned() -> None:
    scene, turns = Scene(), 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    scene.keep(*["\x1b[0m" * 250_000] * 100)
    assert scene.recorder._size < 2_000_000
    other = asyncio.create_task(others())
    await scene.recorder.written()
    other.cancel()
    assert turns > 8
