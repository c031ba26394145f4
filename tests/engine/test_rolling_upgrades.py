"""Old and new programs on one store: what the old one cannot read, a new one goes on with."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import msgspec
import pytest

from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.engine.effects.unreadable import FIRST_PAUSE
from tenuto.engine.engine import Engine
from tenuto.engine.settings import Settings
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.inputs import CancelAsked, EventCause, Input, PauseAsked, ResumeAsked, Started
from tenuto.model.json import Object
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.memory.disk import Owner, unpack
from tenuto.store.parts.mailbox import Mail
from tenuto.store.protocol import Store
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import Registry
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.engine.old_program import OldProgram
from tests.kit.workload.drawing import document, edge, node

TAKE_OVER = 7.0
"""Seconds: two beats of three, and a moment."""
NAP = 300


def work(id: str) -> Object:
    return document(id, [node("a", "task", taskId="work")], [])


def nap(id: str) -> Object:
    nodes = [node("a", "delay", duration=NAP * 1000), node("b", "task", taskId="work")]
    return document(id, nodes, [edge("a", "b")])


class Stage:
    """Engines of old and new programs on one disk in virtual time, and who ran what."""

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self.bounds = bounds
        self.loop = VirtualLoop(Random(1))
        self.clock = VirtualClock(self.loop, Wall())
        self.disk = MemoryDisk()
        self.ids = SeededIds(Random(1))
        self.ran: list[tuple[str, int]] = []
        self.holding: set[str] = set()

    def new(self, name: str = "new", **options: Any) -> Engine:  # noqa: ANN401
        return self._engine(name, MemoryStore(self.disk, shared=True), **options)

    def old(
        self,
        name: str = "old",
        *,
        most_looks: int | None = None,
        **options: Any,  # noqa: ANN401
    ) -> tuple[Engine, Counter[str]]:
        store = OldProgram(MemoryStore(self.disk, shared=True))
        store.most_looks = most_looks
        return self._engine(name, store, **options), store.asked

    def _engine(self, name: str, store: Store, *, has_task: bool = True) -> Engine:
        async def run(ctx: Context) -> str:
            self.ran.append((name, ctx.attempt))
            if name in self.holding:
                await asyncio.Event().wait()
            return name

        registry = Registry()
        if has_task:
            registry.add(TaskFunction(run, name="work"))
        settings = Settings(unknown_tasks="wait", bounds=self.bounds)
        return Engine(store, registry=registry, clock=self.clock, ids=self.ids, settings=settings)

    async def started(self, engine: Engine, workflow: Object) -> str:
        deployed = await engine.plans.save("default", workflow)
        started = Started(definition_id=str(workflow["id"]), definition_version=1, input={})
        return (await engine.start(deployed.plan, started)).instance_id

    async def kill(self, engine: Engine) -> None:
        await engine.shared.loops.stop()
        self.disk.declare_dead(engine.process_id)
        engine.store.abandon()

    def owner(self, instance_id: str) -> str | None:
        row = self.disk.owners.get(instance_id)
        return None if row is None else unpack(Owner, row).process_id

    async def send(self, instance_id: str, *inputs: Input) -> None:
        outside = MemoryStore(self.disk, shared=True)
        letters = [
            Mail(
                id=f"{instance_id}/{number}",
                instance_id=instance_id,
                input=msgspec.json.encode(input),
                created_at=self.clock.now(),
            )
            for number, input in enumerate(inputs)
        ]
        await outside.mailbox.send(letters)

    async def kinds(self, instance_id: str) -> Counter[str]:
        rows = await MemoryStore(self.disk, shared=True).instances.entries(instance_id)
        return Counter(row.event_type for row in rows)


def played(
    story: Callable[[Stage], Coroutine[Any, Any, None]], bounds: Bounds = DEFAULT_BOUNDS
) -> None:
    stage = Stage(bounds)
    try:
        stage.loop.run_until_complete(story(stage))
    finally:
        stage.loop.discard_tasks()


async def ended(stage: Stage, engine: Engine, *ids: str, within: float) -> None:
    begin = stage.clock.ticks()
    for id in ids:
        held = await engine.final_state(id)
        assert held.state.status == "COMPLETED", held.state.last_error
    assert stage.clock.ticks() - begin <= within


def test_what_an_old_program_takes_over_and_cannot_read_a_new_one_goes_on_with() -> None:
    async def story(stage: Stage) -> None:
        stage.holding = {"gone"}
        gone, heir = stage.new("gone"), stage.new()
        old, _ = stage.old()
        await gone.open()
        await old.open()
        ids = [await stage.started(gone, work("newer")) for _ in range(3)]
        both = await stage.started(gone, work("plain"))
        await stage.clock.sleep(1)
        # The old one is there alone: it takes over what it can read, and keeps nothing else.
        await stage.kill(gone)
        await ended(stage, old, both, within=TAKE_OVER)
        await stage.clock.sleep(1)
        assert {stage.owner(id) for id in ids} == {"given-back"}
        await heir.open()
        await ended(stage, heir, *ids, within=TAKE_OVER)
        assert stage.ran[-3:] == [("new", 2)] * 3
        assert stage.disk.owners == {}

    played(story)


def test_with_both_there_a_new_one_has_it_within_the_usual_time() -> None:
    async def story(stage: Stage) -> None:
        stage.holding = {"gone"}
        gone, heir = stage.new("gone"), stage.new()
        olds = [stage.old(f"old {number}")[0] for number in range(3)]
        await gone.open()
        for old in olds:
            await old.open()
        await heir.open()
        ids = [await stage.started(gone, work("newer")) for _ in range(20)]
        plain = [await stage.started(gone, work("plain")) for _ in range(20)]
        await stage.clock.sleep(1)
        await stage.kill(gone)
        await ended(stage, heir, *ids, *plain, within=TAKE_OVER)
        assert {name for name, attempt in stage.ran if attempt == 2} >= {"new"}

    played(story)


def test_an_attempt_that_was_lost_counts_once_however_often_it_is_given_back() -> None:
    async def story(stage: Stage) -> None:
        stage.holding = {"gone"}
        gone = stage.new("gone")
        await gone.open()
        id = await stage.started(gone, work("newer"))
        await stage.clock.sleep(1)
        await stage.kill(gone)
        for number in range(8):
            old, _ = stage.old(f"old {number}")
            await old.open()
            await stage.clock.sleep(FIRST_PAUSE)
            if number % 2:
                await stage.kill(old)
        heir = stage.new()
        await heir.open()
        await ended(stage, heir, id, within=TAKE_OVER)
        assert stage.ran == [("gone", 1), ("new", 2)]
        assert (await stage.kinds(id))["NODE_FAILED"] == 1  # the loss

    played(story)


def test_an_old_program_that_is_alone_with_it_asks_seldom_and_ever_more_so() -> None:
    async def story(stage: Stage) -> None:
        stage.holding = {"gone"}
        gone, (old, asked) = stage.new("gone"), stage.old()
        await gone.open()
        for _ in range(5):
            await stage.started(gone, work("newer"))
            await stage.started(gone, nap("newer-nap"))
        sleeper = await stage.started(gone, nap("newer"))
        await stage.send(sleeper, ResumeAsked(by="test"))
        await stage.clock.sleep(1)
        await stage.kill(gone)
        await old.open()
        await stage.clock.sleep(NAP + 60)
        before = asked.copy()
        await stage.clock.sleep(NAP)
        asked.subtract(before)
        # The pause is doubled each time: of eleven instances little is read.
        assert asked["turns.load"] <= 20
        # As often as it would look without having heard of anything, and when a pause is over.
        assert asked["members.claim_orphans"] <= 10
        assert asked["timers.due"] <= NAP / 5 + 20
        assert asked["mailbox.claim"] <= NAP / 2 + 20

    played(story)


def test_what_a_new_program_writes_to_an_instance_of_an_old_one_is_handed_over() -> None:
    async def story(stage: Stage) -> None:
        stage.holding = {"old"}
        new, (old, _) = stage.new(), stage.old()
        await old.open()
        await new.open()
        id = await stage.started(old, work("plain"))
        waiting = asyncio.ensure_future(old.final_state(id))
        await stage.clock.sleep(1)
        assert stage.ran == [("old", 1)]
        await new.ask(id, PauseAsked(by="test"))
        await stage.clock.sleep(TAKE_OVER)
        assert old.runner.in_flight == 0
        assert stage.owner(id) != old.process_id
        with pytest.raises(TenutoError, match="newer program"):
            await waiting
        with pytest.raises(TenutoError, match="newer program"):
            await old.ask(id, ResumeAsked(by="test"))
        await new.ask(id, ResumeAsked(by="test"))
        await ended(stage, new, id, within=TAKE_OVER)
        # It was stopped in good order, and that is no loss.
        assert stage.ran == [("old", 1), ("new", 2)]

    played(story)


def test_a_timer_that_came_to_an_old_program_fires_in_a_new_one() -> None:
    async def story(stage: Stage) -> None:
        gone, heir = stage.new("gone"), stage.new()
        old, asked = stage.old()
        await gone.open()
        await old.open()
        ids = [await stage.started(gone, nap(name)) for name in ("newer", "newer", "plain")]
        await stage.clock.sleep(1)
        await gone.close()
        await stage.clock.sleep(NAP + 5)
        assert stage.ran == [("old", 1)]
        looks = asked["timers.due"]
        await stage.clock.sleep(FIRST_PAUSE / 2)
        assert asked["timers.due"] - looks <= FIRST_PAUSE / 5
        await heir.open()
        await ended(stage, heir, *ids, within=TAKE_OVER)
        assert sorted(stage.ran) == [("new", 1), ("new", 1), ("old", 1)]

    played(story)


def test_a_letter_that_came_to_an_old_program_is_taken_by_a_new_one() -> None:
    async def story(stage: Stage) -> None:
        new, (old, _) = stage.new(), stage.old()
        await old.open()
        ids = [await stage.started(old, nap(name)) for name in ("plain", "plain")]
        await stage.clock.sleep(1)
        for id in ids:
            await stage.send(id, CancelAsked(by="test"))
        await stage.clock.sleep(5)
        assert len(stage.disk.mail) == 2
        await new.open()
        for id in ids:
            assert (await new.final_state(id)).state.status == "CANCELLED"
        assert stage.disk.mail == {}

    played(story)


def test_a_letter_that_cannot_be_read_is_given_back_each_time_that_it_comes() -> None:
    async def story(stage: Stage) -> None:
        new, (old, _) = stage.new(), stage.old()
        await old.open()
        ids = [await stage.started(old, nap("plain")) for _ in range(2)]
        await new.open()
        await new.ask(ids[0], PauseAsked(by="test"))  # from now on the old one cannot read it
        await new.close()
        await stage.send(ids[0], ResumeAsked(by="test"))
        await stage.send(ids[1], CancelAsked(by="test"))
        for _ in range(2):
            await stage.clock.sleep(FIRST_PAUSE * 1.5)
            assert len(stage.disk.mail) == 2
        heir = stage.new("heir")
        await heir.open()
        await stage.clock.sleep(TAKE_OVER)
        assert stage.disk.mail == {}

    played(story)


def test_behind_a_letter_that_cannot_be_read_none_is_dropped() -> None:
    """It may be the start of whoever the others are for."""

    async def story(stage: Stage) -> None:
        new, (old, _) = stage.new(), stage.old()
        await new.open()
        await new.plans.save("default", nap("newer"))
        await new.close()
        await old.open()
        cause = EventCause(event_id="e", trigger=0)
        started = Started(definition_id="newer", definition_version=1, input={}, cause=cause)
        await stage.send("child", started, PauseAsked(by="test"))
        await stage.clock.sleep(FIRST_PAUSE / 2)
        assert len(stage.disk.mail) == 2
        heir = stage.new("heir")
        await heir.open()
        await stage.clock.sleep(TAKE_OVER)
        assert (await heir.state_of("child")).state.status == "PAUSED"
        assert stage.disk.mail == {}

    played(story)


def test_a_job_that_an_old_program_cannot_read_is_no_lost_attempt() -> None:
    async def story(stage: Stage) -> None:
        owner, heir = stage.new("owner", has_task=False), stage.new()
        old, asked = stage.old()
        await owner.open()
        await old.open()
        id = await stage.started(owner, work("newer"))
        plain = await stage.started(owner, work("plain"))
        await stage.clock.sleep(NAP)
        assert stage.ran == [("old", 1)]
        assert asked["turns.load"] < 30
        await heir.open()
        await ended(stage, heir, id, plain, within=TAKE_OVER)
        assert stage.ran == [("old", 1), ("new", 1)]
        assert (await stage.kinds(id))["NODE_FAILED"] == 0

    played(story)


def test_past_what_can_be_kept_in_mind_nothing_more_is_taken_over() -> None:
    async def story(stage: Stage) -> None:
        stage.holding = {"gone"}
        gone, heir = stage.new("gone"), stage.new()
        old, asked = stage.old()
        await gone.open()
        ids = [await stage.started(gone, work("newer")) for _ in range(10)]
        await stage.clock.sleep(1)
        await stage.kill(gone)
        await old.open()
        await stage.clock.sleep(FIRST_PAUSE / 2)
        assert asked["turns.load"] <= 2 * len(ids)
        await heir.open()
        await ended(stage, heir, *ids, within=TAKE_OVER)

    played(story, Bounds(unreadable_kept=4))


CROWDED = Bounds(unreadable_kept=4, mail_batch=2, timer_batch=2)
CROWD = 14
"""More of what cannot be read than can be kept in mind."""


def test_of_more_letters_than_can_be_kept_in_mind_few_are_looked_at() -> None:
    async def story(stage: Stage) -> None:
        stage.holding = {"old"}
        new, (old, asked) = stage.new(), stage.old(most_looks=500)
        await old.open()
        own = await stage.started(old, work("plain"))
        sleeper = await stage.started(old, nap("plain"))
        for number in range(CROWD):
            await stage.send(f"nobody {number}", CancelAsked(by="test"))
        await stage.clock.sleep(FIRST_PAUSE / 3)
        before = asked["mailbox.claim"]
        await stage.clock.sleep(FIRST_PAUSE / 3)
        assert old.fault is None
        # Not one more than with an empty mailbox.
        assert asked["mailbox.claim"] - before <= FIRST_PAUSE / 3 / 2 + 1
        # What is for an instance of its own comes all the same, and the rest to others.
        await stage.send(own, PauseAsked(by="test"))
        await stage.clock.sleep(5)
        assert (await stage.kinds(own))["PAUSE_REQUESTED"] == 1
        await stage.send(sleeper, CancelAsked(by="test"))
        await new.open()
        await stage.clock.sleep(TAKE_OVER)
        assert (await new.state_of(sleeper)).state.status == "CANCELLED"

    played(story, CROWDED)


def test_of_more_timers_than_can_be_kept_in_mind_few_are_looked_at() -> None:
    async def story(stage: Stage) -> None:
        gone, heir = stage.new("gone"), stage.new()
        old, asked = stage.old(most_looks=500)
        await gone.open()
        ids = [await stage.started(gone, nap("newer")) for _ in range(CROWD)]
        await stage.clock.sleep(1)
        await gone.close()
        await stage.clock.sleep(NAP)
        await old.open()
        await stage.clock.sleep(FIRST_PAUSE / 3)
        before = asked.copy()
        await stage.clock.sleep(FIRST_PAUSE / 3)
        asked.subtract(before)
        assert old.fault is None
        assert asked["timers.due"] <= FIRST_PAUSE / 3 / 5 + 1
        assert asked["turns.load"] == 0
        await heir.open()
        await ended(stage, heir, *ids, within=TAKE_OVER)

    played(story, CROWDED)


def test_past_what_can_be_kept_in_mind_pauses_grow_all_the_same() -> None:
    async def story(stage: Stage) -> None:
        stage.holding = {"gone"}
        gone, (old, asked) = stage.new("gone"), stage.old(most_looks=5_000)
        await gone.open()
        for _ in range(CROWD):
            await stage.started(gone, work("newer"))
        await stage.clock.sleep(1)
        await stage.kill(gone)
        await old.open()
        loads: list[int] = []
        for _ in range(3):
            before = asked["turns.load"]
            await stage.clock.sleep(15 * FIRST_PAUSE)
            loads.append(asked["turns.load"] - before)
        assert loads[-1] <= loads[0] / 2

    played(story, CROWDED)


def test_one_look_into_a_mailbox_that_never_ends_does() -> None:
    async def story(stage: Stage) -> None:
        old, asked = stage.old(most_looks=50)
        await old.open()
        asked.clear()
        for number in range(20):
            await stage.send(f"nobody {number}", CancelAsked(by="test"))
        assert await old.effects.mailbox.run_once() == 5
        assert asked["mailbox.claim"] == 5

    played(story, Bounds(mail_batch=1, mail_rounds=5))


def test_a_store_that_is_away_is_given_it_back_later() -> None:
    async def story(stage: Stage) -> None:
        stage.holding = {"gone"}
        gone, (old, _) = stage.new("gone"), stage.old()
        await gone.open()
        id = await stage.started(gone, work("newer"))
        await stage.clock.sleep(1)
        await stage.kill(gone)
        plain, tries = old.store.members.give_back, 0

        async def away(unread: Any) -> bool:  # noqa: ANN401
            nonlocal tries
            tries += 1
            if tries < 4:
                raise StoreUnavailable("away")
            return await plain(unread)

        old.store.members.give_back = away  # type: ignore[method-assign]
        await old.open()
        await stage.clock.sleep(1)
        assert stage.owner(id) == old.process_id
        await stage.clock.sleep(5)
        assert stage.owner(id) == "given-back"

    played(story)
