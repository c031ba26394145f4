"""Earlier messages of an instance, read from its log page by page, shared by its subscribers."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import partial

from msgspec import Struct

from tenuto.core import InstanceState, Plan, blank, fold_all
from tenuto.live.messages import (
    Make,
    Message,
    bytes_read,
    changes_status,
    make_at_once,
    messages_of,
    node_messages,
)
from tenuto.model.errors import NotFound
from tenuto.model.log import LogRow, from_row
from tenuto.store.protocol import Parts

PAGE = 200
"""Entries that are read at once."""
MOST_PAGES = 4
"""Pages of one instance that are kept for other subscribers."""


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
        page: int = PAGE,
        make: Make = make_at_once,
    ) -> None:
        self._store = store
        self._plan = plan
        self._instance_id = instance_id
        self._page = page
        self._make = make
        self._beginning = blank(instance_id)
        self._pages: OrderedDict[int, asyncio.Task[Page]] = OrderedDict()

    async def page_after(self, after: int, before: Page | None) -> Page:
        """The page that follows an entry; `before` is the one that ends there, if there was one."""
        reading = self._pages.get(after)
        if reading is None or (reading.done() and _went_wrong(reading)):
            state = self._beginning if before is None else before.state
            reading = asyncio.ensure_future(self._read(after, state))
            reading.add_done_callback(_went_wrong)
            self._pages[after] = reading
            if len(self._pages) > MOST_PAGES:
                self._pages.popitem(last=False)
        # A subscriber that leaves must not cancel it for the others.
        return await asyncio.shield(reading)

    def close(self) -> None:
        """End all reads: there are no subscribers."""
        for reading in self._pages.values():
            reading.cancel()

    async def _read(self, after: int, state: InstanceState) -> Page:
        rows = await self._entries(after)
        through = rows[-1].seq
        if state.version == after or changes_status(rows):
            state = await self._folded(state, after)
            work = partial(messages_of, self._plan, state, rows)
            messages, state = await self._make(bytes_read(state, rows), work)
        else:
            # None of these messages shows the context: the state before need not be read.
            of_nodes = partial(node_messages, self._instance_id, rows)
            messages = await self._make(bytes_read(state, rows), of_nodes)
        return Page(messages, through, state)

    async def _folded(self, state: InstanceState, through: int) -> InstanceState:
        """The state after an entry."""
        while state.version < through:
            rows = [row for row in await self._entries(state.version) if row.seq <= through]
            state = fold_all(self._plan, state, map(from_row, rows))
        return state

    async def _entries(self, after: int) -> list[LogRow]:
        rows = await self._store.instances.entries(self._instance_id, after=after, limit=self._page)
        if not rows:
            raise NotFound(f"there is no instance {self._instance_id}")
        return rows


def _went_wrong(reading: asyncio.Task[Page]) -> bool:
    """Whether a read has failed; looking at its error keeps asyncio from reporting it."""
    return reading.cancelled() or reading.exception() is not None
