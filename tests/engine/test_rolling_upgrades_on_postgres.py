"""Old and new programs side by side on a real database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import pytest_asyncio

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.model.inputs import Started
from tenuto.model.json import Object
from tenuto.store.postgres import PostgresStore
from tenuto.store.protocol import Store
from tests.engine.old_program import OldProgram
from tests.engine.situations import steps
from tests.kit.postgres_database import connected, fresh_database
from tests.store.postgres_place import let_time_pass

pytestmark = pytest.mark.asyncio

NEWER, PLAIN = steps("only", id="newer"), steps("only", id="plain")
LEFT: Object = steps("only", task="other", id="newer")
PATIENCE = 20
BEATS = 0.1
BEAT_EVERY = timedelta(seconds=BEATS)


class Stage:
    """A database, and programs on it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.apps: list[Tenuto] = []
        self.is_working = asyncio.Event()

    async def opened(self, name: str, store: Store, *, has_other: bool = True) -> Tenuto:
        settings = Settings(
            mail_every=BEATS,
            jobs_every=BEATS,
            watch_every=BEATS,
            unknown_tasks="wait",
        )
        app = Tenuto(store, settings=settings)

        async def work() -> str:
            self.is_working.set()
            if name == "gone":
                await asyncio.Event().wait()
            return name

        for task in ("work", "other") if has_other else ("work",):
            app.task(name=task)(work)
        await app.open()
        self.apps.append(app)
        return app

    async def kill(self, app: Tenuto) -> None:
        process_id = app.engine.process_id
        self.apps.remove(app)
        await app.engine.shared.loops.stop()
        app.engine.runner.abandon()
        app.engine.store.abandon()
        await let_time_pass(self.url, process_id)

    async def until(self, sql: str) -> None:
        async with asyncio.timeout(PATIENCE), connected(self.url) as connection:
            while not (await connection.fetch(sql))[0][0]:
                await connection.fetch("SELECT pg_sleep(0.01)")


@pytest_asyncio.fixture
async def stage() -> AsyncIterator[Stage]:
    made = Stage(await fresh_database())
    yield made
    for app in made.apps:
        await app.close()


async def test_the_old_one_keeps_nothing_that_it_cannot_read_and_the_new_one_goes_on(
    stage: Stage,
) -> None:
    gone = await stage.opened("gone", PostgresStore(stage.url, beat_every=BEAT_EVERY))
    inner = PostgresStore(stage.url, beat_every=BEAT_EVERY)
    old_store = OldProgram(inner)
    old = await stage.opened("old", old_store)
    for document in (NEWER, PLAIN):
        await gone.deploy(document)
    newer = [await gone.start("newer") for _ in range(3)]
    plain = [await gone.start("plain") for _ in range(3)]
    await stage.is_working.wait()
    await stage.kill(gone)
    for each in plain:
        assert await (await old.instance(each.id)).result(PATIENCE) == "old"
    await stage.until("SELECT count(*) = 3 FROM tenuto.owners WHERE process_id = 'given-back'")

    # Now it leaves them alone: looking costs what it always does, a beat, a look for mail and one
    # for jobs, and nothing is asked for because of what it has given back.
    loads, before = old_store.asked["turns.load"], inner.statements
    claims = old_store.asked["members.claim_orphans"]
    began = time.monotonic()
    await stage.until("SELECT pg_sleep(1) IS NOT NULL")
    beats = (time.monotonic() - began) / BEATS
    assert old_store.asked["turns.load"] == loads
    assert old_store.asked["members.claim_orphans"] == claims
    # Each of the four may come once more than there are whole beats.
    assert inner.statements - before <= 4 * (beats + 1)

    new = await stage.opened("new", PostgresStore(stage.url, beat_every=BEAT_EVERY))
    for each in newer:
        instance = await new.instance(each.id)
        assert await instance.result(PATIENCE) == "new"
        kinds = [entry.event_type for entry in await new.engine.store.instances.entries(each.id)]
        assert kinds.count("NODE_DISPATCHED") == 2
    await stage.until("SELECT count(*) = 0 FROM tenuto.owners")
    assert old.engine.fault is None
    assert new.engine.fault is None


async def test_what_the_new_one_writes_to_an_instance_of_the_old_one_is_handed_over(
    stage: Stage,
) -> None:
    old = await stage.opened("gone", OldProgram(PostgresStore(stage.url, beat_every=BEAT_EVERY)))
    new = await stage.opened("new", PostgresStore(stage.url, beat_every=BEAT_EVERY))
    await old.deploy(PLAIN)
    started = await old.start("plain")
    await stage.is_working.wait()
    seen = await new.instance(started.id)
    await seen.pause()
    owned = f"SELECT count(*) FROM tenuto.owners WHERE process_id = '{old.engine.process_id}'"
    await stage.until(f"SELECT ({owned}) = 0")
    await seen.resume()
    assert await seen.result(PATIENCE) == "new"
    assert old.engine.runner.in_flight == 0


async def test_jobs_that_the_old_one_cannot_read_are_run_by_the_new_one(stage: Stage) -> None:
    owner = await stage.opened(
        "owner", PostgresStore(stage.url, beat_every=BEAT_EVERY), has_other=False
    )
    old_store = OldProgram(PostgresStore(stage.url, beat_every=BEAT_EVERY))
    await stage.opened("old", old_store)
    plan = (await owner.engine.plans.save("default", LEFT)).plan
    start = Started(definition_id="newer", definition_version=1, input={})
    ids = [(await owner.engine.start(plan, start)).instance_id for _ in range(3)]
    await stage.until("SELECT count(*) = 3 FROM tenuto.jobs WHERE token > 0 AND leased_by IS NULL")
    loads = old_store.asked["turns.load"]
    await stage.until("SELECT pg_sleep(0.5) IS NOT NULL")
    assert old_store.asked["turns.load"] == loads
    await stage.opened("new", PostgresStore(stage.url, beat_every=BEAT_EVERY))
    for id in ids:
        assert await (await owner.instance(id)).result(PATIENCE) == "new"
        kinds = [entry.event_type for entry in await owner.engine.store.instances.entries(id)]
        assert kinds.count("NODE_DISPATCHED") == 1


async def test_a_day_later_there_is_still_somebody_to_inherit_from(stage: Stage) -> None:
    """What was given back lies under a name of its own, which is forgotten like any other."""
    gone = await stage.opened("gone", PostgresStore(stage.url, beat_every=BEAT_EVERY))
    await gone.deploy(NEWER)
    await stage.opened("old", OldProgram(PostgresStore(stage.url, beat_every=BEAT_EVERY)))
    for _ in range(2):
        started = await gone.start("newer")
        await stage.is_working.wait()
        await stage.kill(gone)
        await stage.until("SELECT count(*) = 1 FROM tenuto.owners WHERE process_id = 'given-back'")
        async with connected(stage.url) as connection:
            await connection.execute(
                "UPDATE tenuto.processes SET stopped_at = 1 WHERE stopped_at IS NOT NULL"
            )
        heir = await stage.opened("new", PostgresStore(stage.url, beat_every=BEAT_EVERY))
        assert await (await heir.instance(started.id)).result(PATIENCE) == "new"
        await stage.until("SELECT count(*) = 0 FROM tenuto.owners")
        stage.apps.remove(heir)
        await heir.close()
        stage.is_working.clear()
        gone = await stage.opened("gone", PostgresStore(stage.url, beat_every=BEAT_EVERY))
        await stage.until("SELECT count(*) = 0 FROM tenuto.processes WHERE id = 'given-back'")
