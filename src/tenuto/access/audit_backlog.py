"""Audit lines that the store did not take when they were due: written again until it does."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from tenuto.access.delayed_write import DelayedWrite
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock
from tenuto.store.parts.audit import AuditEntry, AuditRow

log = logging.getLogger(__name__)

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_MOST = 10_000
_AT_ONCE = 200


class AuditBacklog:
    """Keeps entries in memory until the store takes them; their ids make a repeat harmless."""

    def __init__(
        self,
        append: Callable[[Sequence[AuditEntry]], Awaitable[Sequence[AuditRow]]],
        clock: Clock,
    ) -> None:
        self._append = append
        self._unwritten: list[AuditEntry] = []
        self._pause = _FIRST_PAUSE
        self._writing = DelayedWrite(clock, self._write)

    def keep(self, entry: AuditEntry) -> None:
        """Write it later; beyond a bound it is in the process's own log only."""
        if len(self._unwritten) >= _MOST:
            _log_loss(entry)
            return
        self._unwritten.append(entry)
        self._writing.ask(self._pause)

    async def close(self) -> None:
        """Try a last time; entries that the store refuses even now go to the process's log."""
        await self._writing.close()
        for entry in self._unwritten:
            _log_loss(entry)

    async def _write(self) -> float | None:
        while self._unwritten:
            batch = self._unwritten[:_AT_ONCE]
            try:
                await self._append(batch)
            except StoreUnavailable as error:
                waiting = len(self._unwritten)
                log.warning("audit: %d lines wait for the store: %s", waiting, error.message)
                self._pause = min(self._pause * 2, _LONGEST_PAUSE)
                return self._pause
            del self._unwritten[: len(batch)]
        self._pause = _FIRST_PAUSE
        return None


def _log_loss(entry: AuditEntry) -> None:
    log.error(
        "audit: line lost tenant=%s outcome=%s action=%s target=%s kind=%s actor=%r request=%s",
        entry.tenant,
        entry.outcome,
        entry.action,
        entry.target,
        entry.kind,
        entry.actor,
        entry.request_id,
    )
