"""`tenuto run --outstanding`: go on with every instance that has not ended, until all have."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Final

from tenuto.cli import exits
from tenuto.cli.backends.engine import engine
from tenuto.cli.backends.reader import described
from tenuto.cli.backends.store import StoreBackend
from tenuto.cli.live_feed import interruptible
from tenuto.cli.local_run import RunOptions, looking
from tenuto.cli.missing_tasks import load_named_tasks, say_missing_tasks
from tenuto.cli.views.marks import STATUS_MARKS
from tenuto.cli.views.terminal import logs_on_stderr, say
from tenuto.model.status import FINAL, Status
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.protocol import Store
from tenuto.workspace.values import InstanceFilter, Summary

if TYPE_CHECKING:
    from tenuto.engine.turns.draft import Draft
    from tenuto.workspace.protocol import Workspace

OPEN: Final = tuple(status for status in Status if status not in FINAL)
_PAGE: Final = 1_000


async def run_outstanding(url: str, options: RunOptions) -> int:
    """Work on all open instances; 0 when all have ended, 1 when one of them failed."""
    load_named_tasks(options.tasks, options.file)
    async with StoreBackend(url) as store:
        waiting = await _open_instances(store.space)
        if not waiting:
            say(f"nothing is outstanding in {described(url)}")
            return exits.DONE
        await say_missing_tasks(store, waiting)
    say(f"{len(waiting)} outstanding in {described(url)}; Ctrl-C stops, nothing is lost")
    open_ones = _OpenInstances(waiting)
    with redirect_stdout(sys.stderr), logs_on_stderr():
        async with engine(url, listener=open_ones.changed, is_brief=True) as app:
            # Another process may have ended some of them before this one had the store.
            await _look_at_others(app.engine.store, open_ones)
            async with looking(app.engine, lambda: _look_at_others(app.engine.store, open_ones)):
                return await _until_done(open_ones, options.timeout)


class _OpenInstances:
    """Which instances are still open, and whether one of them failed."""

    def __init__(self, found: Sequence[Summary]) -> None:
        self._status = {each.id: each.status for each in found}
        self._names = {each.id: f"{each.workflow}@{each.version}" for each in found}
        self.has_failed = False
        self.all_ended = asyncio.Event()
        for each in found:
            self._show(each.id, each.status)

    def changed(self, draft: Draft) -> None:
        """An instance has a new durable state."""
        self.move(draft.instance_id, draft.state.status)

    @property
    def open_ids(self) -> tuple[str, ...]:
        return tuple(self._status)

    def move(self, instance_id: str, status: Status) -> None:
        if self._status.get(instance_id) in (None, status):
            return
        self._status[instance_id] = status
        self._show(instance_id, status)
        if status.is_final:
            del self._status[instance_id]
            self.has_failed = self.has_failed or status is not Status.COMPLETED
            if not self._status:
                self.all_ended.set()

    def _show(self, instance_id: str, status: Status) -> None:
        mark, style = STATUS_MARKS[status]
        say(f"{mark} {self._names[instance_id]}  {instance_id}  {status.value}", style=style)


async def _look_at_others(store: Store, open_ones: _OpenInstances) -> None:
    """Read what other processes did; of its own changes this one is notified."""
    ids = open_ones.open_ids
    for first in range(0, len(ids), _PAGE):
        some = ids[first : first + _PAGE]
        for row in (await store.instances.page(InstanceQuery(ids=some, limit=_PAGE))).items:
            open_ones.move(row.id, row.status)


async def _until_done(open_ones: _OpenInstances, timeout: float | None) -> int:  # noqa: ASYNC109
    with interruptible() as stopped:
        ended = asyncio.ensure_future(open_ones.all_ended.wait())
        enough = asyncio.ensure_future(stopped.wait())
        done, pending = await asyncio.wait(
            {ended, enough}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
        )
        for task in pending:
            task.cancel()
        if ended in done:
            return exits.FAILED if open_ones.has_failed else exits.DONE
        say("stopped; the rest goes on next time", style="yellow")
        return exits.INTERRUPTED if enough in done else exits.TIMED_OUT


async def _open_instances(space: Workspace) -> list[Summary]:
    """Open instances of the tenant; other tenants' go on too, and are not waited for."""
    found: list[Summary] = []
    cursor: str | None = None
    while True:
        page = await space.page(InstanceFilter(status=OPEN), limit=_PAGE, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found
