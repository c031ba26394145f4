"""How many tasks waited, minute by minute: sampled by this process, and kept in its memory alone.

The store has the tasks that wait now, not those that did: a process that starts has no samples.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from tenuto.model.errors import TenutoError
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.workspace.source import Source
from tenuto.workspace.stats import MOST

EVERY: Final = 10.0
"""Seconds between samples."""
_KEPT: Final = timedelta(hours=24)
_ASKED_WITHIN: Final = timedelta(hours=1)
"""The tenants that are sampled: those whose charts were looked at lately, and the default one."""
_MOST_TENANTS: Final = 100


class QueueDepths:
    """The highest number of unclaimed tasks of each minute, by tenant."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._depths: OrderedDict[str, dict[int, int]] = OrderedDict({DEFAULT_TENANT: {}})
        self._asked: dict[str, datetime] = {}

    async def of(self, tenant: str) -> Mapping[int, int]:
        """By minute since 1970; from the first call on the tenant is sampled."""
        self._asked[tenant] = self._source.clock.now()
        if tenant not in self._depths:
            self._depths[tenant] = {}
            await self._sample(tenant)
        self._depths.move_to_end(tenant)
        while len(self._depths) > _MOST_TENANTS:
            gone, _ = self._depths.popitem(last=False)
            self._asked.pop(gone, None)
        return self._depths[tenant]

    async def run(self) -> None:
        """Sample until it is cancelled."""
        clock = self._source.clock
        while True:
            since = clock.now() - _ASKED_WITHIN
            for tenant in [*self._depths]:
                asked = self._asked.get(tenant)
                if tenant == DEFAULT_TENANT or (asked is not None and asked >= since):
                    await self._sample(tenant)
            await clock.sleep(EVERY)

    async def _sample(self, tenant: str) -> None:
        try:
            found = await self._source.store.seen_by(tenant).stats.waiting_jobs(tenant, MOST)
        except TenutoError:
            return
        depths = self._depths.setdefault(tenant, {})
        now = self._source.clock.now()
        minute = int(now.timestamp()) // 60
        depths[minute] = max(depths.get(minute, 0), found.jobs)
        oldest = int((now - _KEPT).timestamp()) // 60
        for each in [each for each in depths if each < oldest]:
            del depths[each]
