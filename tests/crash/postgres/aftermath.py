"""What is left in the database and the ledgers after the last process has ended, judged whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tenuto.store.postgres import PostgresStore
from tenuto.store.protocol import Store
from tests.crash.aftermath import effects
from tests.crash.load import read
from tests.crash.postgres.documents import documents
from tests.kit.checker import Run, check
from tests.kit.checker.record import Fields
from tests.kit.simulator.collect import collect
from tests.kit.simulator.ledgers import Ledgers
from tests.kit.simulator.postgres_place import PostgresTables


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
