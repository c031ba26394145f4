"""Forgetting for good: an instance leaves nothing, and nothing else goes with it."""

from __future__ import annotations

import apsw
import pytest

from tenuto.model.status import Status
from tenuto.store.erasing_protocol import DefinitionKey
from tenuto.store.job_protocol import JobKey, JobRow
from tenuto.store.outbox_protocol import Lifecycle
from tenuto.store.protocol import Delivery, Ownership, Snapshot, Turn
from tests.kit.postgres_database import connected
from tests.store.conftest import Handle, MemoryPlace, Place, PostgresPlace, SqlitePlace
from tests.store.situations import (
    ME,
    NOON,
    begin,
    dead_letter,
    event,
    mail,
    moment,
    step,
    timer,
    turn,
    wait,
)
from tests.store.test_outbox import listener, posting

pytestmark = pytest.mark.asyncio

GONE, STAYS = "instance-that-goes", "instance-that-stays"


async def everything(place: Place) -> str:
    """All that a place holds, as text."""
    if isinstance(place, MemoryPlace):
        return repr(vars(place.disk))
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


async def filled(store: Handle, id: str) -> None:
    await store.commit(everything_about(id))
    write = step(
        id,
        1,
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
    await store.commit(turn(f"second-{id[-4:]}", write))


async def test_an_instance_that_is_erased_is_mentioned_nowhere(place: Place) -> None:
    store = await place.opened(ME)
    await store.put_listener(listener(level=2))
    await store.commit(turn("e", events=(event("e1"),)))
    await filled(store, GONE)
    await filled(store, STAYS)
    postings = [posting("w1", f"event-of-{id}", id) for id in (GONE, STAYS)]
    await store.drained([], postings)
    assert GONE in await everything(place)
    before = (await everything(place)).count(STAYS)
    assert await store.erase_instance("default", GONE)
    left = await everything(place)
    assert GONE not in left
    assert left.count(STAYS) == before
    assert not await store.erase_instance("default", GONE)
    assert await store.load([GONE]) == {}
    # Its key is free again, and its id may be used anew.
    await store.commit(everything_about(GONE))
    assert set(await store.load([GONE, STAYS])) == {GONE, STAYS}


async def test_an_instance_of_another_tenant_is_not_erased(store: Handle) -> None:
    await filled(store, STAYS)
    assert not await store.erase_instance("other", STAYS)
    assert set(await store.load([STAYS])) == {STAYS}
    assert await store.entries(STAYS)


async def test_what_was_tried_out_is_found_by_its_age(store: Handle) -> None:
    for number, tenant, id in ((1, "a", "~test:1"), (2, "b", "~test:2"), (3, "a", "order")):
        await store.save_definition(tenant, id, b"{}", b"1", moment(number))
    assert await store.old_rehearsals(moment(9), 9) == [
        DefinitionKey("a", "~test:1"),
        DefinitionKey("b", "~test:2"),
    ]
    assert await store.old_rehearsals(moment(2), 9) == [DefinitionKey("a", "~test:1")]
    assert len(await store.old_rehearsals(moment(9), 1)) == 1
    await store.erase_definition("a", "~test:1")
    assert await store.definition("a", "~test:1") is None
    assert await store.old_rehearsals(moment(9), 9) == [DefinitionKey("b", "~test:2")]
