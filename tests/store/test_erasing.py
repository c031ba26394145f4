"""Forgetting for good: an instance leaves nothing, and nothing else goes with it."""

from __future__ import annotations

import apsw
import pytest
from msgspec.structs import replace

from tenuto.model.status import Status
from tenuto.store.parts.definitions import DefinitionKey
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.instances import Erasure, InstanceQuery
from tenuto.store.parts.jobs import JobKey, JobRow
from tenuto.store.parts.outbox import Lifecycle
from tenuto.store.parts.turns import InstanceWrite, Ownership, Snapshot, Turn
from tenuto.store.parts.upkeep import Depths
from tenuto.store.protocol import Store
from tests.kit.memory_tables import memory_tables
from tests.kit.postgres_database import connected
from tests.store.conftest import MemoryPlace, Place, PostgresPlace, SqlitePlace
from tests.store.situations import (
    ME,
    NOON,
    begin,
    dead_letter,
    event,
    found_by,
    mail,
    moment,
    step,
    timer,
    turn,
    update,
    wait,
)
from tests.store.test_outbox import listener, posting

pytestmark = pytest.mark.asyncio

GONE, STAYS = "instance-that-goes", "instance-that-stays"
ABOUT = ["instance_id", "stream", "parent_id", "root_id", "rerun_of"]
WHATEVER = Erasure(with_dead_letters=True, with_debts=True)
JOB = JobRow(key=JobKey("i1", "a", "", 1), task_id="t", offered_at=moment(3))


def ended(id: str, *, status: Status = Status.COMPLETED, **fields: object) -> InstanceWrite:
    return replace(begin(id, **fields), update=update(status=status))


async def there(store: Store) -> set[str]:
    return {row.id for row in (await store.instances.page(InstanceQuery(limit=99))).items}


async def everything(place: Place) -> str:
    """All that a place holds, as text."""
    if isinstance(place, MemoryPlace):
        return repr(vars(place.disk)) + repr(memory_tables(place.disk))
    if isinstance(place, PostgresPlace):
        async with connected(place.url) as connection:
            tables = await connection.fetch(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'tenuto'"
            )
            rows = [
                await connection.fetch(f"SELECT t::text FROM tenuto.{name} AS t")
                for (name,) in tables
            ]
        return repr(rows) + repr(bytes_of(rows))
    assert isinstance(place, SqlitePlace)
    file = apsw.Connection(str(place._path), flags=apsw.SQLITE_OPEN_READONLY)
    schema = file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    names = [name for (name,) in schema]
    found = [list(file.execute(f"SELECT * FROM {name}")) for name in names]
    file.close()
    return repr(found)


async def tables_about(place: Place, id: str) -> set[str]:
    """The tables that have a column for an instance's id, and a row with this one in it."""
    if isinstance(place, MemoryPlace):
        tables = memory_tables(place.disk).items()
        return {name for name, table in tables if id in repr(table)}
    if isinstance(place, PostgresPlace):
        async with connected(place.url) as connection:
            columns = await connection.fetch(
                "SELECT table_name, column_name FROM information_schema.columns "
                "WHERE table_schema = 'tenuto' AND column_name = ANY($1)",
                ABOUT,
            )
            return {
                table
                for table, column in columns
                if await connection.fetch(
                    f"SELECT 1 FROM tenuto.{table} WHERE {column} = $1 LIMIT 1", id
                )
            }
    assert isinstance(place, SqlitePlace)
    file = apsw.Connection(str(place._path), flags=apsw.SQLITE_OPEN_READONLY)
    found = {
        table
        for (table,) in list(file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"))
        for _, column, *_ in list(file.execute(f"PRAGMA table_info({table})"))
        if column in ABOUT
        and list(file.execute(f"SELECT 1 FROM {table} WHERE {column} = ? LIMIT 1", (id,)))
    }
    file.close()
    return found


def bytes_of(rows: object) -> str:
    """Bytes are shown as hexadecimal digits; what they spell."""
    text = repr(rows)
    return text.replace(GONE.encode().hex(), GONE).replace(STAYS.encode().hex(), STAYS)


def everything_about(id: str) -> Turn:
    return turn(
        f"turn-of-{id[-4:]}",
        begin(id, key=f"k-{id}", content_hash=b"1", current_steps=("a", "b")),
        process_id=ME,
    )


async def filled(store: Store, id: str) -> None:
    await store.turns.commit(everything_about(id))
    write = replace(
        step(id, 1),
        update=update(status=Status.FAILED),
        searchable=found_by(x="1"),
        snapshot=Snapshot(version=1, state=id.encode()),
        timers_set=(timer(id, 60_000),),
        waits_opened=(wait(id),),
        deliveries=(Delivery("e1", id, "w", "", "resumed"),),
        dead_letters=(dead_letter(f"{id}:1", id),),
        mail_sent=(mail(f"m-{id}", id),),
        jobs_offered=(JobRow(key=JobKey(id, "a", "", 1), task_id="t", offered_at=NOON),),
        ownership=Ownership.TAKE,
        lifecycle=Lifecycle(2, Status.RUNNING),
    )
    await store.turns.commit(turn(f"second-{id[-4:]}", write))


async def test_an_instance_that_is_erased_is_mentioned_nowhere(place: Place) -> None:
    store = await place.opened(ME)
    await store.listeners.put(listener(level=2))
    await store.turns.commit(turn("e", events=(event("e1"),)))
    await filled(store, GONE)
    await filled(store, STAYS)
    postings = [posting("w1", f"event-of-{id}", id) for id in (GONE, STAYS)]
    await store.outbox.drain([], postings)
    assert GONE in await everything(place)
    before = (await everything(place)).count(STAYS)
    assert await tables_about(place, GONE) == await tables_about(place, STAYS) != set()
    assert await store.instances.erase("default", [GONE]) == [], "it owes something"
    assert await store.instances.erase("default", [GONE], WHATEVER) == [GONE]
    assert await tables_about(place, GONE) == set()
    left = await everything(place)
    assert GONE not in left
    assert left.count(STAYS) == before
    assert await store.instances.erase("default", [GONE], WHATEVER) == []
    assert await store.turns.load([GONE]) == {}
    # Its key is free again, and its id may be used anew.
    await store.turns.commit(everything_about(GONE))
    assert set(await store.turns.load([GONE, STAYS])) == {GONE, STAYS}


async def test_a_root_that_has_ended_goes_with_all_that_is_below_it(store: Store) -> None:
    root = replace(ended("i1", key="k"), snapshot=Snapshot(version=1, state=b"{}"))
    child = ended("i2", parent_id="i1", root_id="i1")
    grandchild = ended("i3", parent_id="i2", root_id="i1", status=Status.FAILED)
    await store.turns.commit(turn("t1", root, child, grandchild, ended("i4")))
    assert await store.instances.erase("default", ["i1", "nobody"]) == ["i1"]
    assert await there(store) == {"i4"}
    for id in ("i1", "i2", "i3"):
        assert await store.instances.entries(id) == []
    assert await store.turns.load(["i1"]) == {}
    again = await store.turns.commit(turn("t2", begin("i5", key="k")))
    assert again.writes["i5"].outcome == "won", "a key goes with its instance"
    assert await store.instances.erase("default", ["i1"]) == []


async def test_what_was_erased_is_not_written_to(store: Store) -> None:
    await store.turns.commit(turn("t1", ended("i1")))
    await store.instances.erase("default", ["i1"])
    late = await store.turns.commit(turn("t2", step("i1", 1)))
    assert late.writes["i1"].outcome == "lost"
    assert await store.instances.entries("i1") == []


async def test_children_stay_until_their_root_goes(store: Store) -> None:
    """No instance is pruned before its root."""
    child = ended("i2", parent_id="i1", root_id="i1")
    await store.turns.commit(turn("t1", begin("i1"), child))
    assert await store.instances.erase("default", ["i1", "i2"]) == []
    assert await there(store) == {"i1", "i2"}


async def test_a_root_stays_while_anything_below_it_has_not_ended(store: Store) -> None:
    running = begin("i2", parent_id="i1", root_id="i1")
    await store.turns.commit(turn("t1", ended("i1"), running))
    assert await store.instances.erase("default", ["i1"]) == []


async def test_what_still_owes_something_stays(store: Store) -> None:
    await store.listeners.put(listener())
    owing = {
        "i1": replace(ended("i1"), jobs_offered=(JOB,)),
        "i2": replace(ended("i2"), timers_set=(timer("i2", 5),)),
        "i3": replace(ended("i3"), waits_opened=(wait("i3"),)),
        "i4": replace(ended("i4"), ownership=Ownership.TAKE),
        "i5": replace(ended("i5"), lifecycle=Lifecycle(1, Status.RUNNING)),
        "i6": ended("i6"),
        "i7": ended("i7"),
    }
    await store.turns.commit(turn("t1", *owing.values(), ended("i8")))
    await store.mailbox.send([mail("m6", "i6")])
    await store.outbox.drain([], [posting("w1", "e7", "i7")])
    assert await store.instances.erase("default", [*owing, "i8"]) == ["i8"]
    assert await there(store) == set(owing)
    gone = await store.instances.erase("default", [*owing], Erasure(with_debts=True))
    assert gone == sorted(owing)
    found = await store.upkeep.depths(moment(99))
    assert replace(found, connections=0, connections_in_use=0) == Depths()


async def test_an_instance_with_a_dead_letter_stays_unless_it_is_asked_for(store: Store) -> None:
    await store.turns.commit(
        turn("t1", replace(ended("i1"), dead_letters=(dead_letter("d1", "i1"),)))
    )
    assert await store.instances.erase("default", ["i1"]) == []
    assert await store.instances.erase("default", ["i1"], Erasure(with_dead_letters=True)) == ["i1"]
    assert await store.dead_letters.page("default") == []


async def test_nobody_forgets_what_another_tenant_has(store: Store) -> None:
    await store.turns.commit(turn("t1", ended("i1", tenant="other")))
    assert await store.instances.erase("default", ["i1"]) == []
    assert await store.instances.erase("other", ["i1"]) == ["i1"]


async def test_a_dry_run_says_what_would_go_and_forgets_nothing(store: Store) -> None:
    await store.turns.commit(turn("t1", ended("i1"), begin("i2")))
    assert await store.instances.erase("default", ["i1", "i2"], Erasure(dry_run=True)) == ["i1"]
    assert await there(store) == {"i1", "i2"}


async def test_what_was_tried_out_is_found_by_its_age(store: Store) -> None:
    for number, tenant, id in ((1, "a", "~test:1"), (2, "b", "~test:2"), (3, "a", "order")):
        await store.definitions.save(tenant, id, b"{}", b"1", moment(number))
    assert await store.definitions.old_test_runs(moment(9), 9) == [
        DefinitionKey("a", "~test:1"),
        DefinitionKey("b", "~test:2"),
    ]
    assert await store.definitions.old_test_runs(moment(2), 9) == [DefinitionKey("a", "~test:1")]
    assert len(await store.definitions.old_test_runs(moment(9), 1)) == 1
    await store.definitions.erase("a", "~test:1")
    assert await store.definitions.get("a", "~test:1") is None
    assert await store.definitions.old_test_runs(moment(9), 9) == [DefinitionKey("b", "~test:2")]
