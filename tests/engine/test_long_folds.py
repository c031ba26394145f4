"""Tests that long logs are folded, and large instances shown, while the loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from tenuto import Tenuto
from tenuto.core.fold import fold_all
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState
from tenuto.engine.turns import loader, long_folds
from tenuto.engine.turns.long_folds import LongFolds
from tenuto.engine.turns.sharing import Sharing
from tenuto.model.entries import Entry
from tenuto.model.errors import Overloaded, ProcessStops, StoreUnavailable
from tenuto.model.json import Object
from tests.access.hand_clock import HandClock
from tests.engine.situations import at_rest, beside_another
from tests.engine.test_costly_matching import turns_of_the_loop

pytestmark = pytest.mark.asyncio

STEPS = 1_500


def chain(count: int, id: str = "big") -> Object:
    steps: list[Any] = [
        {
            "stepId": f"s{n}",
            "type": "SET",
            "values": {"x": n},
            "transitions": {"default": f"s{n + 1}"},
        }
        for n in range(count)
    ]
    return {
        "id": id,
        "steps": [*steps, {"stepId": f"s{count}", "type": "EVENT_WAIT", "eventPattern": "never"}],
    }


async def waiting(app: Tenuto, definition: Object) -> str:
    """An instance that has come to its last step."""
    await app.deploy(definition)
    handle = await app.start(str(definition["id"]), {})
    await at_rest(app)
    return handle.id


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "_PART_ROWS", 10)
    monkeypatch.setattr(loader, "_LONG", 400)
    monkeypatch.setattr(loader, "_HEAVY", 100)


async def test_the_loop_goes_on_while_a_long_log_is_folded() -> None:
    async with Tenuto() as app:
        id = await waiting(app, chain(STEPS))
        looking = asyncio.ensure_future(app.engine.loader.look_at(id))
        turns = await turns_of_the_loop(looking)
        held = await looking
        assert held.tail_entries > loader._LONG
        assert turns > held.tail_entries // loader._PART_ROWS


async def test_looks_at_others_do_not_wait_for_a_long_log() -> None:
    async with Tenuto() as app:
        id = await waiting(app, chain(STEPS))
        other = await waiting(app, chain(1, "small"))
        looking = asyncio.ensure_future(app.engine.loader.look_at(id))
        await asyncio.sleep(0)
        assert (await app.engine.loader.look_at(other)).state.id == other
        assert not looking.done()
        assert (await looking).state.id == id


async def test_looks_at_the_same_time_fold_a_long_log_once(monkeypatch: pytest.MonkeyPatch) -> None:
    folded = 0

    def counted(plan: Plan, state: InstanceState, entries: Iterable[Entry]) -> InstanceState:
        nonlocal folded
        taken = list(entries)
        folded += len(taken)
        return fold_all(plan, state, taken)

    async with Tenuto() as app:
        id = await waiting(app, chain(STEPS))
        monkeypatch.setattr(loader, "fold_all", counted)
        one = asyncio.ensure_future(app.engine.loader.look_at(id))
        while not folded:  # noqa: ASYNC110 - the snapshot before it may be read in a thread
            await asyncio.sleep(0)
        two = await app.engine.loader.look_at(id)
        assert await one is two
        assert folded == two.tail_entries


async def test_logs_of_a_tenant_wait_for_each_other_and_too_many_are_refused() -> None:
    folds: LongFolds[int] = LongFolds(HandClock(), Sharing())
    gate, begun = asyncio.Event(), list[int]()

    async def folding(number: int) -> int:
        begun.append(number)
        await gate.wait()
        return number

    most = long_folds._MOST_WAITING
    tasks = [folds.begin("a", f"{n}", 1, partial(folding, n)) for n in range(most + 1)]
    beside = folds.begin("b", "beside", 1, partial(folding, -1))
    with pytest.raises(Overloaded):
        await tasks.pop()
    await asyncio.sleep(0)
    assert sorted(begun) == [-1, 0]
    gate.set()
    assert await asyncio.gather(*tasks, beside) == [*range(most), -1]
    assert await folds.begin("a", "later", 1, partial(folding, 7)) == 7


async def test_a_look_at_a_small_instance_does_not_wait_for_many_middle_ones() -> None:
    async with Tenuto() as app:
        await app.deploy(chain(60, "middle"))
        ids = [(await app.start("middle", {})).id for _ in range(5)]
        small = await waiting(app, chain(1, "small"))
        looking = [asyncio.ensure_future(app.engine.loader.look_at(id)) for id in ids]
        together = asyncio.ensure_future(app.engine.loader.look_at(small))
        await asyncio.sleep(0)
        assert (await app.engine.loader.look_at(small)).state.id == small
        assert (await together).state.id == small
        assert not any(each.done() for each in looking)
        found = await asyncio.gather(*looking)
        assert [each.state.id for each in found] == ids
        assert all(loader._PART_ROWS < each.tail_entries < loader._LONG for each in found)


async def test_looks_at_many_middle_instances_are_not_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(long_folds, "_MOST_WAITING", 1)
    async with Tenuto() as app:
        await app.deploy(chain(60, "middle"))
        ids = [(await app.start("middle", {})).id for _ in range(5)]
        await at_rest(app)
        found = await asyncio.gather(*map(app.engine.loader.look_at, ids))
        assert [each.state.id for each in found] == ids


async def test_a_query_of_looks_lets_others_go_on_and_does_not_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resting: list[str | None] = []
    pause = LongFolds[Any].pause

    async def noted(self: LongFolds[Any], began: float, tenant: str | None) -> float:
        resting.append(tenant)
        return await pause(self, began, tenant)

    async with Tenuto() as app:
        small = await waiting(app, chain(1, "small"))
        entries = (await app.engine.loader.look_at(small)).tail_entries
        monkeypatch.setattr(loader, "_PART_ROWS", entries)
        monkeypatch.setattr(LongFolds, "pause", noted)
        await app.engine.loader.look_at(small)
        assert resting == [None]


async def test_logs_that_are_not_long_are_bounded_by_their_bytes() -> None:
    folds: LongFolds[int] = LongFolds(HandClock(), Sharing())
    gate = asyncio.Event()

    async def folding(number: int) -> int:
        await gate.wait()
        return number

    half = long_folds._MOST_BYTES // 2
    tasks = [folds.begin("a", f"{n}", 1, partial(folding, n), short=half) for n in range(3)]
    with pytest.raises(Overloaded):
        await tasks.pop()
    gate.set()
    assert await asyncio.gather(*tasks) == [0, 1]
    assert await folds.begin("a", "later", 1, partial(folding, 7), short=half) == 7


@pytest.mark.parametrize("others", [0, 1])
async def test_a_look_that_is_cancelled_before_its_turn_leaves_nothing(others: int) -> None:
    folds: LongFolds[int] = LongFolds(HandClock(), Sharing())

    begun = 0

    async def folding() -> int:
        nonlocal begun
        begun += 1
        await asyncio.Event().wait()
        return 1

    before = [folds.begin("a", f"{n}", 1, folding) for n in range(others)]
    for _ in before:
        await asyncio.sleep(0)
    task = folds.begin("a", "last", 1, folding)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert begun == others
    await folds.stop(StoreUnavailable("stopped"))
    assert all(each.cancelled() for each in before)


async def test_looks_at_long_logs_end_with_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Tenuto() as app:
        id, other = await waiting(app, chain(STEPS)), await waiting(app, chain(STEPS, "other"))
        loader, store = app.engine.loader, app.engine.store
        looks = [asyncio.ensure_future(loader.look_at(each)) for each in (id, id, other)]
        await turns_until(lambda: bool(loader._folds and len(loader._folds._under_way) == 2))
        looks[1].cancel()
        close = store.close

        async def closed(at: datetime, *, clean: bool) -> None:
            assert loader._folds is not None
            assert not loader._folds._under_way, "nothing reads from a store that is closed"
            await close(at, clean=clean)

        monkeypatch.setattr(store, "close", closed)
        # So that what is under way does not come to its end before.
        monkeypatch.setattr(LongFolds, "pause", forever)
    found = await asyncio.gather(*looks, return_exceptions=True)
    assert [type(each) for each in found] == [
        *(ProcessStops, asyncio.CancelledError, ProcessStops),
    ]


async def forever(*_: object) -> float:
    await asyncio.Event().wait()
    raise AssertionError


async def turns_until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - what is waited for says nothing
        await asyncio.sleep(0)


@pytest.mark.parametrize(("tenant", "rest"), [("a", 0.003), (None, 0)])
async def test_looks_rest_beside_another_tenant_and_turns_do_not(
    tenant: str | None, rest: float
) -> None:
    slept: list[float] = []

    class Clock(HandClock):
        async def sleep(self, seconds: float) -> None:
            slept.append(round(seconds, 6))

    clock = Clock()
    folds: LongFolds[int] = LongFolds(clock, beside_another())
    began = folds.now()
    clock.move(0.001)
    assert await folds.pause(began, tenant) == folds.now()
    assert slept == [rest]


VIEWS: dict[str, Callable[[Tenuto, str], Awaitable[object]]] = {
    "details": lambda app, id: app.at(id).details(),
    "state": lambda app, id: app.at(id).state(),
    "context": lambda app, id: app.at(id).context(),
    "waits": lambda app, id: app.at(id).waits(),
    "explanation": lambda app, id: app.at(id).explain(),
    "undo plan": lambda app, id: app.at(id).undo_plan(),
    "widget": lambda app, id: app.at(id).widget("number", {"path": "x"}),
}


@pytest.mark.parametrize("view", VIEWS)
async def test_views_of_large_instances_are_made_aside(
    monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    tenants: list[str] = []
    async with Tenuto() as app:
        large, small = await waiting(app, chain(600)), await waiting(app, chain(1, "small"))
        values = app.engine.plans.values
        aside = values.aside

        async def noted(work: Callable[[], object], *, tenant: str = "") -> object:
            tenants.append(tenant)
            return await aside(work, tenant=tenant)

        monkeypatch.setattr(values, "aside", noted)
        assert await VIEWS[view](app, small)
        assert tenants == []
        assert await VIEWS[view](app, large)
        assert {*tenants} == {"default"}
