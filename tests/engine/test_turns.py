"""Turns: one transaction for all that waits; answered when durable; one bad input stops nobody."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

import pytest

from tenuto import (
    Context,
    Overloaded,
    Settings,
    StoreUnavailable,
    Tenuto,
    TenutoError,
    WorkflowFailed,
)
from tenuto.core import Decision, InstanceState, Plan, decide
from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.engine.engine import Engine
from tenuto.engine.turns.drafter import STRETCHES
from tenuto.model.inputs import Input, InputRefused
from tenuto.model.json import Object
from tenuto.model.policy import Policies
from tenuto.model.status import Status
from tenuto.store.parts.turns import NOTHING_KNOWN, StoredInstance
from tests.engine.situations import ONE_WAIT, Moody, at_rest, steps

pytestmark = pytest.mark.asyncio


def app_on(store: Moody, bounds: Bounds = DEFAULT_BOUNDS) -> Tenuto:
    app = Tenuto(store, settings=Settings(bounds=bounds))

    @app.task
    async def work(input: object) -> object:
        return input

    return app


async def test_many_starts_share_few_commits() -> None:
    store = Moody()
    async with app_on(store, Bounds(turn_seconds=math.inf)) as app:
        await app.deploy(steps("a", "b", "c"))
        before = store.commits
        started = await asyncio.gather(*(app.start("flow", n) for n in range(500)))
        assert [await each.result(10) for each in started] == list(range(500))
        # Four commits would do: the starts, and three rounds of results.
        assert store.commits - before <= 12


async def test_a_turn_ends_where_its_decisions_take_long() -> None:
    """The event loop has time for others between two turns, also on a slow machine."""
    store = Moody()
    async with app_on(store, Bounds(turn_seconds=0)) as app:
        await app.deploy(steps("a"))
        before = store.commits
        started = await asyncio.gather(*(app.start("flow", n) for n in range(20)))
        assert [await each.result(10) for each in started] == list(range(20))
        assert store.commits - before >= 20, "each instance has a turn of its own"


async def test_nothing_is_answered_before_it_is_durable() -> None:
    store = Moody()
    async with app_on(store) as app:
        await app.deploy(steps("a"))
        store.gate.clear()
        start = asyncio.ensure_future(app.start("flow", 1))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not start.done()
        store.gate.set()
        assert await (await start).result(10) == 1


async def test_a_start_is_refused_while_the_store_is_away_and_nothing_of_it_is_left() -> None:
    store = Moody()
    async with app_on(store) as app:
        await app.deploy(steps("a"))
        store.moods = ["away"]
        with pytest.raises(StoreUnavailable):
            await app.start("flow", 1)
        assert await app.instances() == []
        assert await (await app.start("flow", 2)).result(10) == 2


async def test_a_result_waits_out_a_store_that_is_away() -> None:
    store = Moody()
    async with app_on(store) as app:
        await app.deploy(steps("a", "b"))
        store.moods = ["well", "away", "away", "well"]
        instance = await app.start("flow", "kept")
        assert await instance.result(10) == "kept"


@pytest.mark.parametrize("mood", ["unknown", "unknown-done"])
async def test_an_unknown_commit_is_settled_by_sending_the_same_turn_again(mood: str) -> None:
    store = Moody()
    async with app_on(store) as app:
        await app.deploy(steps("a", "b"))
        store.moods = [mood, mood, "well", mood]
        instance = await app.start("flow", "once")
        assert await instance.result(10) == "once"
        seqs = [item["seq"] for item in await instance.history()]
        assert seqs == list(range(1, len(seqs) + 1))
        dispatched = [
            item["nodeId"]
            for item in await instance.history()
            if item["eventType"] == "NODE_DISPATCHED"
        ]
        assert dispatched == ["a", "b"]


async def test_while_a_commit_is_unknown_and_the_store_away_new_work_is_refused() -> None:
    store = Moody()
    async with app_on(store) as app:
        await app.deploy(steps("a"))
        store.tried.clear()
        store.moods = ["unknown", *["away"] * 3]
        first = asyncio.create_task(app.start("flow", "unknown for a while"))
        await store.tried.wait()
        with pytest.raises(StoreUnavailable, match="away"):
            await app.start("flow", "new")
        with pytest.raises(StoreUnavailable, match="away"):
            await app.publish("word")
        assert not first.done()
        assert await (await first).result(10) == "unknown for a while"


async def test_one_input_that_no_store_takes_fails_its_own_instance_alone() -> None:
    store = Moody()
    async with app_on(store) as app:
        await app.deploy(steps("a"))

        @app.task
        async def poison(input: object) -> object:
            return "unstorable" if input == 7 else input

        await app.deploy(steps("a", task="poison", id="mixed"))
        store.refused_text = "unstorable"
        started = await asyncio.gather(*(app.start("mixed", n) for n in range(40)))
        outcomes = await asyncio.gather(
            *(each.result(10) for each in started), return_exceptions=True
        )
        assert [n for n, outcome in enumerate(outcomes) if outcome != n] == [7]
        assert isinstance(outcomes[7], WorkflowFailed)
        assert outcomes[7].error.code == "NOT_STORABLE"


async def test_a_start_that_no_store_takes_is_refused_and_others_go_through() -> None:
    store = Moody()
    async with app_on(store) as app:
        await app.deploy(steps("a"))
        store.refused_text = "unstorable"
        outcomes = await asyncio.gather(
            *(app.start("flow", "unstorable" if n == 3 else n) for n in range(10)),
            return_exceptions=True,
        )
        refused = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, Exception)]
        assert refused == [3]
        assert isinstance(outcomes[3], TenutoError)
        assert len(await app.instances()) == 9


async def test_an_instance_that_cannot_be_decided_on_fails_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = Moody()

    def broken(
        plan: Plan, state: InstanceState, input: Input, now: datetime, policies: Policies
    ) -> Decision:
        if state.input == "bad" and state.version and not isinstance(input, InputRefused):
            raise ZeroDivisionError("a bug of ours")
        return decide(plan, state, input, now, policies)

    monkeypatch.setattr("tenuto.engine.engine.Engine", partial(Engine, decide=broken))
    async with app_on(store) as app:
        await app.deploy(steps("a", "b"))
        good, bad = await app.start("flow", "good"), await app.start("flow", "bad")
        assert await good.result(10) == "good"
        with pytest.raises(WorkflowFailed) as caught:
            await bad.result(10)
        assert caught.value.error.code == "INTERNAL"
        assert "ZeroDivisionError" in str((await bad.context())["system"])


async def test_too_many_waiting_starts_are_refused_and_none_is_lost() -> None:
    store = Moody()
    async with app_on(store, Bounds(waiting=20)) as app:
        await app.deploy(steps("a"))
        store.gate.clear()
        starts = [asyncio.ensure_future(app.start("flow", n)) for n in range(60)]
        for _ in range(100):
            await asyncio.sleep(0)
        store.gate.set()
        outcomes = await asyncio.gather(*starts, return_exceptions=True)
        refused = [outcome for outcome in outcomes if isinstance(outcome, Overloaded)]
        accepted = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        assert refused
        assert len(refused) + len(accepted) == 60
        assert len(await app.instances()) == len(accepted)


async def test_the_same_key_starts_once_and_other_content_is_refused() -> None:
    store = Moody()
    async with app_on(store) as app:
        await app.deploy(steps("a"))
        first, second = await asyncio.gather(
            app.start("flow", 1, key="order-1"), app.start("flow", 1, key="order-1")
        )
        third = await app.start("flow", 1, key="order-1")
        assert first.id == second.id == third.id
        with pytest.raises(TenutoError) as caught:
            await app.start("flow", 2, key="order-1")
        assert caught.value.code == "TEN-3004"
        assert first.id in str(caught.value)


@pytest.mark.parametrize("ends", [False, True])
async def test_the_same_key_and_id_give_the_same_instance_again(ends: bool) -> None:
    """The same key with other content gets 409 with the first id."""
    id = "0190a0b0-0000-7000-8000-000000000002"
    async with app_on(Moody()) as app:
        await app.deploy(steps("a") if ends else ONE_WAIT)
        workflow = "flow" if ends else "waiting"
        first = await app.start(workflow, 1, key="k", instance_id=id)
        if ends:
            await first.result(10)
        again, third = await asyncio.gather(
            *(app.start(workflow, 1, key="k", instance_id=id) for _ in range(2))
        )
        assert first.id == again.id == third.id == id
        with pytest.raises(TenutoError) as caught:
            await app.start(workflow, 2, key="k", instance_id=id)
        assert caught.value.code == "TEN-3004"
        assert len(await app.instances()) == 1


async def test_a_given_instance_id_is_used_once() -> None:
    id = "0190a0b0-0000-7000-8000-000000000001"
    async with app_on(Moody()) as app:
        await app.deploy(steps("a"))
        first = await app.start("flow", 1, instance_id=id)
        assert first.id == id
        with pytest.raises(TenutoError) as caught:
            await app.start("flow", 1, instance_id=id)
        assert caught.value.code == "TEN-3002"


async def test_a_loop_that_dies_is_loud_and_leaves_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = Moody()
    app = app_on(store)
    await app.open()
    await app.deploy(steps("a"))

    def broken(*_: object) -> None:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(app.engine.turns.lanes[0], "_turn", broken)
    with pytest.raises(TenutoError, match="died"):
        await app.start("flow", 1)
    async with asyncio.timeout(60):
        await app.close()
    with pytest.raises(StoreUnavailable):
        await app.start("flow", 2)
    assert "the loop lane died" in caplog.text


async def test_what_is_refused_while_the_store_is_away_is_not_done_later() -> None:
    """Also what did not fit into the turn that the store refused."""
    store = Moody()
    async with app_on(store, Bounds(turn_requests=50, turn_rows=50)) as app:
        await app.deploy(steps("a"))
        store.gate.clear()
        starts = [asyncio.ensure_future(app.start("flow", n)) for n in range(60)]
        for _ in range(100):
            await asyncio.sleep(0)
        store.moods = ["well", "away"]
        store.gate.set()
        outcomes = await asyncio.gather(*starts, return_exceptions=True)
        accepted = {each.id for each in outcomes if not isinstance(each, BaseException)}
        assert len(accepted) < 60
        await at_rest(app)
        assert {each.id for each in await app.instances()} == accepted


async def test_what_moves_on_takes_its_row_along_and_what_stands_still_is_caught_up_with() -> None:
    """In lists a row lags by some stretches of time; an advance updates it a stretch before."""
    app = Tenuto(Moody(), settings=Settings(project_every=3600))
    begun: asyncio.Queue[str] = asyncio.Queue()
    may_end: asyncio.Queue[None] = asyncio.Queue()

    @app.task
    async def work(ctx: Context) -> None:
        begun.put_nowait(ctx.step_id)
        await may_end.get()

    def lagging() -> int:
        return sum(lane.next_stretch() for lane in app.engine.turns.lanes)

    async def listed() -> tuple[str, ...]:
        await at_rest(app)
        return (await app.instances())[0].current_steps

    async with app:
        await app.deploy(steps("a", "b", "c"))
        await app.start("flow")
        assert await begun.get() == "a"
        assert [lagging() for _ in range(STRETCHES - 1)] == [0] * (STRETCHES - 1)
        may_end.put_nowait(None)
        assert await begun.get() == "b"
        assert await listed() == ("b",), "its row goes with its entries"
        may_end.put_nowait(None)
        assert await begun.get() == "c"
        assert await listed() == ("b",), "that is enough for some time"
        assert [lagging() for _ in range(STRETCHES - 1)] == [0] * (STRETCHES - 1)
        assert await listed() == ("b",)
        assert lagging() == 1
        assert await listed() == ("c",)
        assert lagging() == 0
        may_end.put_nowait(None)


async def test_a_list_catches_up_where_others_write_too_and_the_store_was_away() -> None:
    store = Moody(shared=True)
    app = Tenuto(store, settings=Settings(project_every=3600))
    begun, may_end = asyncio.Event(), asyncio.Event()

    @app.task
    async def work(ctx: Context) -> None:
        if ctx.step_id == "b":
            begun.set()
            await may_end.wait()

    async with app:
        await app.deploy(steps("a", "b"))
        await app.start("flow")
        await begun.wait()
        await at_rest(app)
        store.moods = ["away"]
        for _ in range(2):
            for lane in app.engine.turns.lanes:
                lane.project()
            await at_rest(app)
        assert (await app.instances())[0].current_steps == ("b",)
        may_end.set()


async def test_a_list_catches_up_also_after_the_store_was_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = Moody()
    app = Tenuto(store, settings=Settings(project_every=3600))
    begun, may_end = asyncio.Event(), asyncio.Event()

    @app.task
    async def work(ctx: Context) -> None:
        if ctx.step_id == "b":
            begun.set()
            await may_end.wait()

    load, is_away = store.turns.load, iter([True])

    async def away_once(
        ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
    ) -> dict[str, StoredInstance]:
        if next(is_away, False):
            raise StoreUnavailable("the store is away")
        return await load(ids, known)

    async with app:
        await app.deploy(steps("a", "b"))
        await app.start("flow")
        await begun.wait()
        await at_rest(app)
        monkeypatch.setattr(store.turns, "load", away_once)
        store.moods = ["away"]
        for _ in range(3):  # it cannot be written, then not read, then all is well
            app.engine.turns.lanes[0].project()
            await at_rest(app)
        assert (await app.instances())[0].current_steps == ("b",)
        may_end.set()


async def test_a_loop_that_needs_nobody_takes_many_short_turns() -> None:
    """Everybody else has turns in between: a start is answered before the loop is over."""
    loop: Object = {"stepId": "l", "type": "LOOP", "source": "{{ctx.input}}"}
    choice: Object = {"stepId": "c", "type": "CONDITION"}
    loop |= {"result": "{{ctx.index}}", "transitions": {"loop": "c"}}
    choice |= {"branches": [{"id": "yes", "when": "true"}]}
    async with Tenuto() as app:
        await app.deploy({"id": "long", "steps": [loop, choice]})
        instance = await app.start("long", list(range(3_000)))
        assert await instance.status() is Status.RUNNING
        assert await instance.result(timeout=60) == list(range(3_000))
        assert len(await instance.history()) > 9_000
