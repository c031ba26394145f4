"""Data that the store refuses never leave an instance standing still where nobody sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import apsw
import msgspec
import pytest

from tenuto import InstanceRef, Settings, Tenuto, TenutoError, WorkflowFailed
from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.engine.loops import Loops
from tenuto.engine.outage import Outage
from tenuto.engine.turns import deferred_inputs
from tenuto.engine.turns.deferred_inputs import DeferredInputs
from tenuto.engine.turns.requests import Request
from tenuto.model.inputs import TimerDue, TimerKey, TimerKind
from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.ports import SystemClock
from tenuto.store.errors import DataRefused
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.parts.turns import InstanceWrite
from tenuto.store.protocol import Store
from tenuto.testing.wrapped_store import Call
from tests.engine.situations import at_rest, until
from tests.kit.scripted_store import ScriptedStore

pytestmark = pytest.mark.asyncio

STARTED = "0190a0b0-0000-7000-8000-000000000001"
"""The one instance that is no child."""

CHILD: Object = {"id": "child", "steps": [{"stepId": "c", "type": "TASK", "taskId": "work"}]}
FLOW: Object = {
    "id": "flow",
    "steps": [
        {"stepId": "a", "type": "TASK", "taskId": "work", "transitions": {"default": "nap"}},
        {
            "stepId": "nap",
            "type": "DELAY",
            "duration": "PT0.005S",
            "transitions": {"default": "wait"},
        },
        {
            "stepId": "wait",
            "type": "EVENT_WAIT",
            "eventPattern": "go",
            "transitions": {"default": "sub"},
        },
        {
            "stepId": "sub",
            "type": "SUB_WORKFLOW",
            "workflowId": "child",
            "transitions": {"default": "each"},
        },
        {"stepId": "each", "type": "LOOP", "source": [1, 2], "transitions": {"loop": "b"}},
        {"stepId": "b", "type": "TASK", "taskId": "work", "transitions": {"default": "each"}},
    ],
}


class Picky(ScriptedStore):
    """Never takes what `refuses` says; its words quote what no store keeps."""

    def __init__(self, disk: MemoryDisk | None = None) -> None:
        super().__init__(disk)
        self.refuses: Callable[[InstanceWrite], bool] = lambda _: False
        self.refused = 0

    async def on_turns_commit(self, call: Call) -> object:
        turn = call.turn
        assert turn is not None
        if any(map(self.refuses, turn.writes)):
            self.refused += 1
            raise DataRefused("not this: \0 \ud800")
        return await call()


def entry(seq: int, *, of_children: bool = False) -> Callable[[InstanceWrite], bool]:
    """Whether a write has an entry of this number, unless it sets the instance aside."""

    def refuses(write: InstanceWrite) -> bool:
        is_child = write.instance_id != STARTED
        kinds = {row.seq: row.event_type for row in write.rows}
        return is_child is of_children and seq in kinds and "SYSTEM_SET" not in kinds.values()

    return refuses


def app_on(
    store: Store, clock: SystemClock | None = None, bounds: Bounds = DEFAULT_BOUNDS
) -> Tenuto:
    app = Tenuto(store, settings=Settings(stop_grace=0.0, bounds=bounds), clock=clock)

    @app.task
    async def work(input: object) -> object:
        return input

    @app.task
    async def hang(input: object) -> None:
        await asyncio.Event().wait()

    return app


async def played(app: Tenuto, *, event_first: bool) -> InstanceRef:
    """Run the flow; its event comes before the wait for it is open, or while it is."""
    await app.deploy(CHILD)
    await app.deploy(FLOW)
    run = await app.start("flow", {}, instance_id=STARTED)

    async def is_there() -> bool:
        return await run.status() in ("WAITING_FOR_EVENT", "FAILED")

    if not event_first:
        await until(app, is_there)
        await at_rest(app)
    await app.publish("go", {})
    await run.result(60)
    return run


@pytest.mark.parametrize("event_first", [True, False])
@pytest.mark.parametrize("of_children", [True, False])
async def test_an_instance_is_set_aside_visibly_wherever_the_store_refuses_to_go_on(
    event_first: bool, of_children: bool
) -> None:
    async with app_on(Picky()) as app:
        run = await played(app, event_first=event_first)
        [child] = [each for each in await app.instances() if each.id != run.id]
        length = len(await app.engine.store.instances.entries(child.id if of_children else run.id))
    codes = []
    for seq in range(1, length + 1):
        store = Picky()
        store.refuses = entry(seq, of_children=of_children)
        async with app_on(store) as app:
            with pytest.raises(TenutoError) as refused:
                await played(app, event_first=event_first)
            assert store.refused, "vacuous: nothing was refused"
            error = refused.value
            codes.append(error.error.code if isinstance(error, WorkflowFailed) else error.code)
            found = {each.id: each.status for each in await app.instances()}
            assert found.get(STARTED, Status.FAILED) is Status.FAILED
            assert STARTED not in {each.instance_id for each in await store.mailbox.claim(10)}
    # A start that is refused is told to whoever asked; a child's to its parent.
    starts = codes.count("TEN-2004")
    aside = "CHILD_FAILED" if of_children else "NOT_STORABLE"
    assert codes == ["TEN-2004"] * starts + [aside] * (length - starts)
    assert (starts > 0) is not of_children


class TwoHoursLater(SystemClock):
    """Shows what the machine's clock will show then."""

    def now(self) -> datetime:
        return super().now() + timedelta(hours=2)


@pytest.mark.parametrize(
    "step",
    [
        {"stepId": "s", "type": "TASK", "taskId": "hang"},
        {"stepId": "s", "type": "DELAY", "duration": "PT1H"},
    ],
    ids=["an attempt that was lost", "a timer that is a row"],
)
async def test_what_another_process_left_is_set_aside_too(step: Object) -> None:
    disk = MemoryDisk()
    async with app_on(MemoryStore(disk)) as app:
        await app.deploy({"id": "flow", "steps": [step]})
        run = await app.start("flow", {}, instance_id=STARTED)
        length = len(await app.engine.store.instances.entries(run.id))
    store = Picky(disk)
    store.refuses = entry(length + 1)
    async with app_on(store, TwoHoursLater()) as app:
        with pytest.raises(WorkflowFailed) as failed:
            await (await app.instance(run.id)).result(60)
        assert failed.value.error.code == "NOT_STORABLE"
        assert "not this" in failed.value.error.message
        assert await store.timers.due(app.engine.clock.now(), 10) == ([], None)


async def test_what_cannot_even_be_set_aside_is_left_alone_for_a_while() -> None:
    store = Picky()

    set_aside = 0

    def refuses(write: InstanceWrite) -> bool:
        nonlocal set_aside
        kinds = {row.event_type for row in write.rows}
        if "SYSTEM_SET" in kinds:
            set_aside += 1
            return True
        # A timer that shares its turn with the event is refused once more, so it is not counted.
        return "TIMER_FIRED" in kinds and set_aside < 4

    store.refuses = refuses
    async with app_on(store, bounds=Bounds(first_retry=0.001)) as app:
        run = await played(app, event_first=True)
        assert await run.status() == "COMPLETED"
        assert set_aside >= 4
        assert store.refused >= 8


async def test_pauses_grow_until_they_are_long() -> None:
    class Leaping(SystemClock):
        """Nobody waits for its time to pass."""

        at = 0.0

        def ticks(self) -> float:
            return self.at

        async def wait(self, event: asyncio.Event, seconds: float) -> bool:
            await asyncio.sleep(0)
            self.at += seconds
            return event.is_set()

    clock, done = Leaping(), asyncio.Event()
    moments: list[float] = []

    def report(request: Request) -> None:
        moments.append(clock.at)
        if len(moments) < 40:
            waiting.put(request)
        else:
            done.set()

    waiting = DeferredInputs(clock, report)
    key = TimerKey(TimerKind.DELAY, "nap")
    waiting.put(Request("i", TimerDue(key=key, due=clock.now())))
    loops = Loops(clock, Outage(clock), lambda _, error: pytest.fail(repr(error)))
    waiting.start(loops)
    async with asyncio.timeout(60):
        await done.wait()
    await loops.stop()
    pauses = [after - before for before, after in pairwise(moments)]
    assert pauses[:4] == [2.0, 4.0, 8.0, 16.0]
    assert pauses == sorted(pauses)
    assert pauses[-1] == deferred_inputs.LONGEST_PAUSE


REFUSING = """
CREATE TRIGGER no_grant BEFORE UPDATE OF state ON slots
WHEN NEW.state = 'held' AND NEW.instance_id = '{id}'
BEGIN SELECT RAISE(ABORT, 'this row is not granted'); END
"""
HOLDING: Object = {
    "id": "holding",
    "steps": [{"stepId": "wait", "type": "EVENT_WAIT", "eventPattern": "go"}],
    "options": {"concurrency": {"limit": 1, "holdWhileWaiting": True}},
}


async def holding(url: str, count: int) -> list[str]:
    """Instances of which the first has the only slot."""
    async with Tenuto(url) as app:
        await app.deploy(HOLDING)
        ids = [(await app.start("holding", {"n": n})).id for n in range(count)]
        await at_rest(app)
    return ids


def file_at(url: str, statement: str) -> None:
    file = apsw.Connection(url.removeprefix("sqlite:///"))
    file.execute(statement)
    file.close()


async def test_a_row_of_the_queue_that_is_refused_is_quarantined_and_others_go_on(
    tmp_path: Path,
) -> None:
    """Where there is one writer the turn that gives a slot back makes the pass of admission too:
    nothing is held against the instance that ends."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    ends, refused, *others = await holding(url, 4)
    file_at(url, REFUSING.format(id=refused))
    async with Tenuto(url) as app, asyncio.timeout(60):
        await app.publish("go")  # those that begin later find it too
        for id in (ends, *others):
            instance = await app.instance(id)
            await instance.result(timeout=30)
            assert await instance.status() is Status.COMPLETED
        instance = await app.instance(refused)
        assert await instance.status() is Status.CREATED
        causes = msgspec.convert((await instance.explain())["causes"], list[Object])
        assert [each["kind"] for each in causes] == ["quarantined"]
        assert "the store refuses its slot: " in str(causes[0]["message"])
        [suspect] = await app.engine.store.quarantine.suspects()
        assert (suspect.instance_id, suspect.is_quarantined) == (refused, True)
        assert app.engine.shared.loops.refused == set()
    file_at(url, "DROP TRIGGER no_grant")
    async with Tenuto(url) as app:
        instance = await app.instance(refused)
        await instance.retry()
        await instance.result(timeout=30)
        assert await instance.status() is Status.COMPLETED
