"""Retention of instances: deletes ended ones after their time, with their children."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection
from datetime import datetime, timedelta

from msgspec import Struct

from tenuto.engine.definitions.plans import Plans
from tenuto.model.durations import Duration
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.status import FINAL
from tenuto.ports import Clock
from tenuto.store.parts.instances import CAREFULLY, Erasure, InstanceQuery, InstanceRow
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.retention")

BATCH = 100
"""Roots that are deleted together, so that other writes do not wait for long."""
_PAGE = 500
PAGES = 400
"""The most pages of one pass, of all tenants together; the next pass continues."""
_STATUSES = tuple(sorted(FINAL))


class Rule(Struct, frozen=True):
    """How long instances are kept after their end."""

    keep: Duration
    definition_id: str | None = None
    """None: all definitions without a rule of their own."""


class _Walk(Struct):
    """The progress of one tenant through its rules."""

    tenant: str
    rules: list[Rule]
    number: int = 0
    """Of the rule."""
    after: str | None = None
    """Where its next page begins."""

    @property
    def is_over(self) -> bool:
        return self.number >= len(self.rules)

    def resume(self, definition_id: str | None, after: str) -> None:
        """Continue where the last pass ended, if there still is such a rule."""
        ids = [rule.definition_id for rule in self.rules]
        if definition_id in ids:
            self.number, self.after = ids.index(definition_id), after


class InstanceRetention:
    """Goes through ended instances, a page of each tenant in turn."""

    def __init__(
        self,
        *,
        store: Store,
        plans: Plans,
        clock: Clock,
        keep: timedelta | None,
        pages: int = PAGES,
    ) -> None:
        """`keep` is for definitions that have no `options.retention`; None: for ever."""
        self._store = store
        self._plans = plans
        self._clock = clock
        self._keep = None if keep is None else Duration(keep)
        self._pages = pages
        self._places: dict[str, tuple[str | None, str]] = {}
        """Where the last pass ended, by tenant: the definition of the rule, and the last
        instance."""

    async def run_once(self) -> int:
        """Delete some expired instances, by the rules of definitions and of the server; how many.

        Tenants take turns, so that one with many does not delay the others.
        """
        places, self._places = self._places, {}
        walks: deque[_Walk] = deque()
        for tenant in await self._store.upkeep.tenants():
            walk = _Walk(tenant, await self._rules(tenant))
            if tenant in places:
                walk.resume(*places[tenant])
            walks.append(walk)
        gone = await self._go_through(walks, CAREFULLY, self._pages)
        for walk in walks:
            if walk.after is not None:
                self._places[walk.tenant] = (walk.rules[walk.number].definition_id, walk.after)
        if gone:
            log.info("retention: deleted %d instances that ended long ago", gone)
        return gone

    async def prune(
        self,
        manner: Erasure,
        older_than: Duration | None = None,
        tenants: Collection[str] | None = None,
    ) -> int:
        """Delete all expired instances, by the rules or by the age of their end; how many roots."""
        walks: deque[_Walk] = deque()
        for tenant in await self._store.upkeep.tenants() if tenants is None else tenants:
            rules = await self._rules(tenant) if older_than is None else [Rule(older_than)]
            walks.append(_Walk(tenant, rules))
        return await self._go_through(walks, manner, None)

    async def _go_through(self, walks: deque[_Walk], manner: Erasure, pages: int | None) -> int:
        """A page of each in turn, so many at most; unfinished walks stay in the list."""
        gone = seen = 0
        while walks and (pages is None or seen < pages):
            walk = walks.popleft()
            if walk.is_over:
                continue
            try:
                gone += await self._page(walk, manner)
            except StoreUnavailable:
                raise
            except TenutoError as error:
                log.warning(
                    "retention: tenant=%s: instances are deleted later: %s", walk.tenant, error
                )
                continue
            seen += 1
            walks.append(walk)
        return gone

    async def _rules(self, tenant: str) -> list[Rule]:
        """The rules of the newest versions of definitions, and then the general one."""
        rules = [] if self._keep is None else [Rule(self._keep)]
        for id in await self._store.definitions.ids(tenant):
            try:
                deployed = await self._plans.get(tenant, id)
            except TenutoError:
                # It was removed, or a newer program wrote it: it has no rule here.
                continue
            keep = deployed.plan.definition.options.retention
            if keep is not None:
                rules.append(Rule(keep, id))
        return rules

    async def _page(self, walk: _Walk, manner: Erasure) -> int:
        """Delete expired instances of the next page of a walk; how many."""
        rule = walk.rules[walk.number]
        before = rule.keep.before(self._clock.now())
        others = {each.definition_id for each in walk.rules} - {None, rule.definition_id}
        page = await self._store.instances.page(
            InstanceQuery(
                statuses=_STATUSES,
                definition_id=rule.definition_id,
                # An instance that ended before then was created before then.
                created_before=before,
                tenant=walk.tenant,
                limit=_PAGE,
                after=walk.after,
            )
        )
        walk.after = page.next_after
        if walk.after is None:
            walk.number += 1
        old = [
            row.id
            for row in page.items
            if _is_old_root(row, before) and row.definition_id not in others
        ]
        gone = 0
        for first in range(0, len(old), BATCH):
            batch = old[first : first + BATCH]
            gone += len(await self._store.instances.erase(walk.tenant, batch, manner))
        return gone


def _is_old_root(row: InstanceRow, before: datetime) -> bool:
    return row.root_id is None and (row.completed_at or row.updated_at) < before
