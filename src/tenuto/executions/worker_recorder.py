"""Records which workers claim tasks and send heartbeats, off the path of their requests.

A worker costs one small write in `_EVERY` seconds at most. The record is for people: what is not
written when the process ends, or while the store is unavailable, is written by the next claim.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from itertools import islice

from msgspec import Struct

from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.ports import Clock
from tenuto.store.errors import CommitUnknown, DataRefused
from tenuto.store.parts.jobs import WorkerClaim
from tenuto.store.parts.workers import Sighting
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.executions")

_PAUSE = 0.5
"""Seconds in which workers are collected for one write."""
_EVERY = 10.0
"""Seconds between two writes for one worker."""
_AT_ONCE = 200
"""The most workers of one transaction."""
_MOST = 10_000
"""The most workers that wait to be written; others are noted when they are seen again."""
MOST_TASKS_BYTES = 8_000
"""Of the ids of a worker's tasks so many bytes are kept."""


class _Seen(Struct):
    """What is noted of a worker and not written."""

    at: float
    claim: WorkerClaim | None
    """Its last claim; None: only heartbeats."""


class WorkerRecorder:
    """Workers on their way to the store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        spawn: Callable[[Coroutine[None, None, None]], asyncio.Task[None]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._spawn = spawn
        self._noted: dict[tuple[str, str], _Seen] = {}
        self._written: dict[tuple[str, str], float] = {}
        """When a worker was last written, for those that must wait."""
        self._is_armed = False
        """Whether a write is due or under way."""

    def claimed(self, claim: WorkerClaim) -> None:
        """A worker claims tasks, or still waits for one."""
        self._note((claim.tenant, claim.worker_id), claim)

    def beat(self, tenant: str, worker_id: str) -> None:
        """A worker has sent a heartbeat."""
        self._note((tenant, worker_id), None)

    def _note(self, key: tuple[str, str], claim: WorkerClaim | None) -> None:
        now, noted = self._clock.ticks(), self._noted.get(key)
        if noted is not None:
            noted.at = now
            noted.claim = claim or noted.claim
        elif len(self._noted) < _MOST:
            self._noted[key] = _Seen(now, claim)
        if not self._is_armed:
            self._arm()

    # A timer, and no task that sleeps: an engine that stops waits for its tasks.

    def _arm(self) -> None:
        self._is_armed = True
        self._clock.call_later(_PAUSE, self._begin)

    def _begin(self) -> None:
        try:
            _ = self._spawn(self._write())
        except StoreUnavailable:
            # The engine has stopped.
            self._is_armed = False

    async def _write(self) -> None:
        try:
            await self._write_due(self._clock.ticks())
        finally:
            self._is_armed = False
        if self._noted:
            self._arm()

    async def _write_due(self, now: float) -> None:
        self._written = {key: at for key, at in self._written.items() if now - at < _EVERY}
        due = iter([key for key in self._noted if key not in self._written])
        while batch := {key: self._noted.pop(key) for key in islice(due, _AT_ONCE)}:
            self._written |= dict.fromkeys(batch, now)
            seen = [_sighting(key, each, now) for key, each in batch.items()]
            try:
                await self._store.workers.saw(seen, self._clock.now())
            except (TenutoError, CommitUnknown, DataRefused) as error:
                log.warning("%d workers are not recorded: %s", len(batch), error)


def _sighting(key: tuple[str, str], seen: _Seen, now: float) -> Sighting:
    tenant, worker_id = key
    task_ids = None if seen.claim is None else seen.claim.task_ids
    kept = None if task_ids is None else _kept(sorted(task_ids))
    return Sighting(
        tenant=tenant,
        worker_id=worker_id,
        age=max(int((now - seen.at) * 1_000), 0),
        is_claim=seen.claim is not None,
        task_ids=kept,
        left_out=0 if task_ids is None or kept is None else len(task_ids) - len(kept),
    )


def _kept(task_ids: list[str]) -> tuple[str, ...]:
    """As many of the ids as are kept."""
    left = MOST_TASKS_BYTES
    for number, each in enumerate(task_ids):
        left -= len(each.encode(errors="replace"))
        if left < 0:
            return tuple(task_ids[:number])
    return tuple(task_ids)
