"""What the rows of each tenant lead to, prepared beside those of others.

Filters of webhooks, and workflows that wait for lifecycle events, are evaluated for as long as they
take: a tenant whose rows take longer than a pass delays its own deliveries only. Its rows stay in
the outbox meanwhile. Nothing here is durable: what is dropped is prepared again from its rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import NamedTuple

from tenuto.model.events import Event
from tenuto.store.parts.outbox import OutboxRow, Posting

PATIENCE = 0.05
"""Seconds for which a pass waits for preparations; those that take longer are for a later one."""
_MOST_UNCLAIMED = 20
"""Passes without rows of a preparation after which it is dropped: another process has drained them.
Until then a claim may have been too small, or one of other shares."""


class Notice(NamedTuple):
    """A row of the outbox, and its events."""

    row: OutboxRow
    events: list[Event]


Prepared = dict[int, list[Posting]]
"""The number of a row → its postings; rows that have to stay are missing."""


class _Preparation:
    """That of one tenant; only when all of it has left does the next one begin."""

    def __init__(self, task: asyncio.Task[Prepared]) -> None:
        self.task = task
        self.unclaimed = 0
        """The passes in a row that had none of its rows since it was done."""

    @property
    def is_done(self) -> bool:
        return self.task.done() and self.error is None

    @property
    def error(self) -> BaseException | None:
        if not self.task.done():
            return None
        return asyncio.CancelledError() if self.task.cancelled() else self.task.exception()


class Preparations:
    """At most one for each tenant at a time, so that its rows stay in order."""

    def __init__(
        self, prepare: Callable[[Sequence[Notice]], Coroutine[None, None, Prepared]]
    ) -> None:
        self._prepare = prepare
        self._of: dict[str, _Preparation] = {}
        self._fresh: list[asyncio.Task[Prepared]] = []

    def __contains__(self, tenant: str) -> bool:
        return tenant in self._of

    def begin(self, tenant: str, notices: Sequence[Notice]) -> None:
        work = self._prepare(notices)
        task = asyncio.get_running_loop().create_task(work, name=f"outbox of {tenant}")
        self._of[tenant] = _Preparation(task)
        self._fresh.append(task)

    async def wait(self) -> None:
        """Return when all that began in this pass are done, or after some patience.

        Where none began: when one of the earlier ones is done.
        """
        fresh, self._fresh = self._fresh, []
        late = [each.task for each in self._of.values()]
        if fresh:
            await asyncio.wait(fresh, timeout=PATIENCE)
        elif late:
            await asyncio.wait(late, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)

    def take(self, rows: Sequence[OutboxRow]) -> tuple[list[OutboxRow], list[Posting]]:
        """Those of the claimed rows that are prepared, and their postings."""
        taken: list[OutboxRow] = []
        postings: list[Posting] = []
        done = {tenant: each for tenant, each in self._of.items() if each.is_done}
        for each in done.values():
            each.unclaimed += 1
        for row in rows:
            preparation = done.get(row.tenant)
            if preparation is None:
                continue
            found = preparation.task.result().pop(row.number, None)
            if found is not None:
                preparation.unclaimed = 0
                taken.append(row)
                postings += found
        for tenant, each in done.items():
            if not each.task.result() or each.unclaimed > _MOST_UNCLAIMED:
                del self._of[tenant]
        return taken, postings

    def drop(self, tenants: Iterable[str]) -> None:
        """What is left of these tenants has to be prepared again."""
        for tenant in tenants:
            if tenant in self._of and self._of[tenant].is_done:
                del self._of[tenant]

    def failures(self) -> list[BaseException]:
        """Why rows could not be prepared, each once: they are prepared again with a later pass."""
        failed = {tenant: each for tenant, each in self._of.items() if each.error is not None}
        for tenant in failed:
            del self._of[tenant]
        return [each.error for each in failed.values() if each.error is not None]

    async def stop(self) -> None:
        tasks = [each.task for each in self._of.values()]
        self._of.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
