"""What is another tenant's is not there: whatever is asked, and however."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tenuto.engine.tenancy import own_id
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.model.errors import Conflict, NotFound, TenutoError
from tenuto.model.json import Object
from tenuto.model.task_definition import TaskDefinition
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.workers import Sighting
from tenuto.workspace.engine_workspace import EngineWorkspace
from tenuto.workspace.instance import InstanceRef
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.values import InstanceFilter, Start
from tests.engine.situations import steps
from tests.store.situations import NOON
from tests.tenants.calls import (
    BY_BULK,
    BY_CALENDAR,
    BY_DATA_QUERY,
    BY_DATA_SOURCE,
    BY_DEAD_LETTER,
    BY_EVENT,
    BY_ID,
    BY_INSTANCE,
    BY_KEY,
    BY_SCHEDULE,
    BY_SECRET,
    BY_SUBSCRIPTION,
    BY_TASK,
    BY_WEBHOOK,
    BY_WORKFLOW,
    OF_INSTANCE,
    ONLY_OWN,
    PARTS,
    OfWorkspace,
    methods_of,
)
from tests.tenants.conftest import STORES, opened
from tests.tenants.town import LEFT, RIGHT, Mirrored, Town

pytestmark = pytest.mark.asyncio

NOBODYS = "0192a000-0000-7000-8000-000000000000"
HIDDEN: Object = steps("a", id="hidden")


async def refusal(call: Callable[[], Awaitable[object]]) -> NotFound:
    with pytest.raises(NotFound) as refused:
        await call()
    return refused.value


def told(error: TenutoError, id: str) -> tuple[str, str]:
    return error.code, str(error).replace(id, "ID")


def asked_with(theirs: Mirrored) -> list[tuple[dict[str, OfWorkspace], str, str]]:
    """Calls, an id of somebody else for them, and one that nobody has."""
    return [
        *((BY_INSTANCE, id, NOBODYS) for id in theirs.instances),
        (BY_DEAD_LETTER, theirs.dead_letter, f"{NOBODYS}:a"),
        (BY_WORKFLOW, "hidden", "nothing"),
        (BY_EVENT, "hidden", "nothing"),
        (BY_TASK, "hidden", "nothing"),
        (BY_SCHEDULE, "hidden", "nothing"),
        (BY_CALENDAR, "hidden", "nothing"),
        (BY_DATA_SOURCE, "hidden", "nothing"),
        (BY_DATA_QUERY, "hidden", "nothing"),
        (BY_SECRET, "hidden", "nothing"),
        (BY_WEBHOOK, theirs.webhook, "wh-0000000000000000"),
        (BY_SUBSCRIPTION, theirs.subscription, "sub-0000000000000000"),
    ]


async def test_what_another_tenant_has_is_not_even_loaded(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long that takes would tell that it is there."""
    _, theirs = await town.furnish()
    await town.settle()
    looked_at: list[str] = []
    look_at = Loader.look_at

    async def noted(self: Loader, instance_id: str) -> Held:
        looked_at.append(instance_id)
        return await look_at(self, instance_id)

    monkeypatch.setattr(Loader, "look_at", noted)
    for id in theirs.instances:
        for name, call in OF_INSTANCE.items():
            await refusal(lambda: call(town.left.at(id)))  # noqa: B023
            assert looked_at == [], name
        for name, by_id in BY_INSTANCE.items():
            await refusal(lambda: by_id(town.left, id))  # noqa: B023
            assert looked_at == [], name


async def test_nothing_that_can_be_asked_reaches_what_another_tenant_has(town: Town) -> None:
    """ "an instance of another tenant is NotFound, exactly as one that is not there"."""
    _, theirs = await town.furnish()
    await town.right.deploy(HIDDEN)
    await town.right.publish("hidden.told", {}, id="hidden")
    await town.right.task_definitions.add(TaskDefinition(id="hidden", kind="pull"))
    week: Object = {"mon": ["09:00-17:00"]}
    await town.right.calendars.save({"id": "hidden", "timezone": "UTC", "week": week})
    at: Object = {"id": "hidden", "cron": "0 9 1 1 *", "target": {"workflowId": "hidden"}}
    await town.right.schedules.save(at)
    await town.right.data_sources.save({"id": "hidden", "kind": "sqlite", "file": "a.db"})
    query: Object = {"id": "hidden", "dataSourceId": "hidden", "sql": "SELECT 1"}
    await town.right.data_queries.save(query)
    await town.right.secrets.put("hidden", "their value")
    operation = await town.right.bulk.start("pause", InstanceFilter(workflow="hidden"))
    key = await town.right.keys.create("theirs", role="viewer")
    # It ends by itself, in the background.
    while (await town.right.bulk.get(str(operation.id))).status == "running":
        pass
    await town.settle()
    before = await town.digest_of(RIGHT, {"hidden"})
    for id in theirs.instances:
        for name, call in OF_INSTANCE.items():
            foreign = await refusal(lambda: call(town.left.at(id)))  # noqa: B023
            missing = await refusal(lambda: call(town.left.at(NOBODYS)))  # noqa: B023
            assert told(foreign, id) == told(missing, NOBODYS), name
    more = [(BY_BULK, str(operation.id), "0" * 32), (BY_KEY, str(key["id"]), "0" * 16)]
    for calls, theirs_id, nobodys_id in [*asked_with(theirs), *more]:
        for name, by_id in calls.items():
            foreign = await refusal(lambda: by_id(town.left, theirs_id))  # noqa: B023
            missing = await refusal(lambda: by_id(town.left, nobodys_id))  # noqa: B023
            assert told(foreign, theirs_id) == told(missing, nobodys_id), name
            advice = foreign.advice or ""
            assert not any(each in advice for each in (RIGHT, *theirs)), name
    await town.settle()
    assert await town.digest_of(RIGHT, {"hidden"}) == before


async def test_the_tables_name_everything_that_can_be_asked() -> None:
    asked = {f"{part}.{name}" for part, kind in PARTS.items() for name in methods_of(kind)}
    assert methods_of(InstanceRef) == set(OF_INSTANCE)
    assert methods_of(EngineWorkspace) | asked == {*ONLY_OWN}.union(*BY_ID)


async def test_changes_of_anothers_instance_are_not_there(town: Town) -> None:
    _, theirs = await town.furnish()
    for id in (theirs.waiting, NOBODYS):
        await refusal(town.left.at(id).changes().__anext__)


async def test_lists_show_what_is_ones_own(town: Town) -> None:
    mine, theirs = await town.furnish()
    await town.right.deploy(HIDDEN)
    engine = town.right.engine
    worker = Sighting(tenant=RIGHT, worker_id="hidden", age=0)
    await engine.store.workers.saw([worker], engine.clock.now())
    left = town.left
    wanted = InstanceQuery(ids=theirs.instances, tenant=RIGHT)
    rights = InstanceQuery(tenant=RIGHT)
    shown = [
        await left.instances(),
        await left.page(),
        await left.instances(roots=True, updated_from=NOON),
        await left.instances(waiting_for="order.paid"),
        [await left.instances(parent_id=id) for id in theirs.instances],
        await left.details(theirs.instances),
        await left.newest_definitions(),
        await instance_rows(left.engine, left.tenant, rights),
        await left.events(),
        await left.task_definitions.list(),
        await left.task_definitions.page(limit=10),
        await left.workers.list(),
        await left.workers.page(),
        await left.definition_page(),
        await left.event_page(),
        await left.dead_letters.page(),
        await left.bulk.list(),
        await left.keys.list(),
        await left.audit.page(),
        await left.dead_letters.list(),
        await left.webhooks.list(),
        await left.subscriptions.list(),
        await left.definition_ids(),
        [row.id for row in (await left.definitions.newest())[0]],
    ]
    text = repr(shown)
    assert not [each for each in (RIGHT, "hidden", *theirs) if each in text]
    assert all(each in text for each in mine if each != mine.dead_letter)
    assert (await instance_rows(left.engine, left.tenant, wanted)).items == []
    assert (await left.page(InstanceFilter(ids=theirs.instances))).items == []
    assert await left.definitions.versions("hidden", [1]) == []


async def test_an_id_that_another_tenant_has_is_as_free_as_any(town: Town) -> None:
    mine, theirs = await town.furnish()
    before = await town.digest_of(RIGHT)
    with pytest.raises(Conflict) as own:
        await town.left.start("waiting", {"orderId": 9}, instance_id=mine.completed)
    assert own.value.status == "COMPLETED"
    for key in (None, "new"):
        id = theirs.completed if key is None else theirs.waiting
        asked = Start(workflow="flow", input={"orderId": 9}, instance_id=id, key=key)
        started = await town.left.starting.begin(asked)
        assert not started.is_repeat
        await town.app.engine.final_state(started.instance_id)
        assert (await town.left.at(id).details())["id"] == started.instance_id
        assert (await town.left.at(id).details())["input"] == {"orderId": 9}
        for name in ("state", "waits", "widget", "context", "details", "history", "undo_plan"):
            by_both = [OF_INSTANCE[name](town.left.at(each)) for each in (id, started.instance_id)]
            assert repr(await by_both[0]) == repr(await by_both[1]), name
        if key is not None:
            assert (await town.left.starting.begin(asked)).is_repeat
            continue
        # A second start finds the first, and tells of that one alone.
        with pytest.raises(Conflict) as taken:
            await town.left.starting.begin(asked)
        assert taken.value.status == await town.left.at(id).status()
    [one, other] = await town.left.starting.begin_many(
        [Start(workflow="hidden"), Start(workflow="flow", instance_id=theirs.failed)]
    )
    assert isinstance(one, NotFound)
    assert not isinstance(other, TenutoError)
    for id in (theirs.completed, theirs.waiting, theirs.failed):
        for name, call in OF_INSTANCE.items():
            if name not in ("result", "decide"):  # It does not end, and asks nobody.
                assert not isinstance(await attempted(call(town.left.at(id))), NotFound), name
    await town.settle()
    assert await town.digest_of(RIGHT) == before


@pytest.mark.parametrize("seed", [1])
async def test_whatever_a_tenant_does_another_does_not_notice(town: Town, seed: int) -> None:
    await wander(town, Random(seed), 60)


@pytest.mark.soak
@pytest.mark.parametrize("store", STORES)
async def test_nobody_notices_for_a_long_time(
    store: str, seeds: Iterator[int], tmp_path: Path
) -> None:
    for seed in seeds:
        # What a tenant did to its own instances stays: each seed begins with others.
        folder = tmp_path / str(seed)
        folder.mkdir()
        async with opened(store, folder) as town:
            await wander(town, Random(seed), 200)


async def wander(town: Town, random: Random, steps: int) -> None:
    """A tenant asks whatever there is to ask, with ids of its own, of others and of nobody."""
    mine, theirs = await town.furnish()
    before = await town.digest_of(RIGHT)
    assert before[0] > 50
    for number in range(steps):
        id = random.choice([*mine, *theirs])
        if random.random() < 0.4:
            name = random.choice([each for each in OF_INSTANCE if each != "result"])
            refused = await attempted(OF_INSTANCE[name](town.left.at(id)))
            # By that id it may have started one of its own.
            owned = InstanceFilter(ids=(own_id(LEFT, id),))
            if id in theirs and not (await town.left.page(owned)).items:
                assert isinstance(refused, NotFound), name
        else:
            await attempted(drawn(town.left, theirs, random, id, number))
    await town.settle()
    assert await town.digest_of(RIGHT) == before
    assert LEFT not in repr(await town.right.instances())


async def attempted(call: Awaitable[object]) -> TenutoError | None:
    try:
        await call
    except TenutoError as error:
        return error
    return None


def drawn(
    left: EngineWorkspace, theirs: Mirrored, random: Random, id: str, number: int
) -> Awaitable[object]:
    kind = random.choice(["by id", "publish", "start"])
    if kind == "by id":
        by_id = {**BY_INSTANCE, **BY_DEAD_LETTER, **BY_EVENT, **BY_WEBHOOK, **BY_SUBSCRIPTION}
        by_id |= {name: call for name, call in BY_WORKFLOW.items() if name != "remove_definition"}
        words = ["flow", "order", "telling", "parent", "e1", "receipt", "nothing"]
        return by_id[random.choice([*by_id])](left, random.choice([id, *words]))
    if kind == "publish":
        given = {"orderId": random.choice([1, 2]), "id": random.choice([1, 2])}
        patterns = ["payment.received", "order.paid", "order.cancelled", "order.shipped"]
        return left.publish(random.choice(patterns), given, id=random.choice(["e1", f"e{number}"]))
    return left.start(
        random.choice(["flow", "telling", "parent", "follower"]),
        {"orderId": 1, "order": "c1"},
        key=random.choice([None, "waiting", "flow", f"key {number}"]),
        correlation_id="c1",
        instance_id=random.choice([None, None, *theirs.instances]),
    )
