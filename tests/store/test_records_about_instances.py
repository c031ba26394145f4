"""A record kind is a class, its statements and two migrations; its rows go with their instance."""

from __future__ import annotations

from collections.abc import AsyncIterator

import apsw
import pytest
import pytest_asyncio
from msgspec import Struct

from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.rows import columns_of
from tenuto.store.postgres import queries as of_postgres
from tenuto.store.protocol import Store
from tenuto.store.sql import read_queries
from tenuto.store.sqlite import queries as of_sqlite
from tests.kit.postgres_database import connected
from tests.store.conftest import MemoryPlace, Place, PostgresPlace, SqlitePlace
from tests.store.situations import ME, begin, turn
from tests.store.test_erasing import ended

pytestmark = pytest.mark.asyncio

STATEMENTS = """
-- fragment: mark_columns
-- A mark on an instance.
tenant, instance_id, text

-- name: insert_mark
-- Keep a mark, if its instance is there and is not being erased.
INSERT INTO tenuto.marks ({mark_columns})
SELECT :tenant, :instance_id, :text
FROM tenuto.workflow_instances AS instance
WHERE instance.id = :instance_id AND instance.tenant = :tenant
FOR KEY SHARE
ON CONFLICT (instance_id, text) DO NOTHING RETURNING 1;

-- name: marks_of
-- The marks on an instance.
SELECT {mark_columns} FROM tenuto.marks WHERE instance_id = :instance_id ORDER BY instance_id, text;
"""

SQLITE = """
CREATE TABLE marks (
    tenant TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (instance_id, text)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER marks_go AFTER DELETE ON workflow_instances
BEGIN
    DELETE FROM marks WHERE instance_id = old.id;
END;
"""

POSTGRES = """
CREATE TABLE tenuto.marks (
    tenant text COLLATE "C" NOT NULL,
    instance_id text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL,
    PRIMARY KEY (instance_id, text)
);

CREATE FUNCTION tenuto.erase_marks() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM tenuto.marks AS mark USING gone WHERE mark.instance_id = gone.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER marks_go
AFTER DELETE ON tenuto.workflow_instances
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT
EXECUTE FUNCTION tenuto.erase_marks();
"""


class Mark(Struct, frozen=True, kw_only=True):
    tenant: str
    instance_id: str
    text: str


class Marks(ColdPart):
    """What the recipe of a record kind asks for."""

    async def put(self, mark: Mark) -> bool:
        return bool(await self._port.write("insert_mark", columns_of(mark)))

    async def on(self, instance_id: str) -> list[Mark]:
        return await self._found(Mark, "marks_of", {"instance_id": instance_id})


@pytest_asyncio.fixture
async def store(place: Place, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    """A store with the statements of the part and its table; databases are used again."""
    for name, named in read_queries(STATEMENTS).items():
        monkeypatch.setitem(of_postgres.QUERIES, name, named)
        monkeypatch.setitem(of_sqlite.QUERIES, name, of_sqlite.Query(of_sqlite.adapted(named)))
    opened = await place.opened(ME)
    if not isinstance(place, PostgresPlace):
        add_table(place)
        yield opened
        return
    async with connected(place.url) as connection:
        await connection.execute(POSTGRES)
        try:
            yield opened
        finally:
            gone = "DROP FUNCTION tenuto.erase_marks CASCADE; DROP TABLE tenuto.marks"
            await connection.execute(gone)


def add_table(place: Place) -> None:
    if isinstance(place, MemoryPlace):
        place.disk.cold.session.execute(SQLITE, ())
        return
    assert isinstance(place, SqlitePlace)
    connection = apsw.Connection(str(place._path))
    connection.execute(SQLITE)
    connection.close()


async def test_rows_about_an_instance_go_with_it_by_the_migration_alone(store: Store) -> None:
    marks = Marks(store.access._port)
    child = ended("i2", parent_id="i1", root_id="i1")
    await store.turns.commit(turn("t1", ended("i1"), child, begin("i3", current_steps=("a",))))
    found = [Mark(tenant="default", instance_id=f"i{number}", text="x") for number in (1, 2, 3)]
    for mark in found:
        assert await marks.put(mark)
        assert not await marks.put(mark)
    assert await store.instances.erase("default", ["i1", "i3"]) == ["i1"]
    assert [await marks.on(mark.instance_id) for mark in found] == [[], [], [found[2]]]
    # An instance of the same id has none of them.
    await store.turns.commit(turn("t2", begin("i1")))
    assert await marks.on("i1") == []
    assert await marks.put(found[0])


async def test_an_instance_that_is_not_there_has_no_rows(store: Store) -> None:
    marks = Marks(store.access._port)
    await store.turns.commit(turn("t1", ended("i1")))
    assert not await marks.put(Mark(tenant="other", instance_id="i1", text="x"))
    assert not await marks.put(Mark(tenant="default", instance_id="i2", text="x"))
    await store.instances.erase("default", ["i1"])
    assert not await marks.put(Mark(tenant="default", instance_id="i1", text="x"))
    assert await marks.on("i1") == []


async def test_a_copy_of_the_database_in_memory_is_made_when_a_cold_record_is_written() -> None:
    place = MemoryPlace()
    store = await place.opened(ME, shared=True)
    await store.turns.commit(turn("t1", ended("i1")))
    await store.members.beat()
    await store.jobs.tasks_to_push()
    await store.instances.erase("default", ["i1"])
    assert await store.tasks.every() == []
    assert await store.quarantine.suspects() == []
    assert place.disk.cold._session is None
    await store.quarantine.clear("i1")
    assert place.disk.cold._session is not None
