"""How long earlier attempts, waits and queues took: what `explain` says of the next one.

Times since the start of this process, in histograms: adding one and reading one cost the same,
however many there were. Labels are bounded as those of metrics are.
"""

from __future__ import annotations

from tenuto.engine.meters import SECONDS, Histogram
from tenuto.engine.turns.draft import Draft
from tenuto.metrics.names import Named, Names
from tenuto.model.causes import Estimate, Past
from tenuto.model.durations import epoch_ms
from tenuto.model.ids import NodeKey
from tenuto.model.log import LogRow
from tenuto.model.status import Status

ENOUGH = 20
"""So many earlier ones tell how long the next one takes."""
BOUNDS = (*SECONDS, 180.0, 600.0, 1_800.0, 7_200.0, 28_800.0, 86_400.0, 604_800.0, 2_592_000.0)
"""Up to thirty days: people decide, and events come, after longer than tasks run."""


class _Times(Histogram):
    def __init__(self) -> None:
        super().__init__(BOUNDS)


class PastTimes:
    """Times of one process, by what was timed, workflow and step."""

    def __init__(self) -> None:
        self._found: dict[Past, Names[_Times]] = {}

    def add(self, past: Past, name: Named, milliseconds: int) -> None:
        """Take one that ended."""
        names = self._found.get(past)
        if names is None:
            names = self._found[past] = Names(_Times)
        names[name].add(max(milliseconds, 0) / 1000)

    def estimate(self, past: Past, tenant: str, workflow: str, step: str) -> Estimate | None:
        """How long earlier ones took; None if there were fewer than twenty."""
        names = self._found.get(past)
        found = None if names is None else names.get(Named(tenant, workflow, step))
        count = 0 if found is None else sum(found.counts)
        if found is None or count < ENOUGH:
            return None
        p50, p90 = (round(found.quantile(part) * 1000) for part in (0.5, 0.9))
        return Estimate(p50=p50, p90=p90, count=count)

    def admitted(self, draft: Draft, tenant: str, workflow: str) -> None:
        """Take the queue of an instance, if this turn is its first one with a slot."""
        before, after = draft.before, draft.state
        is_begun = before.status is Status.CREATED and after.status is not Status.CREATED
        if before.version and is_begun and after.started_at is not None:
            waited = epoch_ms(after.started_at) - epoch_ms(before.created_at)
            self.add("slot", Named(tenant, workflow), waited)

    def waited(self, draft: Draft, row: LogRow, name: Named) -> None:
        """Take a wait, or the queue for a mutex, that ends with a row."""
        node = draft.before.nodes.get(NodeKey(row.node_id or "", row.iteration))
        if node is None or not node.is_open or node.started_at is None:
            return  # it began in this turn: nothing was waited for
        took = row.at_ms - epoch_ms(node.started_at)
        if row.event_type == "MUTEX_GRANTED":
            self.add("mutex", name, took)
        elif node.is_wait:
            self.add("wait", name, took)
