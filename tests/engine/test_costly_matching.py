"""Tests that costly conditions of waits and triggers leave the loop to others in between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from tenuto import Tenuto
from tenuto.engine.events import slices
from tenuto.engine.events.slices import Slices, TenantSlices
from tenuto.engine.events.wait_finder import WaitFinder
from tenuto.engine.turns.sharing import Sharing
from tenuto.model.errors import StoreUnavailable
from tenuto.model.events import Event
from tenuto.model.json import Object
from tenuto.model.test_run import inbox_of
from tenuto.ports import SystemClock
from tenuto.store.memory import MemoryDisk, MemoryStore
from tests.access.hand_clock import HandClock
from tests.engine.situations import beside_another
from tests.kit.turns import turns

pytestmark = pytest.mark.asyncio

WAITS = 150
COSTLY = "event.payload.list.map(x => x + 1).includes(workflow.input.n)"


def waiting(condition: str) -> Object:
    return {
        "id": "wait",
        "steps": [
            {
                "stepId": "w",
                "type": "EVENT_WAIT",
                "eventPattern": "a.b",
                "eventCondition": condition,
                "lookback": "PT0S",
            }
        ],
    }


CANCEL: Object = {
    "id": "cancel",
    "steps": [{"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "other"}],
    "cancellationTriggers": [{"eventPattern": "a.b", "eventCondition": COSTLY.replace("n)", "x)")}],
}


async def turns_of_the_loop(work: asyncio.Future[Any]) -> int:
    turns = 0
    while not work.done():
        turns += 1
        await asyncio.sleep(0)
    return turns


@pytest.mark.parametrize(
    "workflow", [waiting(COSTLY), CANCEL], ids=["waits", "cancellation triggers"]
)
async def test_others_go_on_while_an_event_is_matched(workflow: Object) -> None:
    """At least once for each costly condition."""
    async with Tenuto() as app:
        await app.deploy(workflow)
        for _ in range(WAITS):
            await app.start(str(workflow["id"]), {"n": -1})
        publishing = asyncio.ensure_future(app.publish("a.b", {"list": [1] * 3_000}))
        assert await turns_of_the_loop(publishing) > WAITS
        assert (await publishing).resumed == 0


async def test_cheap_conditions_are_matched_in_few_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = 0

    async def counted(self: TenantSlices) -> None:
        nonlocal cut
        if self.steps.taken >= slices.STEPS:
            cut += 1
            self.steps.taken = 0

    monkeypatch.setattr(TenantSlices, "turn", counted)
    async with Tenuto() as app:
        await app.deploy(waiting("event.payload.n > 0"))
        for _ in range(WAITS):
            await app.start("wait")
        assert (await app.publish("a.b", {"n": 1})).resumed == WAITS
    assert cut <= WAITS // 50


@pytest.mark.parametrize("tenants", [["a"], ["a", "b", "c"]])
async def test_only_one_of_many_goes_on_in_a_turn_of_the_loop(tenants: list[str]) -> None:
    clock = SystemClock()
    shared, done = Slices(clock), 0

    async def work(tenant: str) -> None:
        nonlocal done
        for _ in range(10):
            its_own = shared.of(tenant)
            await its_own.turn()
            its_own.steps.taken += slices.STEPS
            done += 1

    working = asyncio.gather(*(work(tenants[number % len(tenants)]) for number in range(20)))
    most = 0
    while not working.done():
        before = done
        await asyncio.sleep(0)
        most = max(most, done - before)
    assert (done, most) == (200, 1)


@pytest.mark.parametrize(("is_shared", "rests"), [(False, []), (True, [0.003, 0.02])])
async def test_matching_rests_after_its_slices_while_another_tenant_is_at_work(
    *, is_shared: bool, rests: list[float]
) -> None:
    slept: list[float] = []

    class Noting(HandClock):
        async def sleep(self, seconds: float) -> None:
            slept.append(round(seconds, 6))

    clock = Noting()
    shared = Slices(clock, beside_another() if is_shared else Sharing()).of()
    for took in (0.001, 0.1, 1.0):
        clock.move(took)
        shared.steps.taken += slices.STEPS
        await shared.turn()
    assert [each for each in slept if each] == rests, "a slice of a second was mostly other work"


async def test_matching_waits_for_no_rest_of_another_tenant() -> None:
    class Asleep(SystemClock):
        async def sleep(self, seconds: float) -> None:
            await (asyncio.Event().wait() if seconds else asyncio.sleep(0))

    shared = Slices(Asleep(), beside_another())
    for tenant in ("storm", "quiet"):
        shared.of(tenant).steps.taken = slices.STEPS
    resting = asyncio.ensure_future(shared.of("storm").turn())
    await turns(3)
    assert not resting.done()
    shared.sharing.end()
    await asyncio.wait_for(shared.of("quiet").turn(), 60)
    resting.cancel()


async def test_a_dry_run_waits_for_none_of_another_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Tenuto() as app:
        inspector, never = app.engine.events.inspector, asyncio.Event()
        begun = asyncio.Event()
        find = WaitFinder.fitting_each

        async def stuck(self: WaitFinder, events: Sequence[Event]) -> object:
            if any(event.tenant == "storm" for event in events):
                begun.set()
                await never.wait()
            return await find(self, events)

        monkeypatch.setattr(WaitFinder, "fitting_each", stuck)

        def asked(tenant: str) -> asyncio.Future[object]:
            now = app.engine.clock.now()
            event = Event(id=tenant, tenant=tenant, pattern="a.b", payload={}, received_at=now)
            return asyncio.ensure_future(inspector.dry_run(event))

        waiting = asked("storm")
        await begun.wait()
        await asyncio.wait_for(asked("quiet"), 60)
        waiting.cancel()


async def test_all_test_runs_have_the_same_slices_and_answers_have_others() -> None:
    shared = Slices(SystemClock())
    one, another = (shared.of(inbox_of(id)) for id in ("i1", "i2"))
    assert one is another
    assert one is not shared.of("default")
    assert shared.of("default") is not shared.of("default", for_answer=True)


async def test_a_cancelled_answer_is_cancelled_also_while_matching_ends() -> None:
    shared = Slices(SystemClock())
    shared.end()

    async def answered() -> None:
        with shared.for_answer():
            await asyncio.Event().wait()

    answering = asyncio.ensure_future(answered())
    await turns(2)
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering


async def is_being_matched(app: Tenuto) -> None:
    while not app.engine.events.router.unmatched:
        await turns(1)


async def test_costly_matching_is_left_when_the_engine_stops_and_done_by_the_next_process() -> None:
    disk = MemoryDisk()
    leaving = Tenuto(MemoryStore(disk))
    await leaving.open()
    await leaving.deploy(waiting(COSTLY))
    runs = [await leaving.start("wait", {"n": 2}) for _ in range(10)]
    publishing = asyncio.ensure_future(leaving.publish("a.b", {"list": [1] * 3_000}))
    await is_being_matched(leaving)
    leaving.engine.shared.sharing.begin()
    leaving.engine.leave_matching()
    assert not leaving.engine.shared.sharing.is_shared, "nothing rests any more"
    with pytest.raises(StoreUnavailable) as stopped:
        await publishing
    assert stopped.value.code == "TEN-4019"
    await leaving.close()
    async with Tenuto(MemoryStore(disk)) as app:
        for run in (runs[0], runs[-1]):
            await (await app.instance(run.id)).result(60)


async def test_another_process_matches_what_one_left_that_owned_no_instance() -> None:
    disk = MemoryDisk()
    async with Tenuto(MemoryStore(disk, shared=True)) as staying:
        await staying.deploy(waiting(COSTLY))
        runs = [await staying.start("wait", {"n": 2}) for _ in range(10)]
        leaving = Tenuto(MemoryStore(disk, shared=True))
        await leaving.open()
        publishing = asyncio.ensure_future(leaving.publish("a.b", {"list": [1] * 3_000}))
        await is_being_matched(leaving)
        leaving.engine.leave_matching()
        with pytest.raises(StoreUnavailable):
            await publishing
        await leaving.close()
        await staying.engine.membership.beat()
        await (await staying.instance(runs[-1].id)).result(60)


async def test_a_stop_does_not_wait_for_costly_matching_that_a_dead_process_left() -> None:
    disk = MemoryDisk()
    async with Tenuto(MemoryStore(disk, shared=True)) as first:
        await first.deploy(waiting(COSTLY))
        for _ in range(10):
            await first.start("wait", {"n": -1})
        publishing = asyncio.ensure_future(first.publish("a.b", {"list": [1] * 3_000}))
        await is_being_matched(first)
        first.engine.leave_matching()
        with pytest.raises(StoreUnavailable):
            await publishing
    app = Tenuto(MemoryStore(disk, shared=True))
    await app.open()
    assert app.engine.membership.is_catching_up
    app.engine.leave_matching()
    app.engine.membership.look_for_unfinished()
    await asyncio.wait_for(app.engine.membership.caught_up(), 60)
    await app.close()


async def test_a_dry_run_and_near_misses_have_the_slices_of_matching_and_end_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twenty dry runs beside others took all of the time, and a stop waited for each."""
    async with Tenuto() as app:
        await app.deploy(waiting(COSTLY))
        run = await app.start("wait", {"n": -1})
        await app.publish("a.b", {"list": [1] * 3_000})
        shared = app.engine.events.slices.of("default", for_answer=True)
        asked = 0
        turn = TenantSlices.turn

        async def counted(self: TenantSlices) -> None:
            nonlocal asked
            assert self is shared
            asked += 1
            await turn(self)

        monkeypatch.setattr(TenantSlices, "turn", counted)
        asking: list[Callable[[], Awaitable[object]]] = [
            lambda: app.publish("a.b", {"list": [1] * 3_000}, dry_run=True),
            run.explain,
        ]
        for ask in asking:
            before = asked
            await ask()
            assert asked > before
        app.engine.leave_matching()
        for ask in asking:
            shared.steps.taken = slices.STEPS
            with pytest.raises(StoreUnavailable):
                await ask()
