"""What is left in the database and the ledgers after the last process has ended, judged whole."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tenuto.store.postgres import PostgresStore
from tenuto.store.protocol import Store
from tests.crash.aftermath import effects
from tests.crash.load import read
from tests.crash.postgres.documents import documents
from tests.kit.checker import Run, check
from tests.kit.checker.record import Fields
from tests.kit.postgres_database import connected
from tests.kit.simulator.collect import collect
from tests.kit.simulator.ledgers import Ledgers
from tests.kit.simulator.postgres_place import PostgresTables
from tests.kit.workload import Document


async def judged(url: str, folder: Path, *, book: Sequence[Fields], faults: Sequence[str]) -> Run:
    """The run, after every promise was found kept; the last process must have ended."""
    ledgers = Ledgers()
    ledgers.effects = effects(read(folder / "effects"))
    ledgers.client = list(book)
    ledgers.faults = [{"kind": fault} for fault in faults]
    ledgers.stored = defaultdict(int)
    run = await collect(InPostgres(url), documents(), ledgers, now=datetime.now(UTC))
    run.commits = None
    for event in run.events or ():
        del event["after"]
    broken = check(run)
    assert not broken, "\n".join(str(each) for each in broken[:5])
    return run


async def slots_judged(
    url: str,
    documents: Mapping[str, Document],
    tenants: Sequence[str],
    *,
    limits: Sequence[Fields],
    faults: Sequence[str],
) -> Run:
    """All tenants in one run, after every promise about slots was found kept in their logs.

    `limits`: changes, with the moments in milliseconds at which they were asked for and done.
    """
    ledgers = Ledgers()
    ledgers.faults = [{"kind": fault} for fault in faults]
    ledgers.stored = defaultdict(int)
    now = datetime.now(UTC)
    runs = [
        await collect(InPostgres(url), documents, ledgers, now=now, tenant=tenant)
        for tenant in tenants
    ]
    run = runs[0]
    run.instances = [instance for each in runs for instance in each.instances]
    run.events = run.effects = run.client = run.owed = None
    run.commits, times = await _commits(url)
    run.limits = [
        change
        | {name: change[name] and bisect_right(times, change[name] * 1_000) for name in _BOTH}
        for change in limits
    ]
    broken = check(run)
    assert not broken, "\n".join(str(each) for each in broken[:5])
    return run


_BOTH = ("asked", "done")
_COMMITS = (
    "SELECT instance_id, min(seq), max(seq), xmin::text,"
    " (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::bigint AS at"
    " FROM tenuto.workflow_execution_history GROUP BY instance_id, xmin ORDER BY at"
)


async def _commits(url: str) -> tuple[list[Fields], list[int]]:
    """All commits in the order that the server noted, and when each was, in microseconds."""
    async with connected(url) as connection:
        rows = await connection.fetch(_COMMITS)
    commits: list[Fields] = [
        {"gseq": number, "turn": turn, "instance": id, "first": first, "last": last}
        for number, (id, first, last, turn, _) in enumerate(rows, start=1)
    ]
    return commits, [int(row[4]) for row in rows]


def failures(run: Run, code: str) -> set[tuple[str, str, int]]:
    """Attempts (instance, node, number) that the logs have as failed with this code."""
    return {
        (instance.id, str(row["nodeId"]), int(row["attempt"]))
        for instance in run.instances
        for row in instance.history
        if row["eventType"] == "NODE_FAILED" and row["payload"]["error"]["code"] == code
    }


class InPostgres(PostgresTables):
    """A database, read by somebody who takes no part."""

    def store(self) -> Store:
        return PostgresStore(self.url)

    def reader(self) -> Store:
        return PostgresStore.reader(self.url)

    def presume_dead(self, process_id: str) -> None:
        raise NotImplementedError("here the processes do that")
