"""The limits of the service and of all tenants, as this process knows them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import msgspec

from tenuto.engine.shared import Shared
from tenuto.model.errors import StoreUnavailable
from tenuto.model.slots import ANY, ConcurrencyConfig, SlotRules
from tenuto.store.parts.slots import SERVICE, ConcurrencyRow, SlotsMark

_NOTHING = ConcurrencyConfig()


class KnownLimits:
    """Read when the engine opens, and again with a heartbeat after which they have changed."""

    def __init__(self, shared: Shared) -> None:
        self._store = shared.store
        self._versions = 0
        self._rows: dict[str, ConcurrencyRow] = {}
        self._configs: dict[str, ConcurrencyConfig] = {}
        self._rules: SlotRules | None = None
        """Of tenants that some limit counts; None: no limit is set at all."""
        self.has_work: Callable[[], None] = lambda: None
        """Called when rows wait that no pass of this process may know of."""

    def rules(self, tenant: str) -> SlotRules | None:
        """Whether instances of a tenant need slots; the same value until something changes."""
        rules = self._rules
        if rules is None:
            return None
        service = self._configs.get(SERVICE, _NOTHING)
        is_counted = (
            service.global_max_concurrent is not None
            or tenant in service.tenant_limits
            or ANY in service.tenant_limits
            or self._configs.get(tenant, _NOTHING).has_limits
        )
        return rules if is_counted else None

    @property
    def bound(self) -> int | None:
        """The most instances that may wait; None: any number."""
        return None if self._rules is None else self.config(SERVICE).queue.bound

    def config(self, tenant: str) -> ConcurrencyConfig:
        """The limits that are set under a name."""
        return self._configs.get(tenant, _NOTHING)

    def row(self, tenant: str) -> ConcurrencyRow | None:
        return self._rows.get(tenant)

    async def look(self) -> None:
        """With each heartbeat: learn of changes, and of rows that a dead process left."""
        mark: SlotsMark = await self._store.slots.mark()
        if mark.versions != self._versions:
            await self.read()
        if mark.has_work:
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
        self._rows = {row.tenant: row for row in rows}
        self._configs = {
            row.tenant: msgspec.json.decode(row.document, type=ConcurrencyConfig) for row in rows
        }
        queue = self._configs.get(SERVICE, _NOTHING).queue
        has_limits = any(each.has_limits for each in self._configs.values())
        rules = SlotRules(order=queue.order, aging_ms=queue.aging_ms)
        if not has_limits:
            self._rules = None
        elif self._rules != rules:
            self._rules = rules
        self._versions = mark.versions
