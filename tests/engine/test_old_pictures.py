"""What a process remembers of an instance that others advance is never the last word."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta

from tenuto.model.errors import StoreUnavailable
from tenuto.model.inputs import PauseAsked, ResumeAsked, Started
from tenuto.store.parts.turns import NOTHING_KNOWN, StoredInstance
from tests.engine.test_jobs import Stage
from tests.kit.workload.drawing import document, node

WAITING = document("w", [node("a", "eventWait", eventPattern="evt.wait")], [])
FAR_RETRIES = document(
    "w",
    [
        node(
            "a",
            "task",
            taskId="far",
            retry={"maxAttempts": 9, "initialDelay": "PT30S", "multiplier": 1},
        )
    ],
    [],
)


def test_a_command_is_judged_by_what_another_process_has_done() -> None:
    async def story(stage: Stage) -> None:
        one, two = stage.engine("one"), stage.engine("two")
        await one.open()
        await two.open()
        deployed = await one.plans.save("default", WAITING)
        start = Started(definition_id="w", definition_version=1, input={})
        id = (await one.start(deployed.plan, start)).instance_id
        assert (await two.ask(id, PauseAsked(by="two"))).rejection is None
        await stage.clock.sleep(3600)
        assert (await one.ask(id, ResumeAsked(by="one"))).rejection is None

    Stage().play(story)


def test_a_timer_that_another_process_has_set_anew_is_not_taken_for_an_old_one() -> None:
    async def story(stage: Stage) -> None:
        one, two = stage.engine("one"), stage.engine("two")
        await one.open()
        await two.open()
        deployed = await one.plans.save("default", WAITING)
        start = Started(definition_id="w", definition_version=1, input={})
        id = (await one.start(deployed.plan, start)).instance_id
        now = stage.clock.now()
        await one.ask(id, PauseAsked(by="one", until=now + timedelta(hours=1)))
        await two.ask(id, ResumeAsked(by="two"))
        await two.ask(id, PauseAsked(by="two", until=now + timedelta(minutes=1)))
        await two.close()
        await stage.clock.sleep(1800)
        assert (await one.state_of(id)).state.status == "WAITING_FOR_EVENT"

    Stage().play(story)


def test_retries_that_wander_between_processes_come_to_their_end() -> None:
    async def story(stage: Stage) -> None:
        stage.failing = True
        engines = [stage.engine(name, "far") for name in ("one", "two", "three")]
        for engine in engines:
            await engine.open()
        deployed = await engines[0].plans.save("default", FAR_RETRIES)
        start = Started(definition_id="w", definition_version=1, input={})
        id = (await engines[0].start(deployed.plan, start)).instance_id
        held = await engines[0].final_state(id)
        assert held.state.status == "FAILED"
        assert len(stage.ran) == 9

    Stage().play(story)


def test_a_job_whose_instance_could_not_be_read_at_first_is_begun_later_and_is_no_loss() -> None:
    async def story(stage: Stage) -> None:
        one, two = stage.engine("one", "near"), stage.engine("two", "far")
        await one.open()
        await two.open()
        load, broken = two.store.turns.load, [True]

        async def once_away(
            ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
        ) -> dict[str, StoredInstance]:
            if broken and stage.disk.jobs:
                broken.clear()
                raise StoreUnavailable("away")
            return await load(ids, known)

        two.store.turns.load = once_away  # type: ignore[method-assign, assignment]
        id = await stage.started(one)
        async with asyncio.timeout(300):
            await one.final_state(id)
        assert not broken
        assert [each for each in stage.ran if each[1] == "far"] == [("two", "far", 1)]

    Stage().play(story)


def test_a_fenced_process_reads_nothing_of_what_it_owned() -> None:
    async def story(stage: Stage) -> None:
        stage.holding["one"] = asyncio.Event()
        one, two = stage.engine("one", "near", "far"), stage.engine("two", "near", "far")
        await one.open()
        id = await stage.started(one)
        await stage.clock.sleep(0.1)
        await two.open()
        stage.disk.declare_dead(one.process_id)
        await two.final_state(id)
        await stage.clock.sleep(30)
        reads: list[object] = []
        load = one.store.turns.load

        async def counted(
            ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
        ) -> dict[str, StoredInstance]:
            reads.append(ids)
            return await load(ids, known)

        one.store.turns.load = counted  # type: ignore[method-assign,assignment]
        await stage.clock.sleep(60)
        assert reads == []

    Stage().play(story)
