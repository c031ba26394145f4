"""Counts entries of instances as their shares of turns become durable."""

from __future__ import annotations

from tenuto.engine.meters import Histogram
from tenuto.engine.turns.draft import Draft
from tenuto.metrics.names import Named, Names
from tenuto.metrics.past import PastTimes
from tenuto.model.durations import epoch_ms
from tenuto.model.effects import StartAttempt
from tenuto.model.ids import NodeKey
from tenuto.model.log import LogRow
from tenuto.model.status import Status
from tenuto.model.test_run import is_test_run

ENDS = frozenset({"NODE_COMPLETED", "NODE_FAILED"})


class Ends:
    """Instances of one workflow."""

    __slots__ = ("cancelled", "completed", "failed", "started")

    def __init__(self) -> None:
        self.started = self.completed = self.failed = self.cancelled = 0


class Count:
    """A counter."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class StepCounts:
    """Listens to an engine: counts the entries of this process, not of others."""

    def __init__(self) -> None:
        self.instances = Names(Ends)
        self.seconds = Names(Histogram)
        """Durations of attempts from when they began; where that is unknown, from their order."""
        self.queue_seconds = Names(Histogram)
        """Times between the order of attempts and when they began."""
        self.execution_seconds = Names(Histogram)
        """Times between the start of instances and their end, their waits included."""
        self.failures = Names(Count)
        self.past = PastTimes()
        self.attempts = 0
        """Ordered attempts, run here or elsewhere."""

    def heard(self, draft: Draft) -> None:
        """Count one instance's share of a turn."""
        rows = draft.rows
        tenant, workflow = draft.held.tenant, draft.state.definition_id
        # Test runs would use up the labels of saved workflows, and keep them for ever.
        if not rows or is_test_run(workflow):
            return
        if draft.follow_ups:
            self.attempts += sum([isinstance(each, StartAttempt) for each in draft.follow_ups])
        if not draft.before.version:
            self.instances[Named(tenant, workflow)].started += 1
        if draft.state.status is not draft.before.status and draft.state.status.is_final:
            self._ended(self.instances[Named(tenant, workflow)], draft.state.status)
            took = epoch_ms(draft.state.completed_at or draft.state.created_at)
            took -= epoch_ms(draft.state.created_at)
            self.execution_seconds[Named(tenant, workflow)].add(max(took, 0) / 1000)
        self.past.admitted(draft, tenant, workflow)
        for row in rows:
            if row.event_type in ENDS:
                self._step(draft, row, Named(tenant, workflow, row.node_id or ""))
            elif row.event_type == "MUTEX_GRANTED":
                self.past.waited(draft, row, Named(tenant, workflow, row.node_id or ""))

    def _ended(self, ends: Ends, status: Status) -> None:
        if status is Status.COMPLETED:
            ends.completed += 1
        elif status is Status.FAILED:
            ends.failed += 1
        else:
            ends.cancelled += 1

    def _step(self, draft: Draft, row: LogRow, name: Named) -> None:
        if row.event_type == "NODE_FAILED":
            self.failures[name].count += 1
        since = began(draft, row)
        if since is None:
            self.past.waited(draft, row, name)
            return
        took = max(row.at_ms - since, 0)
        node = draft.state.nodes.get(NodeKey(row.node_id or "", row.iteration))
        if node is not None and node.attempt == row.attempt and node.execution_time is not None:
            self.queue_seconds[name].add((node.queue_time or 0) / 1000)
            self.past.add("queue", name, node.queue_time or 0)
            took = min(node.execution_time, took)
        self.seconds[name].add(took / 1000)
        is_child = node is not None and node.child_id is not None
        self.past.add("child" if is_child else "attempt", name, took)


def began(draft: Draft, row: LogRow) -> int | None:
    """When the attempt that ends with a row was ordered; None if no attempt ran."""
    if (ordered_at := draft.ordered_at(row)) is not None:
        return ordered_at
    assert row.node_id is not None
    node = draft.before.nodes.get(NodeKey(row.node_id, row.iteration))
    if node is None or node.is_wait or node.is_loop or node.started_at is None:
        return None
    return epoch_ms(node.dispatched_at or node.started_at)
