"""Lines of the audit log that could not be written when they should have been: tried again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock, Timer
from tenuto.store.access_protocol import AuditEntry, AuditRow

log = logging.getLogger(__name__)

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_MOST = 10_000
_AT_ONCE = 200


class AuditBacklog:
    """Keeps entries in memory until the store takes them; each has an id, and is there once."""

    def __init__(
        self,
        append: Callable[[Sequence[AuditEntry]], Awaitable[Sequence[AuditRow]]],
        clock: Clock,
    ) -> None:
        self._append = append
        self._clock = clock
        self._waiting: list[AuditEntry] = []
        self._pause = _FIRST_PAUSE
        self._timer: Timer | None = None
        self._writing: asyncio.Task[None] | None = None

    def keep(self, entry: AuditEntry) -> None:
        """Write it later; past a bound only the process's own log has it."""
        if len(self._waiting) >= _MOST:
            _tell_of_loss(entry)
            return
        self._waiting.append(entry)
        self._arm()

    async def close(self) -> None:
        """Try once more; what the store does not take even now is in the process's log."""
        if self._timer is not None:
            self._timer.cancel()
        if self._writing is not None:
            await self._writing
            if self._timer is not None:
                self._timer.cancel()
        await self._write()
        for entry in self._waiting:
            _tell_of_loss(entry)

    def _arm(self) -> None:
        if self._timer is None and (self._writing is None or self._writing.done()):
            self._timer = self._clock.call_later(self._pause, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._writing = asyncio.ensure_future(self._go_on())

    async def _go_on(self) -> None:
        await self._write()
        if self._waiting:
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            self._timer = self._clock.call_later(self._pause, self._begin)
        else:
            self._pause = _FIRST_PAUSE

    async def _write(self) -> None:
        while self._waiting:
            batch = self._waiting[:_AT_ONCE]
            try:
                await self._append(batch)
            except StoreUnavailable as error:
                log.warning("%d lines of the audit log wait: %s", len(self._waiting), error.message)
                return
            del self._waiting[: len(batch)]


def _tell_of_loss(entry: AuditEntry) -> None:
    log.error(
        "not in the audit log of %s: %s %s %s by %s %r, request %s",
        entry.tenant,
        entry.outcome,
        entry.action,
        entry.target,
        entry.kind,
        entry.actor,
        entry.request_id,
    )
