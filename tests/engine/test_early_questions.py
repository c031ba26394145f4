"""An instance may be asked something before its new owner has heard that it took it over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.model.inputs import ResumeAsked
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.parts.members import Orphan
from tenuto.store.sqlite import SqliteStore
from tests.engine.situations import steps

pytestmark = pytest.mark.asyncio

PATIENCE = 10
GENERATIONS = 5
"""As many as the losses after which an instance is taken for poison."""


class _Asked:
    """A store whose engine is asked about what it takes over while the answer is on its way."""

    ask: Callable[[str], Awaitable[object]]

    async def claim_orphans(self, limit: int) -> list[Orphan]:
        orphans: list[Orphan] = await super().claim_orphans(limit)  # type: ignore[misc]
        for orphan in orphans:
            await self.ask(orphan.instance_id)
        return orphans


class AskedMemory(_Asked, MemoryStore):
    """Tables in memory."""


class AskedSqlite(_Asked, SqliteStore):
    """A file."""


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_clean_stops_are_no_losses_whatever_is_asked_first(kind: str, tmp_path: Path) -> None:
    disk = MemoryDisk()
    starts = 0
    is_working = asyncio.Event()

    async def opened() -> Tenuto:
        store = AskedMemory(disk) if kind == "memory" else AskedSqlite(tmp_path / "early.db")
        app = Tenuto(store, settings=Settings(stop_grace=0.0))
        store.ask = lambda id: app.engine.ask(id, ResumeAsked(by="test"))

        @app.task
        async def work() -> str:
            nonlocal starts
            starts += 1
            is_working.set()
            if starts <= GENERATIONS:
                await asyncio.Event().wait()
            return "done"

        await app.open()
        return app

    app = await opened()
    await app.deploy(steps("only"))
    id = (await app.start("flow")).id
    for _ in range(GENERATIONS):
        async with asyncio.timeout(PATIENCE):
            await is_working.wait()
        is_working.clear()
        await app.close()
        app = await opened()
    assert await (await app.instance(id)).result(PATIENCE) == "done"
    assert starts == GENERATIONS + 1
    await app.close()
