"""Start-up and idling cost what is owned and due, never what is merely stored."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import apsw
import pytest

from tenuto import Settings, Status, Tenuto, WorkflowCancelled
from tenuto.core import Plan
from tenuto.model.json import JSON, Object
from tenuto.store.parts.mailbox import Mail
from tenuto.store.sqlite.mailbox import SqliteMailbox
from tests.engine.situations import ONE_WAIT, steps, until_waiting
from tests.engine.work import Work, counted_work

pytestmark = pytest.mark.asyncio

SLEEPING: Object = {
    "id": "sleeping",
    "steps": [{"stepId": "nap", "type": "DELAY", "duration": "P30D"}],
}


async def store_with_sleepers(path: Path, count: int) -> None:
    """One instance put to sleep by the engine, and as many copies of its rows."""
    async with Tenuto(f"sqlite:///{path}") as app:
        await app.deploy(SLEEPING)
        first = (await app.start("sleeping", {"n": 1})).id
    connection = apsw.Connection(str(path))
    ids = ((str(uuid.UUID(int=number)),) for number in range(1, count))
    with connection:
        connection.execute("CREATE TEMP TABLE copies (id TEXT)")
        connection.executemany("INSERT INTO copies VALUES (?)", ids)
        for table in (
            "workflow_instances",
            "workflow_execution_history",
            "timers",
        ):
            columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
            key = columns[0] if table == "workflow_instances" else "instance_id"
            chosen = ", ".join("copies.id" if name == key else name for name in columns)
            connection.execute(
                f"INSERT INTO {table} ({', '.join(columns)})"
                f" SELECT {chosen} FROM copies, {table} WHERE {table}.{key} = ?",
                (first,),
            )
    connection.close()


async def work_of_starting(path: Path) -> Work:
    with counted_work() as work:
        app = Tenuto(f"sqlite:///{path}", settings=Settings(mail_every=3600, project_every=3600))
        assert await app.open() == 0
        await app.engine.caught_up()
        await app.close()
    assert work.steps
    return work


@pytest.mark.slow
async def test_starting_reads_as_much_with_100000_sleeping_as_with_1000(tmp_path: Path) -> None:
    few, many = tmp_path / "few.db", tmp_path / "many.db"
    await store_with_sleepers(few, 1_000)
    await store_with_sleepers(many, 100_000)
    of_many, of_few = [await work_of_starting(path) for path in (many, few)]
    assert of_many.scanned == of_few.scanned
    # How often a loop has looked by then differs, and never what a look costs.
    shared = of_many.costliest.keys() & of_few.costliest.keys()
    assert len(shared) >= 20, "vacuous: hardly anything was asked of both"
    assert {sql: of_many.costliest[sql] for sql in shared} == {
        sql: of_few.costliest[sql] for sql in shared
    }


async def test_an_idle_engine_asks_for_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most 60 statements a minute: a look into the mailbox every two seconds."""
    assert 60 / Settings().mail_every <= 60
    statements_at_look: list[int] = []
    is_idle = asyncio.Event()
    look = SqliteMailbox.claim

    async def counted_look(mailbox: SqliteMailbox, limit: int, *, again: bool = True) -> list[Mail]:
        statements_at_look.append(app.engine.store.statements)  # type: ignore[attr-defined]
        latest = statements_at_look[-20:]
        if len(latest) == 20 and latest[-1] - latest[0] < 20:
            is_idle.set()
        return await look(mailbox, limit, again=again)

    url = f"sqlite:///{tmp_path}/idle.db"
    async with Tenuto(url, settings=Settings(mail_every=0.01, project_every=0.01)) as app:
        await app.deploy(SLEEPING)
        await app.start("sleeping", {"n": 1})
        monkeypatch.setattr(SqliteMailbox, "claim", counted_look)
        async with asyncio.timeout(30):
            await is_idle.wait()


async def test_what_is_due_after_a_long_sleep_goes_on(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/due.db"
    async with Tenuto(url) as app:
        await app.deploy(SLEEPING)
        instance = await app.start("sleeping", {"n": 1})
        assert await instance.status() is Status.RUNNING
    connection = apsw.Connection(str(tmp_path / "due.db"))
    assert connection.execute("SELECT count(*) FROM timers").get == 1
    assert connection.execute("SELECT count(*) FROM owners").get == 0
    connection.close()


async def test_only_what_was_running_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "mixed.db"
    app = Tenuto(f"sqlite:///{path}", settings=Settings(stop_grace=0.0))
    begun = asyncio.Event()

    @app.task
    async def work(input: object) -> object:
        begun.set()
        return await asyncio.Future()

    await app.open()
    await app.deploy(SLEEPING)
    await app.deploy(steps("a"))
    for _ in range(20):
        await app.start("sleeping", None)
    running = await app.start("flow", "x")
    await begun.wait()
    await app.close()

    again = Tenuto(f"sqlite:///{path}")

    @again.task(name="work")
    async def quick(input: object) -> object:
        return input

    assert await again.open() == 1
    assert await (await again.instance(running.id)).result(10) == "x"
    await again.close()


async def test_a_saved_definition_is_compiled_once_however_often_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    async with Tenuto(url) as app:
        await app.deploy(SLEEPING)
    async with Tenuto(url) as again:
        plans, compiled = again.engine.plans, 0
        compile_document = plans.compile

        def counting(document: JSON, *, is_saved: bool) -> Plan:
            nonlocal compiled
            compiled += 1
            return compile_document(document, is_saved=is_saved)

        monkeypatch.setattr(plans, "compile", counting)
        for _ in range(3):
            await again.start("sleeping")
        assert compiled == 1


async def test_a_letter_that_cannot_be_read_is_left_and_the_others_are_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    async with Tenuto(url, settings=Settings(mail_every=3600)) as app:
        await app.deploy(SLEEPING)
        instance = await app.start("sleeping")
        now = app.engine.clock.now()
        inputs = {
            "new": b'{"type":"of-a-newer-program"}',
            "old": b'{"type":"cancel-asked","by":"x"}',
        }
        await app.engine.store.mailbox.send(
            [
                Mail(id=id, instance_id=instance.id, input=input, created_at=now)
                for id, input in inputs.items()
            ]
        )
    async with Tenuto(url) as again:
        with pytest.raises(WorkflowCancelled):
            await (await again.instance(instance.id)).result(60)
        assert [letter.id for letter in await again.engine.store.mailbox.claim(10)] == ["new"]
    assert "new" in caplog.text


async def test_a_wait_of_an_instance_that_cannot_be_read_holds_up_no_start(tmp_path: Path) -> None:
    """It was written by a newer program, which died before the wait had looked back."""
    url = f"sqlite:///{tmp_path}/a.db"
    async with Tenuto(url) as app:
        await app.deploy(ONE_WAIT)
        await app.start("waiting", {"orderId": 1})
        await until_waiting(app, 1)
        await app.publish("payment.received", {"orderId": 2})
    with apsw.Connection(f"{tmp_path}/a.db") as connection:
        connection.execute(
            "UPDATE workflow_event_subscriptions SET looked_back = 0, condition = NULL"
        )
        connection.execute(
            "UPDATE workflow_execution_history SET event_type = 'NEWER' WHERE seq = 1"
        )
    connection.close()
    async with asyncio.timeout(10), Tenuto(url) as again:
        other = await again.start("waiting", {"orderId": 3})
        await again.publish("payment.received", {"orderId": 3})
        await other.result(60)


@pytest.mark.parametrize("setting", ["project_every", "mail_every", "outbox_every", "prune_every"])
async def test_a_loop_without_a_pause_leaves_the_event_loop_to_others(setting: str) -> None:
    async with asyncio.timeout(20), Tenuto(settings=Settings(**{setting: 0.0})) as app:  # type: ignore[arg-type]
        await app.deploy(SLEEPING)
        await app.start("sleeping", {"n": 1})
