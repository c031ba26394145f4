"""What is left in the database and the ledgers after the last process has ended, judged whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tenuto.store.postgres import PostgresStore
from tenuto.testing.faulty_store import Handle
from tests.crash.load import read
from tests.crash.postgres.documents import documents
from tests.kit.checker import Run, check
from tests.kit.checker.record import Fields
from tests.kit.postgres_database import connected, in_another_thread
from tests.kit.simulator.collect import collect
from tests.kit.simulator.ledgers import Ledgers


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


def effects(lines: list[Fields]) -> list[Fields]:
    """One for each call: what is still running at the end was killed."""
    calls: dict[tuple[str, str, int], Fields] = {}
    for line in lines:
        call = (str(line["instance"]), str(line["node"]), int(line["attempt"]))
        if line["outcome"] == "running":
            assert call not in calls, f"{call} ran twice"
            calls[call] = {**line, "iteration": "", "outcome": "lost"}
        elif calls[call]["outcome"] != "completed":
            # One whose result was reported elsewhere too is told to stop.
            calls[call] = {**calls[call], **line}
    return list(calls.values())


def failures(run: Run, code: str) -> set[tuple[str, str, int]]:
    """Attempts (instance, node, number) that the logs have as failed with this code."""
    return {
        (instance.id, str(row["nodeId"]), int(row["attempt"]))
        for instance in run.instances
        for row in instance.history
        if row["eventType"] == "NODE_FAILED" and row["payload"]["error"]["code"] == code
    }


class InPostgres:
    """A database, read by somebody who takes no part."""

    def __init__(self, url: str) -> None:
        self._url = url

    def store(self) -> Handle:
        return PostgresStore(self._url)

    def reader(self) -> Handle:
        return PostgresStore.reader(self._url)

    def owners(self) -> dict[str, str]:
        return dict(self._pairs("SELECT instance_id, process_id FROM tenuto.owners"))

    def bury(self, process_id: str) -> None:
        raise NotImplementedError("here the processes do that")

    def mail(self) -> list[tuple[str, str]]:
        return self._pairs("SELECT id, instance_id FROM tenuto.mailbox")

    def keys(self) -> dict[str, str]:
        return dict(self._pairs("SELECT instance_id, key FROM tenuto.idempotency_keys"))

    def definitions(self) -> dict[str, str]:
        return dict(self._pairs("SELECT id, definition_id FROM tenuto.workflow_instances"))

    def _pairs(self, query: str) -> list[tuple[str, str]]:
        async def ask() -> list[tuple[str, str]]:
            async with connected(self._url) as connection:
                return [(row[0], row[1]) for row in await connection.fetch(query)]

        return in_another_thread(ask)
