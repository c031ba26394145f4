"""One engine per file, held by the kernel; others read and send mail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.sqlite import SqliteStore
from tests.store.situations import NOON, begin, mail, step, turn

pytestmark = pytest.mark.asyncio

HOLDER = """
import asyncio, sys
from datetime import datetime, UTC
from tenuto.store.sqlite import SqliteStore

async def hold() -> None:
    store = SqliteStore(sys.argv[1])
    await store.open("holder", datetime(2026, 1, 1, tzinfo=UTC))
    print("held", flush=True)
    sys.stdin.read()

asyncio.run(hold())
"""


PARENT = """
import asyncio, os, sys
from datetime import datetime, UTC
from tenuto.store.sqlite import SqliteStore

async def hold() -> None:
    store = SqliteStore(sys.argv[1])
    await store.open("holder", datetime(2026, 1, 1, tzinfo=UTC))
    if os.fork() == 0:
        print("held", flush=True)
        sys.stdin.read()
        os._exit(0)
    os.wait()

asyncio.run(hold())
"""


def started(program: str, path: Path) -> subprocess.Popen[str]:
    """A process that has opened the store, and lives until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


async def test_a_second_engine_is_told_who_has_the_file(tmp_path: Path) -> None:
    path = tmp_path / "tenuto.db"
    process = started(HOLDER, path)
    with pytest.raises(StoreUnavailable) as refused:
        await SqliteStore(path).open("p2", NOON)
    assert refused.value.code == "TEN-4002"
    assert str(process.pid) in refused.value.message
    end(process)
    store = SqliteStore(path)
    await store.open("p2", NOON)
    await store.close(NOON, clean=True)


async def test_two_names_of_a_file_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "tenuto.db"
    store = SqliteStore(path)
    await store.open("p1", NOON)
    (tmp_path / "link.db").symlink_to(path)
    with pytest.raises(StoreUnavailable):
        await SqliteStore(tmp_path / "link.db").open("p2", NOON)
    await store.close(NOON, clean=True)


async def test_a_child_that_outlives_its_parent_does_not_keep_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "tenuto.db"
    parent = started(PARENT, path)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    try:
        store = SqliteStore(path)
        await store.open("p2", NOON)
        await store.close(NOON, clean=True)
    finally:
        end(parent)


async def test_a_child_forked_a_moment_ago_does_not_keep_the_lock(tmp_path: Path) -> None:
    """Until it has run its first line it has the lock file open as its parent has."""
    path = tmp_path / "tenuto.db"
    store = SqliteStore(path)
    await store.open("p1", NOON)
    assert store._file.lock is not None
    as_in_child = os.dup(store._file.lock._handle)
    await store.close(NOON, clean=True)
    again = SqliteStore(path)
    await again.open("p2", NOON)
    await again.close(NOON, clean=True)
    os.close(as_in_child)


async def test_a_reader_reads_everything_and_sends_mail(tmp_path: Path) -> None:
    path = tmp_path / "tenuto.db"
    engine = SqliteStore(path)
    await engine.open("p1", NOON)
    await engine.turns.commit(turn("t1", begin("i1")))
    reader = SqliteStore.reader(path)
    await reader.open("cli", NOON)
    assert set(await reader.turns.load(["i1"])) == {"i1"}
    await engine.turns.commit(turn("t2", step("i1", 1), begin("i2")))
    assert len(await reader.instances.entries("i1")) == 2
    assert len((await reader.instances.page(InstanceQuery())).items) == 2
    await reader.mailbox.send([mail("m1", "i1")])
    assert [each.id for each in await engine.mailbox.claim(10)] == ["m1"]
    await reader.close(NOON, clean=True)
    await engine.close(NOON, clean=True)


async def test_a_reader_writes_nothing_but_mail(tmp_path: Path) -> None:
    path = tmp_path / "tenuto.db"
    engine = SqliteStore(path)
    await engine.open("p1", NOON)
    await engine.close(NOON, clean=True)
    reader = SqliteStore.reader(path)
    await reader.open("cli", NOON)
    refused = [
        reader.turns.commit(turn("t1", begin("i1"))),
        reader.members.claim_orphans(1),
        reader.definitions.save("default", "d", b"", b"", NOON),
    ]
    for attempt in refused:
        with pytest.raises(StoreUnavailable) as refusal:
            await attempt
        assert refusal.value.code == "TEN-4004"
    assert not reader.path.endswith(".lock")
    await reader.close(NOON, clean=True)


async def test_a_reader_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as refusal:
        await SqliteStore.reader(tmp_path / "none.db").open("cli", NOON)
    assert refusal.value.code == "TEN-4001"
    assert names(tmp_path) == []


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def open_files() -> int:
    return len(names(Path("/proc/self/fd")))


async def test_a_closed_store_leaves_no_threads_and_no_open_files(tmp_path: Path) -> None:
    """I37: "After drain, connections, locks, handles, threads … are back at baseline"."""
    threads_before = threading.active_count()
    handles_before = open_files()
    for number in range(5):
        store = SqliteStore(tmp_path / "tenuto.db")
        await store.open(f"p{number}", NOON)
        await store.turns.load(["i1"])
        await store.close(NOON, clean=True)
    assert threading.active_count() == threads_before
    assert open_files() == handles_before
    assert names(tmp_path) == ["tenuto.db", "tenuto.db.lock"]


async def test_a_store_opened_twice_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "tenuto.db")
    await store.open("p1", NOON)
    with pytest.raises(StoreUnavailable):
        await store.open("p2", NOON)
    await store.turns.commit(turn("t1", begin("i1")))
    await store.close(NOON, clean=True)
