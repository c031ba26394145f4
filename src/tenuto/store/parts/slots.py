"""Slots: who holds one, who waits for one, and the transaction that grants them to waiting rows.

A turn takes a slot where there is room and no row waits; else it asks, and a pass (`admit`) grants.
Both count under one lock, so that a limit is never exceeded, however many processes ask. What turns
give back is taken back by the next pass; a crash between the two leaves rows that the pass finds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

import msgspec

from tenuto.model.durations import epoch_ms
from tenuto.model.slots import ConcurrencyConfig, QueueConfig, QueueOrder
from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Ask, Parameters, Script, Value
from tenuto.store.cold.rows import columns_of, records_of
from tenuto.store.errors import DataRefused
from tenuto.store.marks import for_tenants, writes
from tenuto.store.parts.admission import MOST_COUNTED, Pass, rank_slots
from tenuto.store.parts.slot_rows import (
    LOWEST,
    MOST_EXAMINED,
    SERVICE,
    Admission,
    ConcurrencyRow,
    PaceState,
    QueuePlace,
    QueueRuleRow,
    Slot,
    SlotsMark,
)

MOST_NUMBERED = 100_000
"""Instances that wait behind so many others have no number."""
MOST_HELD = 1_000
"""So many slots of a tenant are looked at, the oldest, for holders of a limit."""
_encode = msgspec.json.Encoder().encode


class Slots(ColdPart):
    """Requests for slots, and limits. Turns insert and delete requests."""

    @writes
    async def admit(
        self,
        now: datetime,
        *,
        most: int = MOST_EXAMINED,
        process_id: str | None = None,
        keeps_slots: bool = False,
    ) -> Admission:
        """Take back released slots and grant those that fit, in one transaction.

        `keeps_slots`: a part of those of the service is kept for tenants that hold less than their
        share.

        A granted waiter gets a mailbox message: for the owner of its instance, else for the process
        that asked for the slot, if it lives, else for `process_id`. A pass that is repeated finds
        what is left.
        """
        made = partial(Pass, now, most, process_id=process_id, keeps_slots=keeps_slots)
        return await self._port.transaction(lambda: made().script(), is_pass=True)

    @writes
    async def admit_apart(
        self, now: datetime, *, process_id: str | None = None, keeps_slots: bool = False
    ) -> Slot | None:
        """Passes that look at fewer rows each time, where the store refuses what `admit` writes.

        None as soon as one of them is made; else the row whose pass alone is refused. DataRefused
        where a pass that looks at no row is refused too.
        """
        looked_at: list[Slot] = []

        def script(most: int, *, grants: bool) -> Script[Admission]:
            nonlocal looked_at
            made = Pass(now, most, process_id=process_id, keeps_slots=keeps_slots, grants=grants)
            looked_at = made.looked_at
            return made.script()

        most = MOST_EXAMINED
        while most := most // 2:
            with suppress(DataRefused):
                await self._port.transaction(partial(script, most, grants=True), is_pass=True)
                if looked_at:
                    return None
                break
        found = looked_at
        await self._port.transaction(partial(script, 1, grants=False), is_pass=True)
        if not found:
            raise DataRefused("it is no row that a pass looks at")
        return found[0]

    @for_tenants
    async def of(self, tenant: str, instance_id: str) -> list[Slot]:
        """The slots that an instance and its steps hold or wait for."""
        return await self._found(Slot, "slots_of", {"tenant": tenant, "instance_id": instance_id})

    @for_tenants
    async def waiting(
        self, tenant: str, *, after: Slot | None = None, limit: int = 100
    ) -> list[Slot]:
        """The rows of a tenant that wait, in their order: instances, and steps with a mutex."""
        which: dict[str, Value] = {
            **_behind(tenant, None if after is None else after.queue_place),
            "node": "" if after is None else after.node,
            "iteration": "" if after is None else after.iteration,
            "limit": limit,
        }
        return await self._found(Slot, "slots_waiting_of", which)

    @for_tenants
    async def waiting_instances(
        self,
        tenant: str,
        *,
        definition_id: str | None = None,
        after: QueuePlace | None = None,
        limit: int = 100,
    ) -> list[Slot]:
        """The instances of a tenant that wait, in their order."""
        which = {**_behind(tenant, after), "definition_id": definition_id or "", "limit": limit}
        return await self._found(Slot, "instances_waiting_of", which)

    @for_tenants
    async def numbers(
        self,
        tenant: str,
        definition_id: str,
        *,
        after: QueuePlace | None = None,
        limit: int = 100,
        most: int = MOST_NUMBERED,
    ) -> dict[str, int]:
        """Of the first waiting instances of a workflow behind a row: their numbers among all.

        The next instance behind the row, of whatever workflow, has number 1. Those behind so many
        are left out.
        """
        which: dict[str, Value] = {
            **_behind(tenant, after),
            "definition_id": definition_id,
            "limit": limit,
            "most": most,
        }
        return dict(await self._port.rows("numbers_in_queue", which))

    @for_tenants
    async def place_in_queue(self, slot: Slot, *, most: int = MOST_NUMBERED) -> int | None:
        """The place of an instance among all of its tenant that wait; None: behind so many."""
        which: dict[str, Value] = {**_behind(slot.tenant, slot.queue_place), "most": most}
        [(before,)] = await self._port.rows("place_in_queue", which)
        return None if before >= most else before + 1

    @for_tenants
    async def place(self, slot: Slot) -> tuple[int, int]:
        """The place of a waiting row among those of its tenant that wait for the same limit."""
        which: dict[str, Value] = {
            "key": slot.blocked_on,
            "tenant": slot.tenant,
            "rank_class": slot.rank_class,
            "rank": slot.rank,
            "instance_id": slot.instance_id,
            "node": slot.node,
            "iteration": slot.iteration,
            "most": MOST_COUNTED,
        }
        [(before, all_of_them)] = await self._port.rows("place_in_line", which)
        return before + 1, max(all_of_them, before + 1)

    @for_tenants
    async def held(self, tenant: str, *, limit: int = MOST_HELD) -> list[Slot]:
        """The slots that are held for a tenant, the oldest first."""
        return await self._found(Slot, "slots_held", {"tenant": tenant, "limit": limit})

    @for_tenants
    async def holders(self, tenant: str, key: str, *, limit: int = 5) -> list[Slot]:
        """Some slots of a tenant that are held of a limit, the oldest first.

        Of a limit that many instances share they are found among its 1,000 oldest slots.
        """
        if key.partition(":")[0] in ("key", "mutex"):
            which: dict[str, Value] = {"tenant": tenant, "own_key": key, "limit": limit}
            return await self._found(Slot, "holders_of_key", which)
        return [each for each in await self.held(tenant) if key in each.keys][:limit]

    @for_tenants
    async def lines(self, tenant: str, keys: Sequence[str], most: int) -> dict[str, int]:
        """How many rows of a tenant wait for each of these limits, up to so many of each."""
        which: dict[str, Value] = {"tenant": tenant, "keys": list(keys), "most": most}
        return dict(await self._port.rows("lines_of", which))

    async def counts(self, keys: Sequence[str]) -> dict[str, int]:
        """How many slots of these limits are taken."""
        found = await self._port.rows("counts_of", {"keys": list(keys)})
        return {key: taken for key, taken, _ in found if taken}

    async def paces(self, keys: Sequence[str]) -> dict[str, PaceState]:
        """What is known of keys of `debounce` and `rate`."""
        found = await self._port.rows("pace_states", {"keys": list(keys)})
        return {key: PaceState(next_at, document) for key, next_at, document in found}

    async def of_key(self, own_key: str, most: int) -> int:
        """How many instances hold a slot of a key of `options.concurrency`, or ask for one."""
        [(found,)] = await self._port.rows("slots_of_key", {"own_key": own_key, "most": most})
        return int(found)

    async def counts_below(self, prefix: str, limit: int = 1_000) -> dict[str, int]:
        """How many slots are taken of the limits whose keys begin so, up to so many limits."""
        which = {"first": prefix, "last": prefix + "\U0010ffff", "limit": limit}
        return dict(await self._port.rows("counts_below", which))

    async def waiting_tenants(self) -> list[str]:
        """The tenants that have rows that wait."""
        return [tenant for (tenant,) in await self._port.rows("tenants_that_wait", {})]

    async def depth(self, most: int = MOST_COUNTED) -> int:
        """How many instances of all tenants wait, up to so many."""
        [(waiting,)] = await self._port.rows("slots_depth", {"most": most})
        return int(waiting)

    @for_tenants
    async def depth_of(self, tenant: str, most: int) -> int:
        """How many instances of a tenant wait, up to so many."""
        [(waiting,)] = await self._port.rows("slots_depth_of", {"tenant": tenant, "most": most})
        return int(waiting)

    async def depths(self, most: int = MOST_COUNTED) -> dict[str, int]:
        """How many rows of all tenants wait or are debounced, by the kind of limit; see `KINDS`."""
        return dict(await self._port.rows("slots_depths", {"most": most}))

    @writes
    @for_tenants
    async def promote(self, tenant: str, instance_id: str, now: datetime) -> bool:
        """Let an instance go before those that were not promoted; False: it does not wait."""
        which = {"tenant": tenant, "instance_id": instance_id, "rank": epoch_ms(now)}
        return await self._changed("promote_slot", which)

    @writes
    @for_tenants
    async def hold(self, tenant: str, instance_id: str) -> bool:
        """Keep a waiting instance from being admitted; False: it does not wait."""
        which = {"tenant": tenant, "instance_id": instance_id}
        return await self._changed("hold_back_slot", which)

    @writes
    @for_tenants
    async def let_go(self, tenant: str, instance_id: str) -> bool:
        """Let an instance that was kept back wait again; False: there is none."""
        which = {"tenant": tenant, "instance_id": instance_id}
        return await self._changed("let_slot_go", which)

    async def _changed(self, name: str, which: Parameters) -> bool:
        """Whether a statement changes a row; not while a pass does, which leaves such rows out."""

        def script() -> Script[bool]:
            yield Ask("lock_concurrency", {})
            return bool((yield Ask(name, which)))

        return await self._port.transaction(script)

    async def queue_rules(self, tenant: str | None = None) -> list[QueueRuleRow]:
        """The rules of a tenant's queue, or of all tenants, oldest first."""
        if tenant is None:
            found = await self._found(QueueRuleRow, "all_queue_rules", {})
        else:
            found = await self._found(QueueRuleRow, "queue_rules", {"tenant": tenant})
        return sorted(found, key=lambda rule: (rule.tenant, rule.created_at, rule.id))

    @writes
    async def put_queue_rule(self, row: QueueRuleRow, *, most: int) -> bool:
        """Save a rule; False where the tenant has so many others. One that is there stays."""

        def script() -> Script[bool]:
            yield Ask("lock_concurrency", {})
            found = yield Ask("queue_rules", {"tenant": row.tenant})
            ids = {each.id for each in records_of(QueueRuleRow, found)}
            if row.id not in ids and len(ids) >= most:
                return False
            yield Ask("put_queue_rule", {**columns_of(row), "is_hold": int(row.is_hold)})
            yield Ask("count_change", {"is_ordered": 1})
            return True

        return await self._port.transaction(script)

    @writes
    async def remove_queue_rule(self, tenant: str, id: str) -> bool:
        """Remove a rule; False: there is none."""

        def script() -> Script[bool]:
            yield Ask("lock_concurrency", {})
            if not (yield Ask("remove_queue_rule", {"tenant": tenant, "id": id})):
                return False
            yield Ask("count_change", {"is_ordered": 1})
            return True

        return await self._port.transaction(script)

    @writes
    async def apply_queue_rule(self, row: QueueRuleRow, instance_ids: Sequence[str]) -> None:
        """Do what a rule says to some waiting instances of its tenant."""

        def script() -> Script[None]:
            [(document, _, _)] = yield Ask("lock_concurrency", {})
            queue = msgspec.json.decode(bytes(document), type=ConcurrencyConfig).queue
            which: dict[str, Value] = {"tenant": row.tenant, "instance_ids": list(instance_ids)}
            if row.priority is not None:
                yield Ask("prioritise_slots", {**which, "priority": row.priority})
                yield rank_slots(queue, list(instance_ids))
            if row.is_hold:
                yield Ask("hold_back_slots", which)

        await self._port.transaction(script)

    async def mark(self) -> SlotsMark:
        """The number of the newest change of limits."""
        [(changes, has_work, next_at)] = await self._port.rows("slots_mark", {})
        return SlotsMark(changes, bool(has_work), next_at)

    async def are_waited_for(self) -> bool:
        """Whether any row waits."""
        [(is_one_waiting,)] = await self._port.rows("slots_are_waited_for", {})
        return bool(is_one_waiting)

    async def configs(self) -> list[ConcurrencyRow]:
        """The limits of the service and of all tenants that have some."""
        return await self._found(ConcurrencyRow, "concurrency_rows", {})

    @writes
    async def put_configs(
        self, rows: Sequence[ConcurrencyRow], versions: Mapping[str, int]
    ) -> bool:
        """Set limits in one transaction; False unless each name in `versions` has that version.

        A name without limits has version 0. The next passes look at what waits again, and put it
        into the order that is set.
        """

        def script() -> Script[bool]:
            [(document, _, _)] = yield Ask("lock_concurrency", {})
            before = msgspec.json.decode(bytes(document), type=ConcurrencyConfig).queue
            found = yield Ask("concurrency_versions", {})
            present: dict[str, int] = dict(found)
            if any(present.get(name, 0) != version for name, version in versions.items()):
                return False
            is_ordered = True
            for row in rows:
                which: dict[str, Value] = {
                    "tenant": row.tenant,
                    "document": row.document,
                    "version": row.version,
                    "changed_at": epoch_ms(row.changed_at),
                    "changed_by": row.changed_by,
                }
                yield Ask("put_concurrency", which)
                if row.tenant == SERVICE:
                    queue = msgspec.json.decode(row.document, type=ConcurrencyConfig).queue
                    is_ordered = _order(queue) == _order(before)
            yield Ask("count_change", {"is_ordered": int(is_ordered)})
            # The rows stay where they are parked: the next pass looks at the first of each line.
            parked = yield Ask("keys_parked_on", {})
            if parked:
                keys = [key for (key,) in parked]
                yield Ask("free_again", {"keys": _encode(keys).decode()})
            return True

        return await self._port.transaction(script)


def _behind(tenant: str, after: QueuePlace | None) -> dict[str, Value]:
    """Where a page of the queue of a tenant begins."""
    return {"tenant": tenant, **(after or QueuePlace(-1, LOWEST, ""))._asdict()}


def _order(queue: QueueConfig) -> tuple[QueueOrder, int]:
    return queue.order, queue.aging_ms
