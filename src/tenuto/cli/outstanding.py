"""`tenuto run --outstanding`: go on with all that has not ended, until all of it has."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tenuto.cli import exits
from tenuto.cli.logs import logs_on_stderr
from tenuto.cli.progress import STATUS_MARKS
from tenuto.cli.running import engine, interruptible, looking
from tenuto.cli.stores import Reader, described, reading
from tenuto.cli.task_modules import load_tasks
from tenuto.cli.terminal import say
from tenuto.model.status import FINAL, Status
from tenuto.store.parts.instances import InstanceQuery, InstanceRow
from tenuto.store.protocol import Store

if TYPE_CHECKING:
    from tenuto.engine.turns.draft import Draft

OPEN: Final = tuple(status for status in Status if status not in FINAL)
_PAGE: Final = 1_000


async def go_on(
    url: str,
    tasks: Sequence[str],
    file: Path | None,
    timeout: float | None,  # noqa: ASYNC109
) -> int:
    """Work on what is open; 0 when all of it has ended, 1 when something of it failed."""
    load_tasks(tasks, file)
    async with reading(url) as reader:
        waiting = await _open_instances(reader)
    if not waiting:
        say(f"nothing is outstanding in {described(url)}")
        return exits.DONE
    say(f"{len(waiting)} outstanding in {described(url)}; Ctrl-C stops, nothing is lost")
    following = _Following(waiting)
    with redirect_stdout(sys.stderr), logs_on_stderr():
        async with engine(url, listener=following.changed, is_brief=True) as app:
            # Another process may have ended some of them before this one had the store.
            await _look_at_others(app.engine.store, following)
            async with looking(app.engine, lambda: _look_at_others(app.engine.store, following)):
                return await _until_done(following, timeout)


class _Following:
    """Which instances are still open, and whether one of them failed."""

    def __init__(self, rows: Sequence[InstanceRow]) -> None:
        self._status = {row.id: row.status for row in rows}
        self._names = {row.id: f"{row.definition_id}@{row.definition_version}" for row in rows}
        self.has_failed = False
        self.all_ended = asyncio.Event()
        for row in rows:
            self._tell(row.id, row.status)

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
        self._tell(instance_id, status)
        if status.is_final:
            del self._status[instance_id]
            self.has_failed = self.has_failed or status is not Status.COMPLETED
            if not self._status:
                self.all_ended.set()

    def _tell(self, instance_id: str, status: Status) -> None:
        mark, style = STATUS_MARKS[status]
        say(f"{mark} {self._names[instance_id]}  {instance_id}  {status.value}", style=style)


async def _look_at_others(store: Store, following: _Following) -> None:
    """See what other processes did; what this one does it hears of at once."""
    ids = following.open_ids
    for first in range(0, len(ids), _PAGE):
        some = ids[first : first + _PAGE]
        for row in (await store.instances.page(InstanceQuery(ids=some, limit=_PAGE))).items:
            following.move(row.id, row.status)


async def _until_done(following: _Following, timeout: float | None) -> int:  # noqa: ASYNC109
    with interruptible() as stopped:
        ended = asyncio.ensure_future(following.all_ended.wait())
        enough = asyncio.ensure_future(stopped.wait())
        done, pending = await asyncio.wait(
            {ended, enough}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
        )
        for task in pending:
            task.cancel()
        if ended in done:
            return exits.FAILED if following.has_failed else exits.DONE
        say("stopped; the rest goes on next time", style="yellow")
        return exits.INTERRUPTED if enough in done else exits.TIMED_OUT


async def _open_instances(reader: Reader) -> list[InstanceRow]:
    """Those of the tenant that is meant: the others' are gone on with too, and not waited for."""
    rows: list[InstanceRow] = []
    query: InstanceQuery | None = InstanceQuery(statuses=OPEN, limit=_PAGE)
    while query is not None:
        page = await reader.instances(query)
        rows += page.items
        following = page.next_after
        query = InstanceQuery(statuses=OPEN, limit=_PAGE, after=following) if following else None
    return rows
