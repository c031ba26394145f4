"""Instances from the store into memory: the snapshot, and the log since."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from tenuto.core import InstanceState, Plan, blank, fold_all
from tenuto.core.snapshot import decode, references
from tenuto.engine.batcher import Batcher
from tenuto.engine.definitions.large_documents import LargeDocuments
from tenuto.engine.definitions.plans import Plans
from tenuto.engine.turns.draft import size_of_rows
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.long_folds import LongFolds
from tenuto.engine.turns.note import LOADING, DecisionStopped
from tenuto.engine.turns.quarantine import Quarantine
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.log import LogRow, UnknownEntry, from_row
from tenuto.model.status import Status
from tenuto.store.parts.turns import StoredInstance
from tenuto.store.parts.upkeep import ROW_BYTES
from tenuto.store.protocol import Store

_LONG: Final = 1_000
"""Entries without a snapshot from which on what was folded is kept for the next look."""
_MOST_KEPT: Final = 4
"""How many of these."""
_HEAVY: Final = 10_000
"""Parts of a state from which on it is not kept."""
_PART_ROWS: Final = 30
"""So many entries are folded between two pauses: one or two milliseconds. A query of looks folds
so many of a tenant itself; its other looks wait for each other, and others do not for them."""
_PART_BYTES: Final = 200_000
"""Fewer, where they are larger than that together."""
_NOTHING: Mapping[str, InstanceState] = MappingProxyType({})


class Loader:
    """Rebuilds instances from their logs."""

    def __init__(
        self,
        store: Store,
        plans: Plans,
        quarantine: Quarantine | None = None,
        folds: LongFolds[Held | TenutoError] | None = None,
    ) -> None:
        """Without `quarantine` it is for a process that only reads.

        `folds`: for a process with others at work, in which a long log must not keep the loop.
        """
        self.process_id: str | None = None
        """The id of the owner of own instances; None for read-only use."""
        self._store = store
        self._plans = plans
        self._quarantine = quarantine
        self._folds = folds
        self._together = Batcher(self._load_in_order)
        self._looked_at: dict[str, InstanceState] = {}
        """Long logs that were folded to be shown, the latest last: pages are made of many looks."""

    @property
    def values(self) -> LargeDocuments:
        """Makes in a thread what takes long."""
        return self._plans.values

    async def look_at(self, instance_id: str) -> Held:
        """The current state of one instance; NotFound, or the reason why it cannot be read."""
        found = await self._together.ask(instance_id)
        if isinstance(found, asyncio.Task):
            assert self._folds is not None
            found = await self._folds.outcome(found)
        if found is None:
            raise NotFound(f"there is no instance {instance_id}")
        if not isinstance(found, Held):
            raise found
        return found

    async def pause(self, began: float, tenant: str) -> float:
        """Let others go on after a part of what a tenant looks at; when the next one begins."""
        return 0.0 if self._folds is None else await self._folds.pause(began, tenant)

    def now(self) -> float:
        """When a first part begins."""
        return 0.0 if self._folds is None else self._folds.now()

    async def stop(self, error: TenutoError) -> None:
        """End looks at long logs with `error`."""
        if self._folds is not None:
            await self._folds.stop(error)

    async def load(
        self,
        instance_ids: Sequence[str],
        known: Mapping[str, InstanceState] = _NOTHING,
        *,
        is_shown: bool = False,
    ) -> dict[str, Held | TenutoError]:
        """Instances by id; one that this program cannot read has an error in its place.

        From a `known` state that was durable once, only the log since then is folded. One that is
        quarantined can be loaded to be shown, and not to be worked for.
        """
        stored = await self._stored(instance_ids, known)
        loaded: dict[str, Held | TenutoError] = {}
        folds = self._folds if is_shown else None
        began, since = self.now(), 0
        for instance_id, instance in stored.items():
            cost = _cost(instance)
            if folds is not None and since and since + cost > _PART_ROWS:
                # A page is made of many.
                began, since = await folds.pause(began, instance.row.tenant), 0
            since += cost
            found = await self._read(instance, known.get(instance_id), is_shown=is_shown)
            if isinstance(found, StoreUnavailable):
                raise found
            loaded[instance_id] = found
        return loaded

    async def _stored(
        self, instance_ids: Sequence[str], known: Mapping[str, InstanceState]
    ) -> dict[str, StoredInstance]:
        """What the store has, with all of it where the log does not go on from what is known."""
        versions = {instance_id: state.version for instance_id, state in known.items()}
        stored = await self._store.turns.load(instance_ids, versions)
        gone_back = [id for id in stored if id in known and not _goes_on(stored[id], known[id])]
        if gone_back:
            stored |= await self._store.turns.load(gone_back)
        return stored

    async def _read(
        self, instance: StoredInstance, known: InstanceState | None, *, is_shown: bool
    ) -> Held | TenutoError:
        if known is not None and not _goes_on(instance, known):
            known = None
        id = instance.row.id
        try:
            self._refuse_quarantined(id, is_shown=is_shown)
            return await self._held(instance, known, is_shown=is_shown)
        except TenutoError as error:
            return error
        except UnknownEntry as error:
            message = f"instance {id} was written by a newer program: {error}"
            return TenutoError(message, code="TEN-4005")

    async def _load_in_order(
        self, ids: Sequence[str]
    ) -> list[asyncio.Task[Held | TenutoError] | Held | TenutoError | None]:
        kept = {id: self._looked_at[id] for id in ids if id in self._looked_at}
        stored = await self._stored(list(dict.fromkeys(ids)), kept)
        loaded: dict[str, asyncio.Task[Held | TenutoError] | Held | TenutoError] = {}
        folds, costs, since = self._folds, Counter[str](), 0
        for id, instance in stored.items():
            look = partial(self._looked, instance, kept.get(id))
            if folds is None:
                loaded[id] = await look()
                continue
            tenant, cost = instance.row.tenant, _cost(instance)
            if costs[tenant] + cost > _PART_ROWS or self._may_take_a_thread(instance):
                # The looks of others, in this query and the next one, do not wait for it: neither
                # for its parts nor, in a line of all tenants, for a thread.
                size = size_of_rows(instance.tail) + _snapshot_bytes(instance)
                loaded[id] = folds.begin(
                    tenant, id, _end_of(instance), look, short=None if _is_long(instance) else size
                )
                continue
            costs[tenant] += cost
            loaded[id] = await look()
            since += cost
            if since >= _PART_ROWS:
                # Without a rest: those of all tenants would wait for it.
                await folds.pause(0.0, None)
                since = 0
        return [loaded.get(id) for id in ids]

    def _may_take_a_thread(self, stored: StoredInstance) -> bool:
        """Whether its snapshot or its definition is read where others may be before it."""
        if _snapshot_bytes(stored) >= self.values.large:
            return True
        row = stored.row
        return self._plans.known(row.tenant, row.definition_id, row.definition_version) is None

    async def _looked(
        self, instance: StoredInstance, known: InstanceState | None
    ) -> Held | TenutoError:
        """An instance that is shown; a long log is kept folded for the next look."""
        id = instance.row.id
        found = await self._read(instance, known, is_shown=True)
        self._looked_at.pop(id, None)
        if isinstance(found, StoreUnavailable):
            raise found
        if isinstance(found, Held) and found.tail_entries >= _LONG:
            if found.state.weight < _HEAVY:
                self._looked_at[id] = found.state
            while len(self._looked_at) > _MOST_KEPT:
                del self._looked_at[next(iter(self._looked_at))]
        return found

    async def _held(
        self, stored: StoredInstance, known: InstanceState | None, *, is_shown: bool
    ) -> Held:
        row = stored.row
        if stored.unreadable is not None:
            raise stored.unreadable
        deployed = await self._plans.get(row.tenant, row.definition_id, row.definition_version)
        plan = deployed.plan
        state = await self._state(plan, stored, known, is_shown=is_shown)
        held = Held(state, plan, row.tenant)
        held.is_sealed = plan.encrypts or stored.is_sealed
        # The row may lag behind where a running instance was when its process died.
        held.is_projected = state.status is not Status.RUNNING
        held.is_owned = stored.owner is not None and stored.owner == self.process_id
        held.owner_elsewhere = None if held.is_owned else stored.owner
        held.was_left_clean = stored.was_left_clean
        held.jobs = {job.key[1:]: job.token for job in stored.jobs}
        held.is_fresh = True
        held.tail_entries = state.version - stored.state_version
        unread = held.tail_entries - len(stored.tail)
        held.tail_bytes = size_of_rows(stored.tail) + max(unread, 0) * ROW_BYTES
        held.snapshot_bytes = stored.state_bytes
        return held

    async def _state(
        self, plan: Plan, stored: StoredInstance, known: InstanceState | None, *, is_shown: bool
    ) -> InstanceState:
        rows: Sequence[LogRow] = stored.tail
        if known is not None and known.version >= stored.state_version:
            rows = [row for row in stored.tail if row.seq > known.version]
            state = known
        else:
            state = blank(stored.row.id)
            if stored.state is not None:
                seqs = references(stored.state)
                large = await self._store.instances.entries_at(stored.row.id, seqs) if seqs else []
                make = partial(decode, stored.state, {row.seq: from_row(row) for row in large})
                state = await self._decoded(stored, make, is_shown=is_shown)
        folds = self._folds
        began = 0.0 if folds is None else folds.now()
        for part in _parts(rows):
            state = self._fold(plan, state, part)
            if folds is not None and len(part) < len(rows):
                tenant = stored.row.tenant if is_shown else None
                began = await folds.pause(began, tenant)
        if self._quarantine is not None and self._quarantine.suspects:
            self._quarantine.survived(state.id, LOADING)
        return state

    async def _decoded(
        self, stored: StoredInstance, make: Callable[[], InstanceState], *, is_shown: bool
    ) -> InstanceState:
        """What a snapshot keeps: where it is only shown, others go on meanwhile.

        Turns do not wait for the thread: other instances of their lane wait for them.
        """
        if not is_shown or self._folds is None:
            return make()
        size, tenant = _snapshot_bytes(stored), stored.row.tenant
        # Not refused: an instance that cannot be loaded is missing on a page of many.
        return await self.values.read(size, make, tenant=tenant, may_refuse=False)

    def _fold(self, plan: Plan, state: InstanceState, rows: Sequence[LogRow]) -> InstanceState:
        """The state after more entries of its log, under the eye of the watchdog."""
        quarantine = self._quarantine
        if quarantine is None:
            return fold_all(plan, state, map(from_row, rows))
        quarantine.note.on(state.id, LOADING)
        try:
            return fold_all(plan, state, map(from_row, rows))
        except (UnknownEntry, TenutoError):
            raise
        except (DecisionStopped, Exception) as error:
            because = None if isinstance(error, DecisionStopped) else f"{LOADING}: {error!r}"
            quarantine.stopped(state.id, LOADING, because)
            raise quarantine.refusal(state.id) from error
        finally:
            quarantine.note.off()

    def _refuse_quarantined(self, instance_id: str, *, is_shown: bool) -> None:
        """Conflict for one that must not be worked for; one that can be folded may be shown."""
        if self._quarantine is None or instance_id not in self._quarantine.held:
            return
        if not is_shown or self._quarantine.held[instance_id].place == LOADING:
            raise self._quarantine.refusal(instance_id)


def _parts(rows: Sequence[LogRow]) -> Iterator[Sequence[LogRow]]:
    """The rows in parts of some milliseconds each; at least one part, which may be empty."""
    if len(rows) <= _PART_ROWS and size_of_rows(rows) <= _PART_BYTES:
        yield rows
        return
    part: list[LogRow] = []
    size = 0
    for row in rows:
        part.append(row)
        size += size_of_rows((row,))
        if len(part) >= _PART_ROWS or size >= _PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _cost(stored: StoredInstance) -> int:
    """What it takes to rebuild an instance, in entries of usual size."""
    size = size_of_rows(stored.tail) + _snapshot_bytes(stored)
    return max(len(stored.tail), size * _PART_ROWS // _PART_BYTES)


def _snapshot_bytes(stored: StoredInstance) -> int:
    return 0 if stored.state is None else len(stored.state)


def _is_long(stored: StoredInstance) -> bool:
    """Whether a log is folded in many parts."""
    return len(stored.tail) >= _LONG or size_of_rows(stored.tail) >= 10 * _PART_BYTES


def _end_of(stored: StoredInstance) -> int:
    """The version that its log leads to."""
    return stored.tail[-1].seq if stored.tail else stored.state_version


def _goes_on(stored: StoredInstance, known: InstanceState) -> bool:
    """Whether a known state precedes the stored one; a log may have been restored from a backup."""
    if known.version <= stored.state_version:
        return True
    return any(row.seq == known.version for row in stored.tail)
