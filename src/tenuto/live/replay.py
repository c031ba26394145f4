"""Earlier messages of an instance, read from its log page by page, shared by its subscribers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from tenuto.core import InstanceState, Plan, blank, fold_all
from tenuto.live.log_reader import PAGE, PAGE_BYTES, LogReader
from tenuto.live.messages import (
    Make,
    Message,
    bytes_read,
    changes_status,
    make_at_once,
    messages_of,
    node_messages,
    parts_of,
)
from tenuto.live.tenant_share import TenantShare
from tenuto.model.errors import NotFound
from tenuto.model.log import LogRow, from_row
from tenuto.store.protocol import Parts


class Page(Struct, frozen=True, gc=False):
    """The messages of some entries, of which `through` is the last."""

    messages: list[Message]
    through: int
    state: InstanceState
    """The state after some entry up to there, which further pages go on from."""


class Replay:
    """Reads the log of one instance, from any entry on."""

    def __init__(
        self,
        store: Parts,
        plan: Plan,
        instance_id: str,
        share: TenantShare,
        *,
        page: int = PAGE,
        make: Make = make_at_once,
    ) -> None:
        self._log = LogReader(store, instance_id, page)
        self._share = share
        self._plan = plan
        self._instance_id = instance_id
        self._make = make
        self._beginning = blank(instance_id)
        self._pages: dict[int, asyncio.Task[Page]] = {}

    async def page_after(self, after: int, before: Page | None) -> Page:
        """The page that follows an entry; `before` is the one that ends there, if there was one."""
        reading = self._pages.get(after)
        if reading is None or (reading.done() and _went_wrong(reading)):
            state = self._beginning if before is None else before.state
            reading = asyncio.ensure_future(self._read(after, state))
            reading.add_done_callback(_went_wrong)
            self._pages[after] = reading
            reading.add_done_callback(lambda _: self._share.keep(self._pages, after))
        # A subscriber that leaves must not cancel it for the others.
        return await asyncio.shield(reading)

    def close(self) -> None:
        """End all reads: there are no subscribers."""
        for reading in self._pages.values():
            reading.cancel()
        self._pages.clear()

    async def _read(self, after: int, state: InstanceState) -> Page:
        async with self._share.turn:
            began = self._share.now()
            rows = await self._entries(after)
            if state.version != after:
                if not changes_status(rows):
                    # None of these messages shows the context: the state before need not be read.
                    of_nodes = partial(node_messages, self._instance_id, rows)
                    messages = await self._make(bytes_read(state, rows), of_nodes)
                    await self._share.pause(began)
                    return Page(messages, rows[-1].seq, state)
                state = await self._folded(state, after)
            return await self._told(rows, state, began)

    async def _told(self, rows: Sequence[LogRow], state: InstanceState, began: float) -> Page:
        """The messages of these entries; the page ends by bytes as well: contexts are large."""
        messages: list[Message] = []
        size = 0
        for part in parts_of(rows):
            work = partial(messages_of, self._plan, state, part)
            found, state = await self._make(bytes_read(state, part), work)
            messages += found
            size += sum(len(each.data) for each in found)
            began = await self._share.pause(began)
            if size >= PAGE_BYTES:
                break
        return Page(messages, state.version, state)

    async def _folded(self, state: InstanceState, through: int) -> InstanceState:
        """The state after an entry."""
        while state.version < through:
            began = self._share.now()
            rows = [row for row in await self._entries(state.version) if row.seq <= through]
            state = fold_all(self._plan, state, map(from_row, rows))
            await self._share.pause(began)
        return state

    async def _entries(self, after: int) -> list[LogRow]:
        rows = await self._log.entries(after)
        if not rows:
            raise NotFound(f"there is no instance {self._instance_id}")
        return rows


def _went_wrong(reading: asyncio.Task[Page]) -> bool:
    """Whether a read has failed; looking at its error keeps asyncio from reporting it."""
    return reading.cancelled() or reading.exception() is not None
