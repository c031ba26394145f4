"""Goes on where a process that is gone left off, by the same door through which everything enters.

What its instances owe the world follows from their logs (`outstanding`): an attempt that should be
running was lost with its process, a child's workflow is looked for again, a near timer is armed
again. Everything else is a row that its own loop finds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tenuto.core import outstanding
from tenuto.engine.held import Held
from tenuto.engine.loading import Loader
from tenuto.engine.postmaster import Postmaster, key_of
from tenuto.engine.requests import Request
from tenuto.engine.timekeeper import Timekeeper
from tenuto.model.effects import ResolveChild, SetTimer, StartAttempt
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.inputs import AttemptLost
from tenuto.store.protocol import Orphan, Store, WaitKey

log = logging.getLogger("tenuto.recovery")

BATCH = 500


class Recovery:
    """Start-up: reads what is owned and what is due, never what is merely stored."""

    def __init__(
        self,
        *,
        store: Store,
        loader: Loader,
        hold: Callable[[str, Held], None],
        timekeeper: Timekeeper,
        postmaster: Postmaster,
        report: Callable[[Request], None],
        resolve: Callable[[str, str, ResolveChild], None],
    ) -> None:
        self._store = store
        self._loader = loader
        self._hold = hold
        self._timekeeper = timekeeper
        self._postmaster = postmaster
        self._report = report
        self._resolve = resolve

    async def run(self) -> int:
        """Take over what has no living owner; returns how many instances that were."""
        taken_over = await self._take_over()
        await self._finish_matching()
        await self._finish_looking_back()
        return taken_over

    async def _take_over(self) -> int:
        count = 0
        while True:
            orphans = await self._store.claim_orphans(BATCH)
            if not orphans:
                return count
            loaded = await self._loader.load([orphan.instance_id for orphan in orphans])
            for orphan in orphans:
                found = loaded.get(orphan.instance_id)
                if isinstance(found, Held):
                    self._go_on(orphan, found)
                else:
                    log.error("instance %s is left alone: %s", orphan.instance_id, found)
            count += len(orphans)

    def _go_on(self, orphan: Orphan, held: Held) -> None:
        held.is_owned = True
        self._hold(orphan.instance_id, held)
        for effect in outstanding(held.plan, held.state):
            if isinstance(effect, StartAttempt):
                lost = AttemptLost(
                    node=effect.node,
                    iteration=effect.iteration,
                    attempt=effect.attempt,
                    clean=orphan.clean,
                )
                self._report(Request(orphan.instance_id, lost))
            elif isinstance(effect, ResolveChild):
                self._resolve(orphan.instance_id, held.tenant, effect)
            elif isinstance(effect, SetTimer):
                self._timekeeper.set(orphan.instance_id, effect)

    async def _finish_matching(self) -> None:
        while events := await self._store.unmatched_events(BATCH):
            for number, event in events:
                await self._postmaster.match(number, event)

    async def _finish_looking_back(self) -> None:
        left_alone: set[WaitKey] = set()
        while True:
            found = await self._store.unlooked_waits(BATCH + len(left_alone))
            waits = {key: wait for wait in found if (key := key_of(wait)) not in left_alone}
            if not waits:
                return
            outcomes = await asyncio.gather(
                *(self._postmaster.look_back(wait) for wait in waits.values()),
                return_exceptions=True,
            )
            for key, outcome in zip(waits, outcomes, strict=True):
                if isinstance(outcome, TenutoError) and not isinstance(outcome, StoreUnavailable):
                    log.error("the wait %s is left alone: %s", key, outcome)
                    left_alone.add(key)
                elif isinstance(outcome, BaseException):
                    raise outcome
