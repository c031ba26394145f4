"""Forgets instances that have ended and are kept no longer, each with all that is below it."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from msgspec import Struct

from tenuto.engine.plans import Plans
from tenuto.model.durations import Duration
from tenuto.model.errors import TenutoError
from tenuto.model.status import FINAL
from tenuto.ports import Clock
from tenuto.store.erasing_protocol import CAREFULLY, Erasure
from tenuto.store.protocol import InstanceQuery, InstanceRow, Store

log = logging.getLogger("tenuto.retention")

BATCH = 100
"""Roots that are forgotten together: nobody waits for more than that."""
_PAGE = 500
_PAGES = 20
"""Pages that one pass looks at for one length of time; the next goes on from there."""
_STATUSES = tuple(sorted(FINAL))


class Rule(Struct, frozen=True):
    """How long instances are kept after their end."""

    keep: Duration
    definition_id: str | None = None
    """None: all of definitions that do not say so themselves."""


class Forgetter:
    """Goes through instances that have ended, a batch at a time."""

    def __init__(
        self,
        *,
        store: Store,
        plans: Plans,
        clock: Clock,
        keep: timedelta | None,
        tenant: str = "default",
    ) -> None:
        """`keep` is for definitions that have no `options.retention`; None: for ever."""
        self._store = store
        self._plans = plans
        self._clock = clock
        self._keep = None if keep is None else Duration(keep)
        self._tenant = tenant
        self._places: dict[str | None, str] = {}
        """Where the pass before had come to, by definition."""

    async def run_once(self) -> int:
        """Forget some of what is old, by the rules of definitions and of the server; how many."""
        gone = 0
        rules = await self._rules()
        for rule in rules:
            place = self._places.pop(rule.definition_id, None)
            count, place = await self._apply(rule, rules, CAREFULLY, place, pages=_PAGES)
            if place is not None:
                self._places[rule.definition_id] = place
            gone += count
        if gone:
            log.info("forgot %d instances that ended long ago", gone)
        return gone

    async def prune(self, manner: Erasure, older_than: Duration | None = None) -> int:
        """Forget all that is old: by the rules, or what ended so long ago; how many roots."""
        rules = await self._rules() if older_than is None else [Rule(older_than)]
        gone = 0
        for rule in rules:
            gone += (await self._apply(rule, rules, manner, None, pages=None))[0]
        return gone

    async def _rules(self) -> list[Rule]:
        """What the newest versions of definitions say, and then what holds for all others."""
        rules = [] if self._keep is None else [Rule(self._keep)]
        for id in await self._store.definition_ids(self._tenant):
            try:
                deployed = await self._plans.get(self._tenant, id)
            except TenutoError:
                # It was removed, or a newer program wrote it: it has nothing to say here.
                continue
            keep = deployed.plan.definition.options.retention
            if keep is not None:
                rules.append(Rule(keep, id))
        return rules

    async def _apply(
        self, rule: Rule, rules: list[Rule], manner: Erasure, after: str | None, pages: int | None
    ) -> tuple[int, str | None]:
        """How many went, and where to go on."""
        before = rule.keep.before(self._clock.now())
        others = {each.definition_id for each in rules} - {None, rule.definition_id}
        gone = seen = 0
        while pages is None or seen < pages:
            page = await self._store.instances(
                InstanceQuery(
                    statuses=_STATUSES,
                    definition_id=rule.definition_id,
                    # What ended before then was created before then.
                    created_before=before,
                    tenant=self._tenant,
                    limit=_PAGE,
                    after=after,
                )
            )
            old = [
                row.id
                for row in page.items
                if _is_old_root(row, before) and row.definition_id not in others
            ]
            gone += await self._erase(old, manner)
            seen, after = seen + 1, page.next_after
            if after is None:
                break
        return gone, after

    async def _erase(self, ids: list[str], manner: Erasure) -> int:
        gone = 0
        for first in range(0, len(ids), BATCH):
            erased = await self._store.erase_instances(
                self._tenant,
                ids[first : first + BATCH],
                manner,
            )
            gone += len(erased)
        return gone


def _is_old_root(row: InstanceRow, before: datetime) -> bool:
    return row.root_id is None and (row.completed_at or row.updated_at) < before
