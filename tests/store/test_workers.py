"""Whether somebody is there who takes mail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto.store.postgres import PostgresStore
from tenuto.store.sqlite import SqliteStore
from tests.kit.postgres_database import fresh_database
from tests.store.conftest import Place
from tests.store.postgres_place import let_time_pass
from tests.store.situations import NOON

pytestmark = pytest.mark.asyncio


async def test_who_has_a_store_open_is_at_work_on_it(place: Place) -> None:
    first = await place.opened("p1")
    assert await first.members.workers() == 1
    await first.close(NOON, clean=True)
    second = await place.opened("p2")
    assert await second.members.workers() == 1


async def test_a_guest_is_not_at_work(shared_place: Place) -> None:
    guest = shared_place.store(shared=True)
    await guest.open("p1", NOON, is_guest=True)
    assert await guest.members.workers() == 0
    worker = await shared_place.opened("p2", shared=True)
    assert await guest.members.workers() == await worker.members.workers() == 1
    await shared_place.bury("p1", by=worker)
    await guest.members.enter("p3", NOON)
    assert await worker.members.workers() == 1


async def test_beside_a_file_its_lock_tells(tmp_path: Path) -> None:
    path = tmp_path / "tenuto.db"
    engine = SqliteStore(path)
    await engine.open("p1", NOON)
    reader = SqliteStore.reader(path)
    await reader.open("r1", NOON)
    assert await reader.members.workers() == 1
    engine.abandon()
    assert await reader.members.workers() == 0
    (tmp_path / "tenuto.db.lock").unlink()
    assert await reader.members.workers() == 0
    await reader.close(NOON, clean=True)


async def test_beside_a_database_those_tell_who_were_heard_of() -> None:
    url = await fresh_database()
    stores = [PostgresStore(url) for _ in range(2)]
    for number, store in enumerate(stores):
        await store.open(f"p{number}", NOON)
    reader = PostgresStore.reader(url)
    await reader.open("r1", NOON)
    assert await reader.members.workers() == 2
    await stores[0].close(NOON, clean=True)
    assert await reader.members.workers() == 1
    await let_time_pass(url, "p1")
    assert await reader.members.workers() == 0
    await stores[1].members.beat()
    assert await reader.members.workers() == 1
    stores[1].abandon()
    await reader.close(NOON, clean=True)


async def test_who_is_gone_is_not_among_the_living(place: Place) -> None:
    first = await place.opened("p1")
    assert await first.members.living(["p1", "p2"]) == {"p1"}
    assert await first.members.living([]) == set()
    await first.close(NOON, clean=True)
    second = await place.opened("p2")
    assert await second.members.living(["p1", "p2"]) == {"p2"}


async def test_who_was_taken_for_dead_is_not_among_the_living(shared_place: Place) -> None:
    await shared_place.opened("p1", shared=True)
    other = await shared_place.opened("p2", shared=True)
    assert await other.members.living(["p1", "p2"]) == {"p1", "p2"}
    await shared_place.bury("p1", by=other)
    assert await other.members.living(["p1", "p2"]) == {"p2"}
