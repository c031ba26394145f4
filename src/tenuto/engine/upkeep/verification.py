"""Verifies that stored data follows from the logs: folds each log and compares.

The store may be in use: an instance is judged only if its log was equally long before and after all
of its data was read. The store may have any size: instances, and long logs, are read in portions
that fit a bound of bytes.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import Final

from tenuto.core import InstanceState, Plan, blank, fold_all
from tenuto.core.snapshot import decode, references
from tenuto.engine.definitions.plans import Plans
from tenuto.engine.turns.draft import size_of_rows
from tenuto.engine.upkeep.differences import Report, Timers, Verdict
from tenuto.model.entries import Entry
from tenuto.model.errors import NotFound
from tenuto.model.log import LogRow, UnknownEntry, from_row
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.turns import StoredInstance
from tenuto.store.parts.waits import WaitRow
from tenuto.store.protocol import Store

MOST_BYTES: Final = 4_000_000
"""What a portion may take, judged by the one before it."""
MOST_INSTANCES: Final = 32
_MOST_ROWS: Final = 1_000
_TRIES: Final = 5


class _Portion:
    """How many of something are read at once: twice as many as the last time, if those fit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.size = 1

    def took(self, count: int, size: int) -> None:
        fitting = MOST_BYTES * count // max(size, 1)
        self.size = max(1, min(fitting, 2 * self.size, self._most))


async def verify(store: Store, plans: Plans) -> AsyncIterator[Verdict]:
    """Judge every instance, newest first: memory does not grow with the store."""
    portion = _Portion(MOST_INSTANCES)
    query: InstanceQuery | None = InstanceQuery(limit=portion.size)
    while query is not None:
        page = await store.instances.page(query)
        ids = [row.id for row in page.items]
        verdicts = await _verdicts(store, plans, ids, portion)
        for verdict in verdicts:
            yield await _judged(store, plans, verdict)
        after = page.next_after
        query = InstanceQuery(limit=portion.size, after=after) if after is not None else None


async def _judged(store: Store, plans: Plans, verdict: Verdict) -> Verdict:
    """A difference counts when it is there at a moment at which the instance stood still."""
    instance_id = verdict.instance_id
    for _ in range(_TRIES):
        if not verdict.differences:
            break
        before = await _version(store, instance_id)
        [verdict] = await _verdicts(store, plans, [instance_id])
        if before == await _version(store, instance_id):
            break
    return verdict


async def _verdicts(
    store: Store, plans: Plans, ids: Sequence[str], portion: _Portion | None = None
) -> list[Verdict]:
    """What a look at each says; `portion` learns how much that took."""
    stored = await store.turns.load(ids)
    if portion is not None and stored:
        portion.took(len(stored), sum(map(_size, stored.values())))
    waits = await asyncio.gather(*map(store.waits.of, ids))
    timers: defaultdict[str, Timers] = defaultdict(dict)
    for row in await store.timers.of(ids):
        timers[row.instance_id][row.key] = row.due
    return [
        await _verdict(store, plans, stored[id], open_waits, timers[id])
        if id in stored
        else Verdict(instance_id=id, entries=0)
        for id, open_waits in zip(ids, waits, strict=True)
    ]


async def _verdict(
    store: Store, plans: Plans, stored: StoredInstance, waits: list[WaitRow], timers: Timers
) -> Verdict:
    row = stored.row
    report = Report(row.id)
    if stored.unreadable is not None:
        report.say("log", "cannot be read", stored.unreadable.message)
        return report.verdict(0)
    try:
        deployed = await plans.get(row.tenant, row.definition_id, row.definition_version)
        plan = deployed.plan
        state, snapshot_state = await _folded(store, plan, stored, report)
    except (NotFound, UnknownEntry) as error:
        report.say("log", "cannot be read", str(error))
        return report.verdict(0)
    report.snapshot(snapshot_state, await _snapshot(store, stored))
    report.row(plan, state, row)
    report.waits(plan, state, {(wait.node, wait.iteration) for wait in waits})
    report.timers(state, timers)
    return report.verdict(state.version)


async def _folded(
    store: Store, plan: Plan, stored: StoredInstance, report: Report
) -> tuple[InstanceState, InstanceState | None]:
    """The fold of the whole log, and of as much of it as the snapshot covers."""
    state = blank(stored.row.id)
    at_snapshot: InstanceState | None = None
    newest = _newest(stored)
    portion = _Portion(_MOST_ROWS)
    while state.version < newest:
        rows: Sequence[LogRow]
        if state.version == stored.state_version:
            rows = stored.tail
        else:
            limit = min(portion.size, stored.state_version - state.version)
            rows = await store.instances.entries(stored.row.id, after=state.version, limit=limit)
            portion.took(len(rows), size_of_rows(rows))
        if not rows:
            report.say("log", f"ends at {state.version}", f"{newest} entries")
            break
        numbered = enumerate(rows, state.version + 1)
        hole = next(((row.seq, seq) for seq, row in numbered if row.seq != seq), None)
        if hole is not None:
            report.say("log", f"seq {hole[0]}", f"seq {hole[1]}")
            break
        state = fold_all(plan, state, map(from_row, rows))
        if state.version == stored.state_version:
            at_snapshot = state
    return state, at_snapshot


async def _snapshot(store: Store, stored: StoredInstance) -> InstanceState | None:
    if stored.state is None:
        return None
    seqs = references(stored.state)
    rows = await store.instances.entries_at(stored.row.id, seqs) if seqs else []
    entries: dict[int, Entry] = {row.seq: from_row(row) for row in rows}
    return decode(stored.state, entries)


async def _version(store: Store, instance_id: str) -> int:
    stored = (await store.turns.load([instance_id])).get(instance_id)
    return 0 if stored is None else _newest(stored)


def _newest(stored: StoredInstance) -> int:
    return stored.tail[-1].seq if stored.tail else stored.state_version


def _size(stored: StoredInstance) -> int:
    """Bytes that it takes, about."""
    return size_of_rows(stored.tail) + len(stored.state or b"") + len(stored.row.output or b"")
