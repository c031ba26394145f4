"""SIGKILL at any moment: what was acknowledged is there, whole, and nothing else is."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from tenuto.store.sqlite import SqliteStore
from tests.store.situations import NOON

WRITER = """
import asyncio, sys
from tests.store.situations import NOON, begin, entry, step, turn
from tenuto.store.sqlite import SqliteStore

async def write(path: str, name: str) -> None:
    store = SqliteStore(path)
    await store.open(name, NOON)
    ids = [f"{name}-{number:02}" for number in range(40)]
    await store.turns.commit(turn(f"{name}-0", *[begin(id) for id in ids], process_id=name))
    print(1, flush=True)
    version = 1
    while True:
        rows = (entry(version + 1), entry(version + 2))
        writes = [step(id, version, *rows) for id in ids]
        await store.turns.commit(turn(f"{name}-{version}", *writes, process_id=name))
        version += 2
        print(version, flush=True)

asyncio.run(write(*sys.argv[1:]))
"""


def killed_writer(path: Path, name: str, turns: int) -> int:
    """The version of every instance of the last turn that was acknowledged before the kill."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    ) as process:
        assert process.stdout is not None
        for _ in range(turns):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        # What it had said before it died counts as acknowledged too.
        rest = process.stdout.read().split("\n")
        process.wait()
    whole = [line for line in rest[:-1] if line]
    return int(whole[-1]) if whole else 1 + 2 * (turns - 1)


@pytest.mark.slow
@pytest.mark.asyncio
async def test_what_was_acknowledged_survives_sigkill(tmp_path: Path) -> None:
    """I35: "every acknowledged record present"; I1: "without hole or repeat"; I36."""
    path = tmp_path / "tenuto.db"
    acknowledged = {f"w{n}": killed_writer(path, f"w{n}", turns=5 + 7 * n) for n in range(4)}
    store = SqliteStore(path)
    await store.open("checker", NOON)
    for name, version in acknowledged.items():
        ids = [f"{name}-{number:02}" for number in range(40)]
        loaded = await store.turns.load(ids)
        assert set(loaded) == set(ids)
        lengths = {len(stored.tail) for stored in loaded.values()}
        # A turn is there for all of its instances or for none.
        assert len(lengths) == 1
        assert lengths <= {version, version + 2}
        for stored in loaded.values():
            assert [row.seq for row in stored.tail] == list(range(1, len(stored.tail) + 1))
    await store.close(NOON, clean=True)
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    connection.close()
