"""What is left in the file and the ledgers after the last process has ended, judged as a whole."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import apsw

from tests.crash.load import deadly, definition, read
from tests.kit.checker import Run, check
from tests.kit.checker.record import Fields
from tests.kit.simulator.collect import collect
from tests.kit.simulator.ledgers import Ledgers
from tests.kit.simulator.places import InSqlite


def judged(folder: Path, *, kills: int) -> Run:
    """The run, after every promise was found kept and the file whole."""
    run = _run(folder, kills)
    broken = check(run)
    assert not broken, "\n".join(str(each) for each in broken[:5])
    connection = apsw.Connection(str(folder / "tenuto.db"))
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        connection.close()
    return run


def _run(folder: Path, kills: int) -> Run:
    ledgers = Ledgers()
    ledgers.effects = effects(read(folder / "effects"))
    ledgers.client = [{"op": "start", "outcome": "ok", **line} for line in read(folder / "client")]
    ledgers.faults = [{"kind": "kill -9"}] * kills
    documents = {str(each["id"]): each for each in (definition(), deadly())}
    now = datetime.now(UTC)
    run = asyncio.run(collect(InSqlite(folder / "tenuto.db"), documents, ledgers, now=now))
    run.commits = None
    # A start that was committed and killed before it was acknowledged is not in the client's book.
    asked = {str(line["instance"]) for line in ledgers.client}
    run.client = [
        *ledgers.client,
        *(
            {"op": "start", "outcome": "unknown"}
            for instance in run.instances
            if instance.id not in asked
        ),
    ]
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
