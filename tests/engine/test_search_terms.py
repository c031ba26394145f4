"""Instances are found by the values that their variables have, as if each were looked at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from tenuto import Settings, Tenuto
from tenuto.api.variables import value_at
from tenuto.core import searchable
from tenuto.engine.tenancy import held_by
from tenuto.model.errors import InvalidInput, NotFound
from tenuto.model.json import JSON, Object, are_the_same
from tenuto.model.search_terms import LARGEST, SearchTerm, term_of
from tenuto.model.status import Status
from tenuto.store.memory import MemoryStore
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.turns import Searchable
from tenuto.store.protocol import Store
from tenuto.testing.wrapped_store import Call
from tenuto.workspace.engine_workspace import EngineWorkspace
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.values import InstanceFilter, Start
from tests.engine.situations import at_rest, until, until_waiting
from tests.kit.postgres_database import fresh_database
from tests.kit.scripted_store import ScriptedStore
from tests.kit.waits import every_wait_has_looked_back

pytestmark = pytest.mark.asyncio

NAMES = ["input.a", "input.b.c", "seen", "paid", "input", "never"]
FOUND: Object = {
    "id": "found",
    "steps": [
        {
            "stepId": "look",
            "type": "TASK",
            "taskId": "look",
            "outputVariable": "seen",
            "transitions": {"conditions": [{"when": "ctx.input.waits", "to": "pay"}]},
        },
        {
            "stepId": "pay",
            "type": "EVENT_WAIT",
            "eventPattern": "paid",
            "eventCondition": "event.payload.n === workflow.input.n",
            "outputVariable": "paid",
        },
    ],
    "options": {"searchable": [*NAMES, "input.a", "no path!"]},
}
VALUES: list[JSON] = [
    1, 1.0, True, False, None, "1", "", "é" * 300, [1, "a"], [1.0, "a"], {"x": 1, "y": []},
    {"y": [], "x": 1.0}, {}, 0.5,
]  # fmt: skip


def app_on(store: str | Store) -> Tenuto:
    app = Tenuto(store, settings=Settings(mail_every=0.2))

    @app.task
    async def look(given: dict[str, Any]) -> object:
        return given["seen"]

    return app


@pytest_asyncio.fixture(params=["memory", "sqlite", "postgres"])
async def app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tenuto]:
    place: str | MemoryStore = MemoryStore()
    if request.param == "sqlite":
        place = f"sqlite:///{tmp_path / 'store.db'}"
    elif request.param == "postgres":
        place = await fresh_database()
    async with app_on(place) as made:
        yield made


async def lived(app: Tenuto, workspace: EngineWorkspace, random: Random, count: int) -> None:
    """Some complete, some wait, some are resumed, some cancelled."""
    await workspace.deploy(FOUND)
    references = await asyncio.gather(
        *(
            workspace.start(
                "found",
                {
                    "a": random.choice(VALUES),
                    **({"b": {"c": random.choice(VALUES)}} if random.random() < 0.7 else {}),
                    "seen": random.choice(VALUES),
                    "waits": number % 2,
                    "n": number,
                },
                correlation_id=random.choice([None, "c1", "c2"]),
            )
            for number in range(count)
        )
    )

    async def is_quiet() -> bool:
        busy = InstanceFilter(status=(Status.CREATED, Status.RUNNING))
        return not (await workspace.page(busy, limit=1)).items

    await until(app, is_quiet)
    await every_wait_has_looked_back(app)
    for number, reference in enumerate(references):
        if number % 6 == 1:
            await workspace.publish("paid", {"n": number, "by": random.choice(VALUES)})
            await reference.result(30)
        elif number % 6 == 3:
            await reference.cancel("no more")


async def looked_at(workspace: EngineWorkspace, query: InstanceQuery, wanted: Object) -> list[str]:
    """What a query finds whose variables have these values: each of them is read."""
    page = await instance_rows(workspace.engine, workspace.tenant, query)
    assert page.next_after is None
    found = []
    for row in page.items:
        held = await held_by(workspace.engine, workspace.tenant, row.id)
        try:
            values = [value_at(held.plan, held.state, name) for name in wanted]
        except NotFound:
            continue
        if all(map(are_the_same, values, wanted.values())):
            found.append(row.id)
    return found


async def paged(workspace: EngineWorkspace, query: InstanceQuery, wanted: Object) -> list[str]:
    found, after = list[str](), query.after
    while True:
        page = await instance_rows(
            workspace.engine, workspace.tenant, replace(query, after=after), wanted
        )
        found += [row.id for row in page.items]
        after = page.next_after
        if after is None:
            return found


def questions(random: Random, count: int) -> Iterator[tuple[InstanceQuery, Object]]:
    for _ in range(count):
        names = random.sample(NAMES, random.choice([1, 1, 2]))
        query = InstanceQuery(
            definition_id="found",
            statuses=random.choice([(), (), (Status.COMPLETED, Status.CANCELLED)]),
            correlation_id=random.choice([None, None, "c1"]),
            current_step=random.choice([None, None, None, "pay"]),
            limit=1_000,
        )
        yield query, {name: random.choice(VALUES) for name in names}


async def holds(app: Tenuto, seed: int, count: int, asked: int) -> int:
    """How many were found; what is found is what is there."""
    random = Random(seed)
    tenants = [app.workspace(name, "eve") for name in ("default", "other")]
    for workspace in tenants:
        await lived(app, workspace, random, count)
    await at_rest(app)
    total = 0
    for query, wanted in questions(random, asked):
        for workspace in tenants:
            expected = await looked_at(workspace, query, wanted)
            small = replace(query, limit=random.choice([1, 2, 1_000]))
            assert await paged(workspace, small, wanted) == expected, (query, wanted)
            total += len(expected)
    return total


async def test_what_is_found_is_what_looking_at_every_instance_finds(app: Tenuto) -> None:
    """ "Filters on variables work on names listed in `options.searchable` (indexed); others are
    refused with that advice."
    """
    assert await holds(app, seed=1, count=18, asked=25) > 15, "vacuous: little was found"
    with pytest.raises(InvalidInput) as refused:
        await app.instances(workflow="found", variables={"input.n": 1})
    assert [each.advice for each in refused.value.problems] == [
        "List it in the `options.searchable` of the workflow."
    ]


@pytest.mark.soak
async def test_what_is_found_is_what_is_there_for_every_seed(app: Tenuto, seeds: Any) -> None:  # noqa: ANN401
    for seed in seeds:
        await holds(app, seed=seed, count=40, asked=60)


class Noting(ScriptedStore):
    """Notes by what instances are found from each write on."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[Searchable | None] = []

    async def on_turns_commit(self, call: Call) -> object:
        turn = call.turn
        assert turn is not None
        self.noted += [write.searchable for write in turn.writes]
        return await call()


async def test_only_what_changed_of_a_workflow_that_lists_something_is_written() -> None:
    store = Noting()
    async with app_on(store) as app:
        await app.deploy(FOUND | {"options": {}})
        await (await app.start("found", {"seen": 1})).result(30)
        assert store.noted != []
        assert set(store.noted) == {None}
        store.noted.clear()
        await app.deploy(FOUND)
        reference = await app.start("found", {"seen": 1, "waits": True, "n": 1})
        await until_waiting(app, 1, "pay")
        await reference.pause()
        await reference.resume()
        await at_rest(app)
        [written] = [each for each in store.noted if each is not None]
        assert {term.name for term in written.terms} == {"input", "seen"}


async def test_of_a_value_that_stays_nothing_is_worked_out_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may be large, and an instance may be written often."""
    made: list[str] = []

    def noted(name: str, value: JSON) -> SearchTerm | None:
        made.append(name)
        return term_of(name, value)

    monkeypatch.setattr(searchable, "term_of", noted)
    async with app_on(MemoryStore()) as app:
        await app.deploy(FOUND)
        reference = await app.start("found", {"seen": ["x"] * 900, "waits": True, "n": 1})
        await until_waiting(app, 1, "pay")
        await reference.pause()
        await reference.resume()
        await app.publish("paid", {"n": 1})
        await reference.result(30)
        assert sorted(made) == ["input", "paid", "seen"]
        for name in ("input", "seen"):
            held = await held_by(app.engine, "default", reference.id)
            value = value_at(held.plan, held.state, name)
            assert await app.instances(workflow="found", variables={name: value})


async def test_what_is_larger_than_is_indexed_is_not_found_and_looking_for_it_is_refused() -> None:
    async with app_on(MemoryStore()) as app:
        await app.deploy(FOUND)
        await (await app.start("found", {"a": 1, "seen": "x" * LARGEST})).result(30)
        assert await app.instances(workflow="found", variables={"input.a": 1})
        with pytest.raises(InvalidInput) as refused:
            await app.instances(workflow="found", variables={"seen": "x" * LARGEST})
        assert "larger than 16 KB" in refused.value.problems[0].message


async def test_where_a_running_instance_is_not_listed_yet_it_is_soon() -> None:
    """A row follows its instance, and what it is found by goes with the row."""
    begun, may_end = asyncio.Event(), asyncio.Event()
    app = Tenuto(MemoryStore(), settings=Settings(project_every=3600))

    @app.task
    async def look(given: dict[str, Any]) -> object:
        begun.set()
        await may_end.wait()
        return given["seen"]

    async def found(**wanted: JSON) -> int:
        return len(await app.instances(workflow="found", variables=wanted))

    async with app:
        await app.deploy(FOUND)
        reference = await app.start("found", {"seen": 1})
        await begun.wait()
        for lane in app.engine.turns.lanes:
            lane.project()
        await at_rest(app)
        assert (await found(input={"seen": 1}), await found(seen=1)) == (1, 0)
        may_end.set()
        await reference.result(30)
        assert (await found(input={"seen": 1}), await found(seen=1)) == (1, 1)


async def test_a_rerun_and_a_batch_are_found_by_their_own_values() -> None:
    async with app_on(MemoryStore()) as app:
        await app.deploy(FOUND)
        started = await app.start_many([Start(workflow="found", input={"seen": 1})])
        [first] = started
        assert not isinstance(first, Exception)
        await first.result(30)
        again = await first.rerun(input={"seen": 2})
        await again.result(30)
        for seen, id in ((1, first.id), (2, again.id)):
            [only] = await app.instances(workflow="found", variables={"seen": seen})
            assert only.id == id
