"""A process that pushes and stops in good order costs nobody anything."""

from __future__ import annotations

import asyncio

from tenuto.model.durations import epoch_ms
from tenuto.model.policy import LOSSES_UNTIL_POISON
from tenuto.ports import Page
from tenuto.targets.state import breaker_state
from tests.executions.stage import Stage, cancel
from tests.executions.test_push_dispatcher import DONE, FLOW
from tests.executions.test_push_outages import Office, stumbling


async def stopped(here: Office, seconds: float = 1.0) -> None:
    here.pushing.cancel()
    await asyncio.gather(here.pushing, return_exceptions=True)
    await here.office.finish(seconds)


def test_orderly_stops_poison_no_task_that_is_being_pushed() -> None:
    rounds = LOSSES_UNTIL_POISON + 1

    async def story(stage: Stage) -> None:
        here = await Office(stage).begin()
        here.address.is_silent = True
        id = await stage.started(here.engine, FLOW)
        for sent in range(1, rounds + 1):
            await stage.clock.sleep(3)
            assert len(here.address.began) == sent, "nobody waits for a lease to lapse"
            await stopped(here)
            assert here.address.at_once == 0
            state = await here.office.state("default", "charge")
            assert state.shares == {}, "nor for a place at its address"
            here.again()
        here.address.is_silent = False
        await stage.clock.sleep(3)
        await stopped(here)
        here.again()
        assert (await here.engine.final_state(id)).state.status == "COMPLETED"
        payloads = [row.payload or b"" for row in await here.engine.store.instances.entries(id)]
        assert sum(b"STOPPED" in each for each in payloads) == rounds
        assert not any(b"LOST" in each for each in payloads)
        await here.end()

    Stage().play(story)


def test_what_a_service_has_accepted_stays_its_own_when_a_process_stops() -> None:
    async def story(stage: Stage) -> None:
        here = await Office(stage).begin()
        here.address.page = Page(202)
        await stage.started(here.engine, FLOW)
        while not here.address.began:
            await stage.clock.sleep(0.1)
        stumbling(here.engine, "jobs.hand_over", 1)
        await stopped(here, seconds=1.5)
        here.again()
        await stage.clock.sleep(60)
        assert len(here.address.began) == 1
        await here.end()

    Stage().play(story)


def test_a_process_stops_also_while_the_store_is_away() -> None:
    async def story(stage: Stage) -> None:
        here = await Office(stage).begin()
        here.address.is_silent = True
        await stage.started(here.engine, FLOW)
        await stage.clock.sleep(2)
        stumbling(here.engine, "turns.commit", 1_000)
        before = stage.clock.ticks()
        await stopped(here)
        assert stage.clock.ticks() - before < 6

    Stage().play(story)


def test_a_probe_that_is_called_off_keeps_no_other_waiting() -> None:
    async def story(stage: Stage) -> None:
        here = await Office(stage).begin()
        here.address.page = Page(503)
        for _ in range(2):
            await stage.started(here.engine, FLOW)
        await stage.clock.sleep(5)
        state = await here.office.state("default", "charge")
        assert breaker_state(state, epoch_ms(stage.clock.now())) == "open"
        here.address.page = DONE
        here.address.is_silent = True
        probe = await stage.started(here.engine, FLOW)
        await stage.clock.sleep(10)
        assert here.address.at_once == 1
        here.address.is_silent = False
        await cancel(here.engine, probe)
        before = stage.clock.ticks()
        id = await stage.started(here.engine, FLOW)
        assert (await here.engine.final_state(id)).state.status == "COMPLETED"
        assert stage.clock.ticks() - before < 15
        await here.end()

    Stage().play(story)
