"""Statistics: a status at a time, since SQLite has no lateral joins."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.model.status import Status
from tenuto.store.cold.stats import StatsRecords
from tenuto.store.parts.stats import Tally
from tenuto.store.sqlite.file import File
from tenuto.store.sqlite.row_port import SqliteRowPort
from tenuto.store.sqlite.session import Column, Session


class SqliteStats(StatsRecords):
    """Counts, each bounded by its own statement."""

    def __init__(self, file: File) -> None:
        super().__init__(SqliteRowPort(file))
        self._file = file

    async def tallies(
        self, tenant: str, since: datetime, apart_from: datetime, most: int
    ) -> list[Tally]:
        which: dict[str, Column] = {
            "tenant": tenant,
            "since": epoch_ms(since),
            "apart_from": epoch_ms(apart_from),
            "most": most,
        }

        def count(session: Session) -> list[Tally]:
            return [
                Tally(definition_id, status, started, ended, instances)
                for status in Status
                for definition_id, started, ended, instances in session.rows(
                    "tallies", which | {"status": status.value}
                )
            ]

        return await self._file.read(count)
