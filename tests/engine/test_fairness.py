"""Tenants take turns: the backlog of one delays no other, in every queue before a lane."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from tenuto import Overloaded, Settings, StoreUnavailable, Tenuto
from tenuto.engine.bounds import Bounds
from tenuto.engine.limits.free_slots import FreeSlots
from tenuto.engine.membership.takeover import Takeover
from tenuto.engine.turns.batch import Batch
from tenuto.engine.turns.fair_queue import FairQueue
from tenuto.engine.turns.intake import Intake
from tenuto.engine.turns.requests import EventRequest, Request, TakenOver
from tenuto.engine.turns.sharing import (
    LATELY,
    LIGHT_ROUNDS,
    LIGHT_SECONDS,
    LONGEST_REST,
    MOST_LIGHT,
    REST_TIMES,
    Sharing,
)
from tenuto.model.events import Event
from tenuto.model.inputs import CancelAsked
from tenuto.model.json import JSON, Object
from tenuto.model.task_definition import TaskDefinition
from tenuto.store.parts.members import Orphan
from tenuto.store.parts.waits import LookedBack
from tenuto.testing.wrapped_store import Call
from tenuto.workspace.engine_workspace import EngineWorkspace
from tenuto.workspace.task_definitions import TaskDefinitions
from tests.core.drawing import child, draw, end, task
from tests.engine.situations import at_rest
from tests.kit.scripted_store import ScriptedStore

pytestmark = pytest.mark.asyncio


def queue(*items: str) -> FairQueue[str]:
    """Items such as `a1`: the first letter is the tenant."""
    made: FairQueue[str] = FairQueue(lambda item: item[0])
    for item in items:
        made.append(item)
    return made


async def test_tenants_take_turns_and_each_keeps_its_order() -> None:
    made = queue("a1", "a2", "a3", "b1", "c1", "c2")
    assert (made.first, len(made), list(made.tenants)) == ("a1", 6, ["a", "b", "c"])
    assert made.take(4) == ["a1", "b1", "c1", "a2"]
    made.append("b2")
    assert made.take(99) == ["c2", "a3", "b2"]
    assert (len(made), made.take(1)) == (0, [])


async def test_a_tenant_has_its_share_of_a_turn_however_many_others_have_little() -> None:
    made = queue("a1", "a2", "a3", "a4", "b1", "c1", "c2")
    assert made.take_of_each(99, 2) == ["a1", "b1", "c1", "a2", "c2"]
    assert made.take_of_each(1, 2) == ["a3"]
    assert made.take_of_each(9, 2) == ["a4"]
    assert (len(made), made.take_of_each(9, 2)) == (0, [])


async def test_what_is_put_back_comes_first_of_its_tenant() -> None:
    made = queue("a1", "a2", "a3", "b1")
    taken = made.take(2)
    made.append("b2")
    made.put_first(taken)
    assert sorted(made) == ["a1", "a2", "a3", "b1", "b2"]
    assert [item for item in made.take(9) if item[0] == "a"] == ["a1", "a2", "a3"]


async def test_one_tenant_cannot_fill_the_queue_for_another() -> None:
    made = queue(*(f"a{number}" for number in range(10)))
    assert made.is_full_for("a-more", 10)
    assert not made.is_full_for("b1", 10)
    made.append("b1")
    assert made.is_full_for("a-more", 10)
    assert not made.is_full_for("b2", 10)


def asked(tenant: str, number: int) -> Request:
    return Request(f"{tenant}-{number}", CancelAsked(by="test"), tenant=tenant)


async def test_a_new_request_is_among_the_first_of_a_turn_whatever_waits() -> None:
    intake = Intake(Bounds())
    for number in range(50_000):
        intake.report(asked("storm", number))
    intake.ask(asked("quiet", 0))
    taken = [request.tenant for request in intake.take().requests]
    assert taken.index("quiet") == 0
    assert len(taken) <= 1_001


async def test_turns_are_small_while_several_tenants_are_at_work() -> None:
    intake = Intake(Bounds(turn_share=10))
    for number in range(3_000):
        intake.report(asked("storm", number))
    assert len(intake.take().requests) == Bounds().turn_requests
    intake.report(asked("quiet", 0))
    assert len(intake.take().requests) == 11, "ten of one, and the one of the other"
    assert len(intake.take().requests) == 10
    assert intake.most_rows == 20


async def test_the_backlog_of_one_tenant_is_no_wait_of_another() -> None:
    """The service refuses starts for the wait of a tenant that has nothing waiting."""
    intake = Intake(Bounds(turn_share=5))
    for number in range(3_000):
        intake.report(asked("storm", number))
    assert intake.before_next == 3_000, "nothing is known of others"
    assert intake.has_backlog("storm")
    assert not intake.has_backlog("quiet")
    intake.take_small_turns()
    intake.ask(asked("quiet", 0))
    assert intake.before_another == intake.before_next == 6


async def test_the_smallest_turn_has_a_new_request_of_each_tenant() -> None:
    intake = Intake(Bounds(turn_share=5))
    intake.take_small_turns()
    for number in range(100):
        intake.report(asked("storm", number))
    for tenant in ("quiet", "calm"):
        intake.ask(asked(tenant, 0))
    assert {"quiet", "calm"} <= {request.tenant for request in intake.take().requests}


def lanes(share: int) -> list[Intake]:
    sharing = Sharing()
    return [Intake(Bounds(turn_share=share), sharing=sharing) for _ in range(2)]


def may_take(intake: Intake) -> bool:
    return intake.has_turn


def tenants_in(intake: Intake) -> set[str]:
    return {request.tenant for request in intake.take().requests}


async def test_one_lane_at_a_time_works_on_a_backlog_while_tenants_share() -> None:
    """A store commits one turn after the other: a backlog in each lane would be waited for."""
    one, other = lanes(share=5)
    one.take_small_turns()
    for number in range(50):
        one.report(asked("storm", number))
        other.report(asked("storm", number))
    assert tenants_in(one) == {"storm"}
    other.report(asked("quiet", 0))
    assert may_take(other)
    assert tenants_in(other) == {"quiet"}
    other.turn_ended()
    assert not may_take(other)
    woken = other.sleep()
    one.turn_ended()
    assert woken.done()
    assert not may_take(one)
    assert tenants_in(other) == {"storm"}


async def test_a_lane_that_has_nothing_left_of_a_backlog_leaves_it_to_the_others() -> None:
    one, other = lanes(share=5)
    one.take_small_turns()
    for number in range(50):
        other.report(asked("storm", number))
    for number in range(6):
        one.report(asked("storm", number))
    assert len(one.take().requests) == 5
    assert other.take().size == 0
    one.report(asked("quiet", 0))
    one.turn_ended()
    assert tenants_in(one) == {"quiet", "storm"}
    assert len(other.take().requests) == 5
    other.turn_ended()
    assert may_take(other)
    assert not other.is_idle.is_set()


async def test_turns_are_small_in_every_lane_once_tenants_share_one_of_them() -> None:
    one, other = lanes(share=5)
    for number in range(50):
        other.report(asked("storm", number))
    one.report(asked("storm", 0))
    one.take()
    one.report(asked("quiet", 0))
    one.take()
    assert len(other.take().requests) == 5


async def test_rows_that_lag_are_updated_in_slices() -> None:
    """A turn has no rows of a log for them, by which its size is bounded."""

    updates: list[int] = []

    class Counting(ScriptedStore):
        async def on_turns_commit(self, call: Call) -> object:
            updates.append(sum(not write.rows for write in call.args[0].writes))
            return await call()

    settings = Settings(bounds=Bounds(turn_rows=50), project_every=1e6)
    app = Tenuto(Counting(), settings=settings)
    go_on, at_second = asyncio.Event(), asyncio.Semaphore(0)

    @app.task(name="second")
    async def second() -> None:
        at_second.release()
        await go_on.wait()

    app.task(name="work")(lambda: None)
    async with app:
        await app.deploy(draw("a>b", b=task(taskId="second")) | {"id": "two"})
        await asyncio.gather(*(app.start("two") for _ in range(100)))
        for _ in range(100):
            await at_second.acquire()
        for lane in app.engine.turns.lanes:
            lane.project()
        await at_rest(app)
        go_on.set()
    assert sum(updates) == 100
    assert max(updates) == 10


async def test_a_turn_takes_no_further_instance_after_many_steps_of_expressions() -> None:
    """Each decision is bounded, and a turn has many."""
    sizes: list[int] = []

    class Counting(ScriptedStore):
        async def on_turns_commit(self, call: Call) -> object:
            sizes.append(len(call.args[0].writes))
            return await call()

    settings = Settings(bounds=Bounds(turn_steps=3_000))
    async with Tenuto(Counting(lanes=1), settings=settings) as app:
        costly = "{{ctx.input.map(x => x + 1).length}}"
        await app.deploy(draw("d", d=end({"size": costly})) | {"id": "costly"})
        await asyncio.gather(*(app.start("costly", [0] * 1_000) for _ in range(30)))
        await at_rest(app)
    assert 1 < max(sizes) <= 4


async def test_a_turn_has_few_bytes_while_several_tenants_are_at_work() -> None:
    """Each of them waits until the bytes of the others are stored."""
    sizes: list[int] = []

    class Counting(ScriptedStore):
        async def on_turns_commit(self, call: Call) -> object:
            sizes.append(len(call.args[0].writes))
            return await call()

    settings = Settings(bounds=Bounds(shared_bytes=10_000))
    async with Tenuto(Counting(lanes=1), settings=settings) as app:
        await app.deploy(draw("d", d=end({})) | {"id": "large"})
        for lane in app.engine.turns.lanes:
            lane._intake.take_small_turns()
        await asyncio.gather(*(app.start("large", "x" * 4_000) for _ in range(30)))
        await at_rest(app)
    assert 1 < max(sizes) <= 4


async def test_a_turn_takes_no_further_instance_after_many_steps_of_schemas_of_tasks() -> None:
    sizes: list[int] = []

    class Counting(ScriptedStore):
        async def on_turns_commit(self, call: Call) -> object:
            sizes.append(sum(write.create is not None for write in call.args[0].writes))
            return await call()

    settings = Settings(bounds=Bounds(turn_steps=3_000), unknown_tasks="wait")
    async with Tenuto(Counting(lanes=1), settings=settings) as app:
        numbers: Object = {"items": {"type": "integer"}}
        checked = TaskDefinition(id="checked", kind="pull", input_schema=numbers)
        await TaskDefinitions(app.engine, "default").put(checked)
        step: Object = {"stepId": "a", "type": "TASK", "taskId": "checked"}
        await app.deploy({"id": "costly", "steps": [step]})
        await asyncio.gather(*(app.start("costly", [0] * 10_000) for _ in range(30)))
        await at_rest(app)
    assert 1 < max(sizes) <= 4


async def test_a_tenant_that_has_filled_its_share_is_refused_and_another_is_not() -> None:
    intake = Intake(Bounds(waiting=10))
    for number in range(10):
        intake.ask(asked("storm", number))
    with pytest.raises(Overloaded):
        intake.ask(asked("storm", 10))
    intake.ask(asked("quiet", 0))


class Slow(ScriptedStore):
    """A store whose commits the test lets through, one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.may = asyncio.Semaphore(0)
        self.turns_made = 0

    async def on_turns_commit(self, call: Call) -> object:
        await self.may.acquire()
        self.turns_made += 1
        return await call()


async def test_a_start_waits_for_two_turns_at_most_while_another_tenant_has_thousands() -> None:
    store = Slow()
    app = Tenuto(store, settings=Settings(bounds=Bounds(turn_share=10)))
    async with app:
        storm, quiet = (
            EngineWorkspace(app.engine, app.bulk_runner, tenant=tenant, actor=tenant)
            for tenant in ("storm", "quiet")
        )
        small = draw("d", d=end()) | {"id": "small"}
        names = [f"c{number}" for number in range(100)]
        wide = draw(" ".join(names), **{name: child("small") for name in names}) | {"id": "wide"}
        for workspace in (storm, quiet):
            await workspace.deploy(small)
        await storm.deploy(wide)
        starting = [asyncio.ensure_future(storm.start("wide")) for _ in range(20)]
        for _ in range(8):
            store.may.release()
            await asyncio.sleep(0)
        before = store.turns_made
        mine = asyncio.ensure_future(quiet.start("small"))
        while not mine.done():
            store.may.release()
            await asyncio.sleep(0)
        assert store.turns_made - before <= 4  # one is under way in each lane
        for _ in range(10_000):
            store.may.release()
        await asyncio.gather(*starting)


async def test_instances_of_a_dead_process_are_taken_up_in_slices_the_oldest_first() -> None:
    reported: list[str] = []
    left = [Orphan(f"i{number:03}", clean=False) for number in range(250)]

    class Members(ScriptedStore):
        async def on_members_claim_orphans(self, call: Call) -> list[Orphan]:
            claimed, left[:] = left[: call.args[0]], left[call.args[0] :]
            return claimed

    def report(request: Request) -> None:
        assert isinstance(request.input, TakenOver)
        reported.append(request.instance_id)

    waiting = 0
    takeover = Takeover(
        store=Members(),
        router=None,  # type: ignore[arg-type]
        look_back=None,  # type: ignore[arg-type]
        report=report,
        waiting=lambda: waiting,
        batch=50,
    )
    assert await takeover.take_over() == 250
    assert reported == [f"i{number:03}" for number in range(100)]
    waiting = 70
    assert takeover.take_up()
    assert len(reported) == 130
    waiting = 200
    assert takeover.take_up()
    assert len(reported) == 130
    waiting = 0
    assert takeover.take_up()
    assert not takeover.take_up()
    assert reported == sorted(reported)
    assert len(reported) == 250


async def test_what_was_claimed_before_an_outage_is_taken_up_after_it() -> None:
    """What a process has claimed is nobody else's: nothing but its recovery takes it up."""
    answers: list[list[Orphan] | StoreUnavailable] = [
        [Orphan(f"i{number:03}", clean=False) for number in range(250)],
        StoreUnavailable("gone for a moment"),
        [],
    ]

    class Members(ScriptedStore):
        async def on_members_claim_orphans(self, call: Call) -> object:
            answer = answers.pop(0) if answers else await call()
            if isinstance(answer, StoreUnavailable):
                raise answer
            return answer

    app = Tenuto(ScriptedStore())
    async with app:
        membership = app.engine.membership
        takeover = membership._takeover
        takeover._store = Members()
        with pytest.raises(StoreUnavailable):
            await membership.take_over()
        assert await membership.take_over() == 0
        assert takeover._claimed
        assert membership._claimed.is_set()


@pytest.mark.parametrize(
    ("output", "input"),
    [
        pytest.param("{{ctx.input.map(x => x + 1).length}}", [0] * 4_000, id="steps"),
        pytest.param(0, "x" * 60_000, id="bytes"),
    ],
)
async def test_decisions_with_much_work_have_turns_of_their_own_beside_other_tenants(
    output: JSON, input: JSON
) -> None:
    mixed: list[set[str]] = []
    owners: dict[str, str] = {}

    class Noting(ScriptedStore):
        async def on_turns_commit(self, call: Call) -> object:
            for write in call.args[0].writes:
                if write.create is not None:
                    owners[write.instance_id] = write.create.tenant
            mixed.append({owners[write.instance_id] for write in call.args[0].writes})
            return await call()

    async with Tenuto(Noting(lanes=1)) as app:
        storm, quiet = (
            EngineWorkspace(app.engine, app.bulk_runner, tenant=name) for name in ("storm", "quiet")
        )
        await storm.deploy(draw("d", d=end({"size": output})) | {"id": "costly"})
        await quiet.deploy(draw("d", d=end({})) | {"id": "cheap"})
        await storm.start("costly", input)
        await asyncio.gather(
            *(storm.start("costly", input) for _ in range(5)),
            *(quiet.start("cheap", None) for _ in range(20)),
        )
        await at_rest(app)
    assert {"storm"} in mixed
    assert {"quiet"} in mixed
    assert {"storm", "quiet"} not in mixed


def shared_lanes() -> tuple[Sharing, Intake, Intake]:
    """Two lanes with several tenants at work."""
    sharing = Sharing()
    sharing.begin()
    one, other = (Intake(Bounds(turn_share=10), sharing=sharing) for _ in range(2))
    return sharing, one, other


def report(intake: Intake, tenant: str, count: int) -> None:
    for number in range(count):
        intake.report(Request(f"{tenant}-{number}", TakenOver(), tenant=tenant))


async def test_a_lane_has_no_turn_while_all_that_it_has_rests_or_is_left_to_another() -> None:
    sharing, one, other = shared_lanes()
    for intake in (one, other):
        report(intake, "storm", 50)
        report(intake, "flood", 50)
    report(other, "costly", 3)
    assert one.take().size > 0  # its commit is under way
    rested = sharing.rest({"costly"})
    had_turn = other.has_turn
    rested()
    assert (had_turn, other.has_turn) == (False, True)
    assert {request.tenant for request in other.take().requests} == {"costly"}


async def test_a_lane_that_sleeps_behind_the_backlog_of_another_is_woken_up_after_it() -> None:
    _, one, other = shared_lanes()
    report(one, "storm", 11)
    report(other, "storm", 50)
    assert one.take().size > 0
    had_turn = other.has_turn
    asleep = other.sleep()
    one.turn_ended()
    assert asleep.done()
    assert (had_turn, other.has_turn) == (False, True)


async def test_the_rest_of_one_tenant_ends_no_other() -> None:
    sharing, _, _ = shared_lanes()
    first = sharing.rest({"a"})
    second = sharing.rest({"b"})
    first()
    assert list(sharing.resting) == ["b"]
    again = sharing.rest({"b"})
    second()
    assert list(sharing.resting) == ["b"]
    again()
    assert not sharing.resting


async def test_every_second_turn_is_without_the_backlog_of_another_tenant() -> None:
    """Two turns of an instance have one turn of the backlog between them, however long that is."""
    _, one, _ = shared_lanes()
    report(one, "storm", 100)
    taken = []
    for _ in range(4):
        report(one, "quiet", 1)
        taken.append({request.tenant for request in one.take().requests})
        one.turn_ended()
    assert taken == [{"storm", "quiet"}, {"quiet"}] * 2


async def test_a_tenant_with_a_backlog_rests_while_one_without_is_at_work() -> None:
    sharing, one, _ = shared_lanes()
    report(one, "storm", 100)
    one.take()
    assert one.backlogs == {"storm"}
    assert not sharing.has_light_beside(one.backlogs)
    report(one, "quiet", 1)
    one.take()
    assert one.backlogs == frozenset()
    one.take()
    assert one.backlogs == {"storm"}
    assert sharing.has_light_beside(one.backlogs)
    assert not sharing.has_light_beside({"storm", "quiet"})


async def test_tenants_that_all_have_backlogs_do_not_rest() -> None:
    sharing, one, _ = shared_lanes()
    for tenant in ("storm", "flood", "gale"):
        report(one, tenant, 50)
    one.take()
    assert one.backlogs == {"storm", "flood", "gale"}
    assert not sharing.has_light_beside(one.backlogs)


async def test_a_tenant_is_at_work_for_a_moment_only_and_few_are_remembered() -> None:
    now = 5.0
    sharing = Sharing(lambda: now)
    sharing.weighed([f"t{number}" for number in range(3 * MOST_LIGHT)], ())
    assert len(sharing._light) == MOST_LIGHT
    now += 0.9 * LIGHT_SECONDS
    assert sharing.has_light_beside({"storm"})
    now += 0.2 * LIGHT_SECONDS
    assert not sharing.has_light_beside({"storm"})


async def test_large_work_rests_only_while_a_tenant_with_little_to_do_is_at_work() -> None:
    now = 5.0
    sharing = Sharing(lambda: now)
    sharing.weighed(["quiet"], ())
    assert sharing.rest_after(1e-3) == 0, "the tenant is alone"
    sharing.begin()
    assert sharing.rest_after(1e-3) == REST_TIMES * 1e-3
    assert sharing.rest_after(1e-3, longest=2e-3) == 2e-3
    assert sharing.rest_after(1e-3, "quiet") == 0, "it is its own work"
    assert sharing.rest_after(1e-3, "storm") > 0
    assert sharing.rest_after(9.0) == LONGEST_REST
    now += 1.1 * LIGHT_SECONDS
    assert sharing.rest_after(LIGHT_SECONDS / LIGHT_ROUNDS) == 0
    sharing.weighed((), ["storm"])
    assert sharing.rest_after(1e-3) == 0, "all tenants have backlogs"
    sharing.weighed(["quiet"], ())
    sharing.end()
    assert sharing.rest_after(1e-3) == 0, "the engine stops"


async def test_large_work_rests_also_where_it_keeps_the_next_input_of_another_tenant_away() -> None:
    """Else that one is late because nothing rests, and nothing rests because it is late."""
    now = 5.0
    sharing = Sharing(lambda: now)
    sharing.begin()
    sharing.weighed(["quiet"], ())
    took = 4 * LIGHT_SECONDS / LIGHT_ROUNDS
    now += 3.9 * LIGHT_SECONDS
    assert sharing.rest_after(took, "storm", is_in_loop=True) == REST_TIMES * took
    assert sharing.rest_after(took / 2, "storm", is_in_loop=True) == 0
    assert sharing.rest_after(took, "storm") == 0, "it waited for the store"
    now += LATELY
    is_late = sharing.rest_after(9.0, "storm", is_in_loop=True) > 0
    assert not is_late, "it has nothing to do any more"


async def test_that_another_tenant_was_at_work_counts_for_a_second() -> None:
    now = 5.0
    sharing = Sharing(lambda: now)
    sharing.begin()
    sharing.saw(["storm"])
    seen = [sharing.was_shared_lately]
    for _ in range(2):
        sharing.saw(["quiet"])
        seen.append(sharing.was_shared_lately)
    now += LATELY
    assert [*seen, sharing.was_shared_lately] == [False, True, True, False]


async def test_lanes_with_backlogs_of_a_tenant_that_rests_do_not_wake_each_other_up() -> None:
    sharing, *both = shared_lanes()
    woken = 0

    async def run(lane: Intake) -> None:
        nonlocal woken
        while not lane.has_turn:
            await lane.sleep()
            woken += 1

    for lane in both:
        report(lane, "storm", 50)
    rested = sharing.rest(["storm"])
    running = asyncio.gather(*map(run, both))
    for _ in range(100):
        await asyncio.sleep(0)
    assert woken <= len(both)
    rested()
    await asyncio.wait_for(running, 30)


async def test_a_lane_takes_no_turn_for_inputs_of_a_tenant_that_rests() -> None:
    """Each of them wakes it up: with empty turns it would keep the event loop from all others."""
    turns = 0
    app = Tenuto(ScriptedStore(lanes=1))

    @app.task
    async def work() -> None:
        return None

    async with app:
        storm = EngineWorkspace(app.engine, app.bulk_runner, tenant="storm")
        await storm.deploy(draw("w", w=task()) | {"id": "short"})
        await at_rest(app)
        [intake] = app.engine.turns.intakes
        take = intake.take

        def counted() -> Batch:
            nonlocal turns
            turns += 1
            return take()

        intake.take = counted  # type: ignore[method-assign]
        rested = app.engine.shared.sharing.rest(["storm"])
        starting = [asyncio.ensure_future(storm.start("short", None)) for _ in range(20)]
        for _ in range(20):
            await asyncio.sleep(0)
        assert turns == 0
        rested()
        await asyncio.gather(*starting)
        assert turns > 0


async def test_a_turn_of_a_backlog_begins_the_rest_of_its_tenant_with_its_commit() -> None:
    """Else the other lane would take a turn of it meanwhile."""
    resting: list[set[str]] = []

    class Noting(ScriptedStore):
        async def on_turns_commit(self, call: Call) -> object:
            resting.append(set(app.engine.shared.sharing.resting))
            return await call()

    app = Tenuto(Noting(lanes=1), settings=Settings(bounds=Bounds(turn_share=2)))
    app.engine.shared.sharing._ticks = lambda: 0.0  # those at work stay so
    async with app:
        storm, quiet = (
            EngineWorkspace(app.engine, app.bulk_runner, tenant=name) for name in ("storm", "quiet")
        )
        await asyncio.gather(
            *(each.deploy(draw("d", d=end({})) | {"id": "short"}) for each in (storm, quiet))
        )
        await asyncio.gather(
            *(storm.start("short", None) for _ in range(40)),
            *(quiet.start("short", None) for _ in range(2)),
        )
        await at_rest(app)
    assert {"storm"} in resting
    assert {"quiet"} not in resting


@pytest.mark.parametrize("is_full", [False, True])
async def test_a_backlog_of_results_does_not_rest_while_the_service_is_full(
    monkeypatch: pytest.MonkeyPatch, *, is_full: bool
) -> None:
    """Others wait for the slots of its instances; starts and events hold none, and rest."""
    monkeypatch.setattr(FreeSlots, "is_service_full", is_full)
    resting: list[set[str]] = []
    begun = 0
    go = asyncio.Event()

    class Noting(ScriptedStore):
        async def on_turns_commit(self, call: Call) -> object:
            if go.is_set():
                resting.append(set(app.engine.shared.sharing.resting))
            return await call()

    app = Tenuto(Noting(lanes=1), settings=Settings(bounds=Bounds(turn_share=2)))
    app.engine.shared.sharing._ticks = lambda: 0.0  # those at work stay so

    @app.task
    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun == 42:
            go.set()
        await go.wait()

    async with app:
        storm, quiet = (
            EngineWorkspace(app.engine, app.bulk_runner, tenant=name) for name in ("storm", "quiet")
        )
        for each in (storm, quiet):
            await each.deploy(draw("w", w=task()) | {"id": "short"})
        await asyncio.gather(
            *(storm.start("short", None) for _ in range(40)),
            *(quiet.start("short", None) for _ in range(2)),
        )
        await at_rest(app)
    assert len(resting) > 5
    assert ({"storm"} in resting) is not is_full


async def test_a_backlog_of_starts_is_told_apart_from_one_of_results() -> None:
    _, one, _ = shared_lanes()
    report(one, "storm", 50)
    for number in range(50):
        one.ask(Request(f"flood-{number}", TakenOver(), tenant="flood"))
    one.take()
    assert one.backlogs == {"storm", "flood"}
    assert one.new_backlogs == {"flood"}


def published(tenant: str, number: int, *, is_large: bool) -> EventRequest:
    event = Event(
        id=f"{tenant}-{number}",
        pattern="a.b",
        payload=None,
        received_at=datetime(2026, 1, 1, tzinfo=UTC),
        tenant=tenant,
    )
    future = asyncio.get_running_loop().create_future()
    return EventRequest(event=event, future=future, is_large=is_large)


async def test_a_large_event_has_a_turn_of_its_own_while_tenants_share() -> None:
    """What is in the same turn would wait until it is stored."""
    _, one, _ = shared_lanes()
    for number in range(3):
        one.store_event(published("storm", number, is_large=number > 0))
        one.store_event(published("quiet", number, is_large=False))
    report(one, "quiet", 3)
    batches: list[Batch] = []
    while not one.is_empty:
        batches.append(one.take())
        one.turn_ended()
    with_large = [each for each in batches if any(event.is_large for event in each.events)]
    assert [each.size for each in with_large] == [1, 1]
    assert sum(each.size for each in batches) == 9
    assert [event.event.id for each in batches for event in each.events][:2] == [
        "storm-0",
        "quiet-0",
    ]


async def test_the_notes_of_one_tenant_do_not_go_before_the_inputs_of_another() -> None:
    sharing = Sharing()
    intake = Intake(Bounds(turn_share=5), lambda id: id.split("-")[0], sharing)
    sharing.begin()
    for number in range(50):
        _ = intake.looked_back(LookedBack(f"storm-{number}", "w", "", 1))
    sharing.rest({"storm"})
    assert not intake.has_turn
    report(intake, "quiet", 1)
    batch = intake.take()
    assert (len(batch.requests), len(batch.looked_back)) == (1, 0)
