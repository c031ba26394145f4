"""The limits of the service and of all tenants, as this process knows them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from tenuto.core import Plan
from tenuto.engine.shared import Shared
from tenuto.model.durations import epoch_ms
from tenuto.model.errors import StoreUnavailable
from tenuto.model.slots import ConcurrencyConfig, QueueRule, SlotRules
from tenuto.store.parts.limits import Limits
from tenuto.store.parts.slot_rows import SERVICE, ConcurrencyRow, SlotsMark

_NOTHING = ConcurrencyConfig()


class KnownLimits:
    """Read when the engine opens, and again with a heartbeat after which they have changed."""

    def __init__(self, shared: Shared) -> None:
        self._store = shared.store
        self._clock = shared.clock
        self._has_looked = False
        self.changes = 0
        """The number of the newest change that this process knows."""
        self.limits = Limits(())
        self._queue_rules: dict[str, tuple[QueueRule, ...]] = {}
        self._ruled: dict[str, SlotRules] = {}
        """Of tenants that have rules of the queue."""
        self._rows: dict[str, ConcurrencyRow] = {}
        self._configs: dict[str, ConcurrencyConfig] = {}
        self._rules: SlotRules | None = None
        """Of tenants that some limit counts; None: no limit is set at all."""
        self.has_work: Callable[[], None] = lambda: None
        """Called when rows wait that no pass of this process may know of."""
        self.heard: list[Callable[[], None]] = []
        """Called when limits were read anew."""
        self._asked: int | None = None
        """The adaptive limit that is in force, as this process knows it."""

    def rules(self, tenant: str) -> SlotRules | None:
        """Whether instances of a tenant need slots; the same value until something changes."""
        own = self._queue_rules.get(tenant)
        is_counted = self._rules is not None and self._counts_tenant(tenant)
        if own is None:
            return self._rules if is_counted else None
        kept = self._ruled.get(tenant)
        if kept is None:
            rules = self._rules or SlotRules()
            kept = replace(rules, is_counted=is_counted, rules=own)
            self._ruled[tenant] = kept
        return kept

    def _counts_tenant(self, tenant: str) -> bool:
        service = self._configs.get(SERVICE, _NOTHING)
        return service.counts(tenant) or self._configs.get(tenant, _NOTHING).has_limits

    def counts(self, plan: Plan, tenant: str) -> bool:
        """Whether an instance of this definition needs a slot before it begins."""
        options = plan.definition.options
        is_paced = options.debounce is not None or options.rate is not None
        if is_paced or options.concurrency is not None:
            return True
        return self._rules is not None and self._counts_tenant(tenant)

    @property
    def bound(self) -> int | None:
        """The most instances that may wait; None: any number."""
        return self.config(SERVICE).queue.bound

    def config(self, tenant: str) -> ConcurrencyConfig:
        """The limits that are set under a name."""
        return self._configs.get(tenant, _NOTHING)

    def row(self, tenant: str) -> ConcurrencyRow | None:
        return self._rows.get(tenant)

    async def look(self) -> None:
        """With each heartbeat: learn of changes, and of rows that a dead process left."""
        mark: SlotsMark = await self._store.slots.mark()
        if mark.changes != self.changes:
            await self.read()
        due = mark.next_at
        if due is not None and self._has_looked:
            # The process that waited for this moment may have died.
            due = due if due <= epoch_ms(self._clock.now()) else None
        self._has_looked = True
        if mark.has_work or due is not None:
            self.has_work()

    async def changed(self) -> None:
        """This process has changed them: the others send a heartbeat, and learn of it."""
        await self.read()
        with suppress(StoreUnavailable):  # they learn of it with their next heartbeat
            await self._store.members.hint(())

    async def read(self) -> None:
        """Read them all."""
        mark = await self._store.slots.mark()
        rows = await self._store.slots.configs()
        queue_rules = await self._store.slots.queue_rules()
        if mark.changes < self.changes:
            return  # another call has read newer ones meanwhile
        # Nothing is awaited from here on: what is known belongs to one number of changes.
        self._rows = {row.tenant: row for row in rows}
        self._configs = {
            row.tenant: msgspec.json.decode(row.document, type=ConcurrencyConfig) for row in rows
        }
        self.limits = Limits((row.tenant, row.document) for row in rows)
        by_tenant: dict[str, list[QueueRule]] = {}
        for rule in queue_rules:
            made = QueueRule(
                id=rule.id, when=rule.expression, priority=rule.priority, hold=rule.is_hold
            )
            by_tenant.setdefault(rule.tenant, []).append(made)
        self._queue_rules = {tenant: tuple(found) for tenant, found in by_tenant.items()}
        self._ruled = {}
        self.limits.adapt(self._asked)
        queue = self._configs.get(SERVICE, _NOTHING).queue
        has_limits = any(each.has_limits for each in self._configs.values())
        rules = SlotRules(order=queue.order, aging_ms=queue.aging_ms)
        if not has_limits:
            self._rules = None
        elif self._rules != rules:
            self._rules = rules
        self.changes = mark.changes
        for heard in self.heard:
            heard()

    def adapt(self, in_force: int | None) -> None:
        """The adaptive limit has changed; None: it is not known."""
        self._asked = in_force
        self.limits.adapt(in_force)
