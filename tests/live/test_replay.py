"""What was missed is told the same in whatever pages it is read, and read once for all who ask."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from tenuto.engine.turns.sharing import Sharing
from tenuto.live.log_reader import PAGE_BYTES
from tenuto.live.messages import STATUS_UPDATE, Message
from tenuto.live.replay import Page, Replay
from tenuto.live.tenant_share import MOST_BYTES, MOST_PAGES, TenantShare
from tenuto.live.window import Window
from tenuto.model.errors import NotFound, StoreUnavailable
from tenuto.model.log import LogRow
from tenuto.ports import SystemClock
from tenuto.store.protocol import Parts
from tests.core.drawing import draw, wait
from tests.core.play import ID, play
from tests.live.test_messages import all_of, rows_of, wandered


def alone() -> TenantShare:
    """What the instances of a tenant share beside no other."""
    return TenantShare(SystemClock(), Sharing(), "default")


class Log:
    """A store that has one log, and counts who reads it."""

    def __init__(self, rows: list[LogRow]) -> None:
        self.rows = rows
        self.reads: list[int] = []
        self.is_away = False

    @property
    def instances(self) -> Log:
        return self

    async def entries(self, _id: str, *, after: int, limit: int) -> list[LogRow]:
        self.reads.append(after)
        if self.is_away:
            raise StoreUnavailable("it is away")
        return self.rows[after : after + limit]


async def read_all(replay: Replay, since: int, length: int) -> list[Message]:
    page: Page | None = None
    told: list[Message] = []
    while since < length:
        page = await replay.page_after(since, page)
        told += page.messages
        since = page.through
    return told


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", range(12))
async def test_a_log_is_told_the_same_in_pages_of_any_size(seed: int) -> None:
    run = wandered(seed)
    log, whole = Log(rows_of(run)), all_of(run)
    for size in (1, 3, 10, 1_000):
        for since in (0, 1, 2, len(log.rows) // 2, len(log.rows) - 1):
            replay = Replay(cast("Parts", log), run.plan, ID, alone(), page=size)
            told = await read_all(replay, since, len(log.rows))
            assert told == [each for each in whole if each.seq > since]


@pytest.mark.asyncio
async def test_a_page_is_read_once_for_all_who_want_it() -> None:
    run = wandered(1)
    log = Log(rows_of(run))
    replay = Replay(cast("Parts", log), run.plan, ID, alone(), page=5)
    pages = await asyncio.gather(*(replay.page_after(0, None) for _ in range(50)))
    assert log.reads == [0]
    assert all(page is pages[0] for page in pages)
    await read_all(replay, 0, len(log.rows))
    assert len(replay._pages) <= MOST_PAGES
    replay.close()


@pytest.mark.asyncio
async def test_a_page_ends_by_the_bytes_of_entries_and_of_messages() -> None:
    """Two hundred entries may have a megabyte each, and each change of status a whole context."""
    run = play(draw("w", w=wait())).start("x" * 200_000)
    for _ in range(30):
        run.pause().resume()
    log = Log(rows_of(run))
    page: Page | None = None
    replay = Replay(cast("Parts", log), run.plan, ID, alone())
    since = 0
    while since < len(log.rows):
        page = await replay.page_after(since, page)
        assert sum(len(each.data) for each in page.messages) < PAGE_BYTES + 300_000
        since = page.through


@pytest.mark.asyncio
async def test_the_windows_of_a_tenant_are_bounded_together() -> None:
    share = alone()
    windows = [Window(0) for _ in range(200)]
    for window in windows:
        messages = [Message(seq, STATUS_UPDATE, b"x" * 500_000) for seq in range(1, 11)]
        window.push(messages, 10)
        share.moved(window)
    assert sum(each.bytes for each in windows) <= MOST_BYTES
    assert windows[0].after(0) is None
    assert windows[0].start == 10, "who has not read it goes on from the log"
    assert windows[-1].after(0) is not None


@pytest.mark.asyncio
async def test_a_page_that_could_not_be_read_is_read_again() -> None:
    run = wandered(1)
    log = Log(rows_of(run))
    replay = Replay(cast("Parts", log), run.plan, ID, alone())
    log.is_away = True
    with pytest.raises(StoreUnavailable):
        await replay.page_after(0, None)
    log.is_away = False
    assert (await replay.page_after(0, None)).messages
    with pytest.raises(NotFound):
        await replay.page_after(len(log.rows), None)
