"""Instances from the store into memory: the snapshot, and the log since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tenuto.core import InstanceState, Plan, blank, fold_all
from tenuto.core.snapshot import decode, references
from tenuto.engine.batcher import Batcher
from tenuto.engine.definitions.plans import Plans
from tenuto.engine.turns.draft import size_of_rows
from tenuto.engine.turns.held import Held
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
_NOTHING: Mapping[str, InstanceState] = MappingProxyType({})


class Loader:
    """Rebuilds instances from their logs."""

    def __init__(self, store: Store, plans: Plans, quarantine: Quarantine | None = None) -> None:
        """Without `quarantine` it is for a process that only reads."""
        self.process_id: str | None = None
        """The id of the owner of own instances; None for read-only use."""
        self._store = store
        self._plans = plans
        self._quarantine = quarantine
        self._together = Batcher(self._load_in_order)
        self._looked_at: dict[str, InstanceState] = {}
        """Long logs that were folded to be shown, the latest last: pages are made of many looks."""

    async def look_at(self, instance_id: str) -> Held:
        """The current state of one instance; NotFound, or the reason why it cannot be read."""
        found = await self._together.ask(instance_id)
        if found is None:
            raise NotFound(f"there is no instance {instance_id}")
        if not isinstance(found, Held):
            raise found
        return found

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
        versions = {instance_id: state.version for instance_id, state in known.items()}
        stored = await self._store.turns.load(instance_ids, versions)
        gone_back = [id for id in stored if id in known and not _goes_on(stored[id], known[id])]
        if gone_back:
            known = {id: state for id, state in known.items() if id not in gone_back}
            stored |= await self._store.turns.load(gone_back)
        loaded: dict[str, Held | TenutoError] = {}
        for instance_id, instance in stored.items():
            try:
                self._refuse_quarantined(instance_id, is_shown=is_shown)
                loaded[instance_id] = await self._held(instance, known.get(instance_id))
            except StoreUnavailable:
                raise
            except TenutoError as error:
                loaded[instance_id] = error
            except UnknownEntry as error:
                message = f"instance {instance_id} was written by a newer program: {error}"
                loaded[instance_id] = TenutoError(message, code="TEN-4005")
        return loaded

    async def _load_in_order(self, ids: Sequence[str]) -> list[Held | TenutoError | None]:
        kept = {id: self._looked_at[id] for id in ids if id in self._looked_at}
        loaded = await self.load(list(dict.fromkeys(ids)), kept, is_shown=True)
        for id, found in loaded.items():
            self._looked_at.pop(id, None)
            if not isinstance(found, Held) or found.tail_entries < _LONG:
                continue
            if found.state.weight < _HEAVY:
                self._looked_at[id] = found.state
        while len(self._looked_at) > _MOST_KEPT:
            del self._looked_at[next(iter(self._looked_at))]
        return [loaded.get(id) for id in ids]

    async def _held(self, stored: StoredInstance, known: InstanceState | None) -> Held:
        row = stored.row
        if stored.unreadable is not None:
            raise stored.unreadable
        deployed = await self._plans.get(row.tenant, row.definition_id, row.definition_version)
        plan = deployed.plan
        state = await self._state(plan, stored, known)
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
        self, plan: Plan, stored: StoredInstance, known: InstanceState | None
    ) -> InstanceState:
        if known is not None and known.version >= stored.state_version:
            new = [row for row in stored.tail if row.seq > known.version]
            return self._folded(plan, known, new)
        state = blank(stored.row.id)
        if stored.state is not None:
            seqs = references(stored.state)
            rows = await self._store.instances.entries_at(stored.row.id, seqs) if seqs else []
            state = decode(stored.state, {row.seq: from_row(row) for row in rows})
        return self._folded(plan, state, stored.tail)

    def _folded(self, plan: Plan, state: InstanceState, rows: Iterable[LogRow]) -> InstanceState:
        """The state after more entries of its log, under the eye of the watchdog."""
        quarantine = self._quarantine
        if quarantine is None:
            return fold_all(plan, state, map(from_row, rows))
        quarantine.note.on(state.id, LOADING)
        try:
            folded = fold_all(plan, state, map(from_row, rows))
        except (UnknownEntry, TenutoError):
            raise
        except (DecisionStopped, Exception) as error:
            because = None if isinstance(error, DecisionStopped) else f"{LOADING}: {error!r}"
            quarantine.stopped(state.id, LOADING, because)
            raise quarantine.refusal(state.id) from error
        finally:
            quarantine.note.off()
        if quarantine.suspects:
            quarantine.survived(state.id, LOADING)
        return folded

    def _refuse_quarantined(self, instance_id: str, *, is_shown: bool) -> None:
        """Conflict for one that must not be worked for; one that can be folded may be shown."""
        if self._quarantine is None or instance_id not in self._quarantine.held:
            return
        if not is_shown or self._quarantine.held[instance_id].place == LOADING:
            raise self._quarantine.refusal(instance_id)


def _goes_on(stored: StoredInstance, known: InstanceState) -> bool:
    """Whether a known state precedes the stored one; a log may have been restored from a backup."""
    if known.version <= stored.state_version:
        return True
    return any(row.seq == known.version for row in stored.tail)
