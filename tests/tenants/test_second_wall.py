"""When a statement has lost its filter, the database still shows a tenant nothing of another's.

The mistake is made on purpose: whatever is read asks for everybody's rows, and the engine takes
every instance for the one's who asks.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from copy import copy
from datetime import timedelta
from functools import partial

import msgspec
import pytest
import pytest_asyncio

from tenuto.access.keys import Keys, KeyWish
from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.engine.tenancy import held_by
from tenuto.engine.turns.held import Held
from tenuto.executions.tokens import execution_id
from tenuto.model.errors import Conflict, NotFound
from tenuto.model.executions import TaskReport
from tenuto.model.json import Object
from tenuto.model.task_definition import TaskDefinition
from tenuto.store.parts.audit import AuditEntry, AuditQuery
from tenuto.store.parts.inbox import PastEvents
from tenuto.store.parts.jobs import JobKey
from tenuto.store.parts.workers import Sighting
from tenuto.store.postgres import PostgresStore, instances, pool
from tenuto.store.postgres.queries import Statement, page_of_instances, statement
from tenuto.workspace.engine_workspace import EngineWorkspace
from tests.api.conftest import Caller, served
from tests.api.test_live import Door, said, socket_of
from tests.engine.situations import steps
from tests.kit.postgres_database import fresh_database
from tests.tenants.calls import (
    BY_CALENDAR,
    BY_DATA_QUERY,
    BY_DATA_SOURCE,
    BY_DEAD_LETTER,
    BY_EVENT,
    BY_INSTANCE,
    BY_SCHEDULE,
    BY_SECRET,
    BY_SUBSCRIPTION,
    BY_TASK,
    BY_WEBHOOK,
    OF_INSTANCE,
    OfWorkspace,
)
from tests.tenants.rows import of_postgres
from tests.tenants.town import LEFT, RIGHT, Mirrored, Town, app_on

pytestmark = pytest.mark.asyncio

_FILTER = re.compile(r"(?:\w+\.)?tenant (?:=|IS NOT DISTINCT FROM) (\$\d+)")
_WRITES = re.compile(r"\b(?:INSERT|UPDATE|DELETE|NOTIFY)\b")
SECRET = "hidden from everybody"
"""What is in everything that the right tenant has and the left one has not."""
SHOWING = (
    "status of an instance",
    "state of an instance",
    "context of an instance",
    "details of an instance",
    "history of an instance",
    "explain of an instance",
    "undo_plan of an instance",
    "instance",
    "held",
    "dead_letters.row",
    "dead_letters.get",
    "event",
    "definition",
    "task_definitions.get",
    "webhooks.get",
    "subscriptions.get",
)
"""Calls that show something and change nothing."""
EVE = {"authorization": "Bearer eve"}
NOT_ONLY_READ = {
    *("webhooks.remove", "subscriptions.remove"),
    *("task_definitions.remove", "task_definitions.execute"),
    *("schedules.remove", "schedules.pause", "schedules.resume", "schedules.trigger"),
    *("schedules.backfill", "calendars.remove", "calendars.import_dates"),
    *("data_sources.remove", "data_queries.remove"),
    "secrets.remove",
}


def without_filter(sent: Statement) -> Statement:
    if _WRITES.search(sent.sql):
        return sent
    return sent._replace(sql=_FILTER.sub(r"\1::text IS NOT NULL", sent.sql))


@pytest_asyncio.fixture
async def town() -> AsyncIterator[Town]:
    url = await fresh_database()
    async with app_on(url) as app:
        yield Town(app, of_postgres(url))


@contextmanager
def mistaken(town: Town) -> Iterator[None]:
    """The mistakes are made."""
    engine = town.app.engine

    async def taken_for_left(id: str) -> Held:
        held = copy(await type(engine).state_of(engine, id))
        held.tenant = LEFT
        return held

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "statement", lambda *it: without_filter(statement(*it)))
        patch.setattr(
            instances, "page_of_instances", lambda *it: without_filter(page_of_instances(*it))
        )
        patch.setattr(engine, "state_of", taken_for_left)
        yield


def seen(
    past_it: list[str], verb: str, proceed: Callable[..., object], *given: object, **more: object
) -> object:
    """Pass a call on, and note that it was made."""
    past_it.append(verb)
    return proceed(*given, **more)


@contextmanager
def no_wall(town: Town) -> Iterator[None]:
    store = town.app.engine.store
    assert isinstance(store, PostgresStore)
    assert store._database.guarded is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store._database, "guarded", None)
        yield


def calls_with(theirs: Mirrored) -> dict[str, Callable[[EngineWorkspace], Awaitable[object]]]:
    """Whatever can be asked with an id of somebody else's."""
    tables: list[tuple[dict[str, OfWorkspace], str]] = [
        (BY_INSTANCE, theirs.waiting),
        (BY_DEAD_LETTER, theirs.dead_letter),
        (BY_EVENT, "hidden"),
        (BY_WEBHOOK, theirs.webhook),
        (BY_SUBSCRIPTION, theirs.subscription),
        ({"definition": lambda mine, id: mine.definition(id)}, "hidden"),
        (BY_TASK, "hidden"),
        (BY_SCHEDULE, "hidden"),
        (BY_CALENDAR, "hidden"),
        (BY_DATA_SOURCE, "hidden"),
        (BY_DATA_QUERY, "hidden"),
        (BY_SECRET, "hidden"),
        ({"held": lambda mine, id: held_by(mine.engine, mine.tenant, id)}, theirs.waiting),
    ]
    named: dict[str, Callable[[EngineWorkspace], Awaitable[object]]] = {
        name: lambda mine, call=call, id=id: call(mine, id)  # type: ignore[misc]
        for table, id in tables
        for name, call in table.items()
        if name not in NOT_ONLY_READ
    }
    of_instance: dict[str, Callable[[EngineWorkspace], Awaitable[object]]] = {
        f"{name} of an instance": lambda mine, call=call: call(mine.at(theirs.failed))  # type: ignore[misc]
        for name, call in OF_INSTANCE.items()
    }
    return named | of_instance


async def hide_something(town: Town) -> None:
    """The right one has some of everything in which a word stands that the left one never wrote."""
    right, engine = town.right, town.app.engine
    await right.deploy(steps("a", id="hidden"))
    await right.start("flow", {"is": SECRET}, correlation_id=SECRET)
    await right.publish("hidden.pattern", {"is": SECRET}, id="hidden")
    await right.task_definitions.add(TaskDefinition(id="hidden", kind="pull", description=SECRET))
    week: Object = {"mon": ["09:00-17:00"]}
    await right.calendars.save({"id": "hidden", "name": SECRET, "timezone": "UTC", "week": week})
    at: Object = {"id": "hidden", "cron": "0 9 1 1 *", "target": {"workflowId": "hidden"}}
    await right.schedules.save({**at, "name": SECRET})
    await right.data_sources.save(
        {"id": "hidden", "kind": "sqlite", "file": "a.db", "name": SECRET}
    )
    query: Object = {"id": "hidden", "dataSourceId": "hidden", "sql": "SELECT 1", "name": SECRET}
    await right.data_queries.save(query)
    await right.secrets.put("hidden", SECRET, destinations=["hidden.example.com"])
    root = Principal(name="root", kind="local", tenant=RIGHT, role=Role.ADMIN)
    keys = Keys(engine.store, engine.clock, engine.ids)
    await keys.create(root, KeyWish(name=SECRET, role=Role.ADMIN))
    now = engine.clock.now()
    await engine.store.workers.saw([Sighting(tenant=RIGHT, worker_id=SECRET, age=0)], now)
    await engine.store.audit.append(
        [
            AuditEntry(
                id="a1",
                at=now,
                tenant=RIGHT,
                actor=SECRET,
                kind="local",
                action="look",
                target="",
                outcome="done",
            )
        ]
    )


async def shown_to_left(town: Town) -> dict[str, str]:
    """All lists, as the left tenant gets them."""
    left, engine = town.left, town.app.engine
    seen = engine.store.seen_by(LEFT)
    since = engine.clock.now() - timedelta(hours=1)
    found: dict[str, object] = {
        "instances": await left.instances(),
        "definitions": (await left.definitions.newest())[0],
        "definition_ids": await left.definition_ids(),
        "dead letters": (await left.dead_letters.rows(10))[0],
        "webhooks": await left.webhooks.list(),
        "subscriptions": await left.subscriptions.list(),
        "tasks": await left.task_definitions.list(),
        "workers": await left.workers.list(),
        "keys": await Keys(engine.store, engine.clock, engine.ids).list(LEFT),
        "audit": await seen.audit.query(AuditQuery(tenant=LEFT, limit=10)),
        "events": await seen.inbox.latest(LEFT, None, since, limit=100),
        "past events": await seen.inbox.past(PastEvents(tenant=LEFT, pattern=None, since=since)),
        "tallies": sorted(await seen.stats.tallies(LEFT, since, since, 1000), key=str),
    }
    return {name: _text(value) for name, value in found.items()}


def _text(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=repr).decode() if value else ""


@pytest.mark.slow
async def test_a_lost_filter_shows_nothing_of_another_tenant(town: Town) -> None:
    """Nor does it without the mistake; and without the wall the mistake would be seen."""
    _, theirs = await town.furnish()
    await hide_something(town)
    await town.settle()
    calls, listed = calls_with(theirs), await shown_to_left(town)
    before = await town.digest_of(RIGHT)
    with no_wall(town), mistaken(town):
        leaking = await shown_to_left(town)
        assert all([await calls[name](town.left) for name in SHOWING])
    assert [name for name in listed if leaking[name] == listed[name]] == []
    with mistaken(town):
        assert await shown_to_left(town) == listed
        for name, call in calls.items():
            try:
                answer: object = await call(town.left)
            except NotFound:
                continue
            pytest.fail(f"{name} answered {answer}")
    await town.settle()
    assert await town.digest_of(RIGHT) == before


@pytest.mark.slow
async def test_a_lost_filter_opens_no_room_of_another_tenant() -> None:
    url = await fresh_database()
    app = app_on(url)
    async with served(app=app, authentication=Door(eve=LEFT)) as call:
        town = Town(app, of_postgres(url))
        await town.right.deploy(steps("a"))
        theirs = await town.right.start("flow", {"is": SECRET})
        await theirs.result(20)
        with no_wall(town), mistaken(town):
            assert SECRET in await streamed(call, theirs.id)
            assert (await joined(call, theirs.id))["event"] == "workflow_run_joined"
        with mistaken(town):
            assert "TEN-3001" in await streamed(call, theirs.id)
            assert (await joined(call, theirs.id))["code"] == "TEN-3001"
        # Nor is there a way in where somebody whose it is has opened the room.
        async with call.pipeline.service.live.follow(RIGHT, theirs.id):
            with mistaken(town):
                assert "TEN-3001" in await streamed(call, theirs.id)


@pytest.mark.slow
async def test_what_is_read_by_the_way_is_read_behind_the_wall(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What led to a dead letter, whose execution it is, and which definition is taken away."""
    url = await fresh_database()
    app = app_on(url)
    async with served(app=app, authentication=Door(eve=LEFT)) as call:
        store, town = app.engine.store, Town(app, of_postgres(url))
        ours, _ = await town.furnish()
        past_it: list[str] = []
        for part, verb in (
            (store.instances, "entries"),
            (store.instances, "page"),
            (store.definitions, "get"),
        ):
            proceed = getattr(part, verb)

            monkeypatch.setattr(part, verb, partial(seen, past_it, verb, proceed))
        reply = await call("GET", f"/dead-letters/{ours.dead_letter}", headers=EVE)
        assert reply.json["history"]
        report = TaskReport(
            execution_id=execution_id(JobKey(ours.failed, "broken", "", 1)), lease_token="guessed"
        )
        [reported] = await call.pipeline.service.broker.report(LEFT, [report])
        assert isinstance(reported.error, Conflict)
        assert past_it == []
        await town.left.definitions.withdraw("order")
        # The engine's own look, before it writes.
        assert past_it == ["get"]


async def streamed(call: Caller, id: str) -> str:
    """What the left tenant is told of an instance as server-sent events."""
    url = f"{call.url}/api/v1/instances/{id}/stream?untilEnd=true"
    async with call.session.get(url, headers=EVE) as stream:
        return await stream.text()


async def joined(call: Caller, id: str) -> dict[str, str]:
    """What the left tenant hears first when it joins an instance on a socket."""
    async with socket_of(call, **EVE) as socket:
        await socket.send_json({"event": "workflow_run_join", "runId": id})
        answer: dict[str, str] = await said(socket)
        return answer


async def test_who_is_told_of_a_test_run_sees_its_events_behind_the_wall(town: Town) -> None:
    """Its events stand under a name that no tenant has."""
    document: Object = {
        "id": "tried",
        "steps": [
            {
                "stepId": "w",
                "type": "EVENT_WAIT",
                "eventPattern": "tried.on",
                "eventCondition": "event.payload.n === 1",
            }
        ],
    }
    made = await town.left.test_runs.start(document)
    await town.left.test_runs.publish(made.instance_id, {"pattern": "tried.on", "payload": {}})
    [waiting] = await town.left.at(made.instance_id).waits()
    assert isinstance(waiting, dict)
    assert len(waiting["nearMisses"]) == 1  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        await town.right.at(made.instance_id).waits()
