"""What processes ask the limit of all instances to be, and which of it is in force."""

from __future__ import annotations

from datetime import datetime, timedelta

from tenuto.model.durations import epoch_ms
from tenuto.model.load import LoadReport
from tenuto.model.slots import GLOBAL
from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Ask, Script
from tenuto.store.cold.rows import columns_of
from tenuto.store.marks import writes

KEPT_FOR = timedelta(seconds=15)
"""For so long the report of a process counts."""
_MILLISECOND = timedelta(milliseconds=1)


def counts_since(now: datetime) -> int:
    """Reports from before this moment, in milliseconds, count for nothing."""
    return epoch_ms(now - KEPT_FOR)


class LoadReports(ColdPart):
    """One row of each process that measures its load. All verbs are safe to repeat."""

    @writes
    async def report(self, report: LoadReport, *, before: int | None) -> int:
        """Write what a process asks for; returns the lowest that any living process asks for.

        Where that is above `before`, the next pass of admission looks at those that wait for the
        limit of the service. Reports that count no longer are deleted.
        """

        def script() -> Script[int]:
            since = report.at_ms - KEPT_FOR // _MILLISECOND
            yield Ask("put_load_report", columns_of(report))
            yield Ask("drop_load_reports", {"since": since})
            [(lowest,)] = yield Ask("lowest_load_report", {"since": since})
            if before is None or lowest > before:
                yield Ask("free_again", {"keys": f'["{GLOBAL}"]'})
            return int(lowest)

        return await self._port.transaction(script)

    @writes
    async def forget(self, process_id: str) -> None:
        """Delete the report of a process that asks for nothing any more."""
        await self._port.write("drop_load_report", {"process_id": process_id})

    async def living(self, now: datetime) -> list[LoadReport]:
        """The reports that count, the lowest first."""
        return await self._found(LoadReport, "load_reports", {"since": counts_since(now)})
