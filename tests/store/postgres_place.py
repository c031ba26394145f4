"""A database as a place for stores: who is left as SIGKILL leaves it is soon presumed dead."""

from __future__ import annotations

from datetime import datetime, timedelta

from tenuto.store.postgres import PostgresStore
from tests.kit.postgres_database import connected, in_another_thread

DEAD_AFTER = timedelta(minutes=10)
_AGES = timedelta(hours=1) // timedelta(milliseconds=1)


async def let_time_pass(url: str, *silent: str) -> None:
    """An hour goes by, in which these processes have not been heard of, and the others have."""
    async with connected(url) as connection:
        await connection.fetch(
            "UPDATE tenuto.processes SET steady_since = steady_since - $1::bigint,"
            " beat_at = beat_at - CASE WHEN id = ANY($2::text[]) THEN $1::bigint ELSE 0 END",
            _AGES,
            list(silent),
        )


class TestedStore(PostgresStore):
    """A store that is presumed dead as soon as it is left."""

    __test__ = False

    def __init__(self, url: str, gone: list[str], *, direct: str | None = None) -> None:
        super().__init__(url, dead_after=DEAD_AFTER)
        self._url = direct or url
        self._gone = gone

    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        latest = await super().open(process_id, now, is_guest=is_guest)
        if self._gone:
            await let_time_pass(self._url, *self._gone)
            await self.members.claim_orphans(0)
        return latest

    async def close(self, now: datetime, *, clean: bool) -> None:
        self._gone, gone = [], self._gone
        await super().close(now, clean=clean)
        self._gone = gone

    def abandon(self) -> None:
        process_id = self._database.process_id
        super().abandon()
        if process_id is not None:
            self._gone.append(process_id)
            in_another_thread(lambda: let_time_pass(self._url, *self._gone))

    def leave(self) -> None:
        """The test is over."""
        super().abandon()
