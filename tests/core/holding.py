"""What holds after every step of every history, whatever the step was.

1. Folding the new entries over the old state gives the decided state; folding the whole log from
   nothing gives it too.
2. A snapshot comes back as the state it was made of, also when its large values stayed in the log.
3. `outstanding` names exactly the attempts, children and timers that were ordered and are not
   done.
4. Every entry comes back from its row.
5. A rejection changes nothing and has a code of the catalogue.
6. Each `NODE_*` entry is there once per (node, iteration, kind, attempt); `seq` has no holes.
7. Times never go back; statuses change only along the table; after the end there is nothing, unless
   a failed instance is retried, or one is undone, which changes no status.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from tenuto.core import Decision, InstanceState, Plan, blank, fold, outstanding, snapshot
from tenuto.core.cancel_trigger import listens
from tenuto.core.deciding import GO_ON
from tenuto.model.codes import CATALOGUE
from tenuto.model.effects import ResolveChild, SetTimer, StartAttempt
from tenuto.model.entries import (
    CompensationCompleted,
    CompensationDispatched,
    CompensationEnded,
    CompensationFailed,
    CompensationPlanned,
    Entry,
    NodeEntry,
    RetryRequested,
    RetryScheduled,
    StatusChanged,
)
from tenuto.model.ids import NodeKey
from tenuto.model.log import from_row, to_row
from tenuto.model.status import FINAL, TRANSITIONS, Status

if TYPE_CHECKING:
    from tests.core.play import Run

_AFTERWARDS = (
    CompensationPlanned,
    CompensationDispatched,
    CompensationCompleted,
    CompensationFailed,
    CompensationEnded,
    RetryScheduled,
)


def check_step(run: Run, before: InstanceState, decision: Decision) -> None:
    """All of it."""
    check_new_entries(run, before, decision)
    assert folded(run.plan, run.state.id, run.entries) == run.state
    check_snapshot(run.state, run.entries)
    check_uniqueness(run.entries)


def check_new_entries(run: Run, before: InstanceState, decision: Decision) -> None:
    """The part whose cost does not grow with the log."""
    check_rejection(before, decision)
    assert reduce(lambda state, entry: fold(run.plan, state, entry), decision.entries, before) == (
        decision.state
    )
    check_times_and_statuses(before, decision.entries)
    check_outstanding(run)
    for seq, entry in enumerate(decision.entries, before.version + 1):
        assert from_row(to_row(seq, entry)) == entry


def folded(plan: Plan, id: str, entries: list[Entry]) -> InstanceState:
    return reduce(lambda state, entry: fold(plan, state, entry), entries, blank(id))


def check_rejection(before: InstanceState, decision: Decision) -> None:
    if decision.rejection is not None:
        assert decision.rejection.code in CATALOGUE
        assert decision.rejection.message
        assert decision.entries == ()
        assert decision.state is before
    if before.status in FINAL and decision.entries and _is_retry(decision):
        assert before.status is Status.FAILED
    elif before.status in FINAL:
        assert all(isinstance(entry, _AFTERWARDS) for entry in decision.entries)


def _is_retry(decision: Decision) -> bool:
    return isinstance(decision.entries[0], RetryRequested)


def check_snapshot(state: InstanceState, entries: list[Entry]) -> None:
    stored = snapshot.encode(state)
    needed = {seq: entries[seq - 1] for seq in snapshot.references(stored)}
    restored = snapshot.decode(stored, needed)
    assert restored == state
    assert snapshot.encode(restored) == stored


def check_times_and_statuses(before: InstanceState, entries: tuple[Entry, ...]) -> None:
    status, moment = before.status, before.updated_at
    for entry in entries:
        assert entry.at >= moment
        moment = entry.at
        if isinstance(entry, StatusChanged):
            assert entry.from_ is status
            assert entry.to in TRANSITIONS[status]
            status = entry.to


def check_outstanding(run: Run) -> None:
    owed = outstanding(run.plan, run.state, run.policies)
    attempts = {
        NodeKey(effect.node, effect.iteration): effect
        for effect in owed
        if isinstance(effect, StartAttempt)
    }
    timers = {effect.key: effect.due for effect in owed if isinstance(effect, SetTimer)}
    resolving = {
        NodeKey(effect.node, effect.iteration): effect
        for effect in owed
        if isinstance(effect, ResolveChild)
    }
    assert len(attempts) + len(resolving) + len(timers) == len(owed)
    assert attempts == run.ledger.running
    assert resolving == run.ledger.resolving
    assert timers == run.ledger.timers | run.ledger.held_back
    is_left = timers.pop(GO_ON, None) is not None
    assert is_left == run.state.is_unsettled
    is_near = [run.state.timers[key].is_near for key in timers]
    assert run.state.running == len(attempts) + len(resolving)
    assert run.state.near_timers == sum(is_near)
    assert run.state.needs_owner == bool(attempts or resolving or any(is_near) or is_left)
    nodes = run.state.nodes
    hearing = [key for key in run.state.open_nodes() if nodes[key].hears]
    assert {key for key in run.ledger.waits if nodes[key].hears} == set(hearing)
    waits = len(run.ledger.waits) - len(hearing)
    assert run.state.open_waits == waits + len(run.ledger.approvals)
    if run.state.has_ended:
        assert (attempts, timers, run.ledger.waits) == ({}, {}, {})
        assert not run.ledger.approvals
        assert (resolving, run.ledger.children) == ({}, {})
    declared = run.plan.definition.cancellation_triggers
    wanted = len(declared) if listens(run.plan, run.state) else 0
    assert len(run.ledger.triggers) == wanted


def check_uniqueness(entries: list[Entry]) -> None:
    keys = [
        (entry.node, entry.iteration, entry.event_type, entry.attempt)
        for entry in entries
        if isinstance(entry, NodeEntry) and entry.event_type.startswith(("NODE_", "COMPENSATION_"))
    ]
    assert len(keys) == len(set(keys)), keys
