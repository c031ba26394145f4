"""What goes wrong with one push, or for a moment, costs nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from tenuto.engine.engine import Engine
from tenuto.executions.claim_queue import MOST_WAITING
from tenuto.executions.push_dispatcher import PushDispatcher
from tenuto.executions.push_wire import Ticket, outcome_of
from tenuto.model.durations import epoch_ms
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.executions import TaskReport
from tenuto.model.task_definition import TaskLimits
from tenuto.ports import Page
from tenuto.targets.state import breaker_state
from tests.executions.stage import Stage, cancel
from tests.executions.test_push_dispatcher import FLOW, Address, declare, over
from tests.kit.workload.drawing import document, node


class Office:
    """One process that pushes."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.address = Address(stage.clock)

    async def begin(self) -> Office:
        self.engine, self.broker = await self.stage.opened(shared=True)
        self.again()
        await declare(self.engine, TaskLimits())
        await self.stage.clock.sleep(2)
        return self

    def again(self) -> None:
        """Another process's share, after the one before."""
        self.office = PushDispatcher(self.engine, self.broker, self.address, lambda: "http://here")
        self.pushing = asyncio.get_running_loop().create_task(self.office.run())

    async def end(self) -> None:
        await over([(self.engine, self.pushing)])


def stumbling(
    engine: Engine, verb: str, times: int, error: type[TenutoError] = StoreUnavailable
) -> None:
    """Have a verb of the store fail so often."""
    part, name = verb.split(".")
    real: Callable[..., Awaitable[object]] = getattr(getattr(engine.store, part), name)
    left = times

    async def stumbles(*given: Any, **named: Any) -> object:  # noqa: ANN401 - as the store has it
        nonlocal left
        left -= 1
        if left >= 0:
            raise error("away for a moment")
        return await real(*given, **named)

    setattr(getattr(engine.store, part), name, stumbles)


def test_a_task_that_was_accepted_is_not_pushed_again_because_the_store_stumbled() -> None:
    async def story(stage: Stage) -> None:
        here = await Office(stage).begin()
        here.address.page = Page(202)
        stumbling(here.engine, "jobs.hand_over", 2)
        await stage.started(here.engine, FLOW)
        await stage.clock.sleep(60)
        assert len(here.address.began) == 1
        await here.end()

    Stage().play(story)


def test_a_breaker_counts_also_while_the_store_stumbles() -> None:
    async def story(stage: Stage) -> None:
        here = await Office(stage).begin()
        here.address.page = Page(503)
        for _ in range(2):
            await stage.started(here.engine, FLOW)
        while len(here.address.began) < 2:
            await stage.clock.sleep(0.1)
        stumbling(here.engine, "tasks.put_target", 3)
        await stage.clock.sleep(5)
        state = await here.office.state("default", "charge")
        assert breaker_state(state, epoch_ms(stage.clock.now())) == "open"
        await here.end()

    Stage().play(story)


def test_workers_that_wait_keep_nothing_from_being_pushed() -> None:
    async def story(stage: Stage) -> None:
        here = await Office(stage).begin()
        hour = timedelta(hours=1)
        waiting = [
            asyncio.ensure_future(here.broker.claim("default", f"w{n}", ["other"], wait=hour))
            for n in range(MOST_WAITING)
        ]
        await stage.clock.sleep(1)
        id = await stage.started(here.engine, FLOW)
        assert (await here.engine.final_state(id)).state.status == "COMPLETED"
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await here.end()

    Stage().play(story)


def test_an_address_that_cannot_be_served_keeps_no_other_waiting() -> None:
    async def story(stage: Stage) -> None:
        here = await Office(stage).begin()
        await declare(here.engine, TaskLimits(), id="zebra")
        await stage.clock.sleep(2)
        real = here.engine.store.tasks.target

        async def unreadable(tenant: str, task_id: str) -> object:
            if task_id == "charge":
                raise TenutoError("a row that cannot be read")
            return await real(tenant, task_id)

        here.engine.store.tasks.target = unreadable  # type: ignore[method-assign, assignment]
        flow = document("z", [node("a", "task", taskId="zebra")], [])
        id = await stage.started(here.engine, flow)
        assert (await here.engine.final_state(id)).state.status == "COMPLETED"
        assert here.address.urls == ["https://zebra.example.com/"]
        await here.end()

    Stage().play(story)


def test_an_instance_that_wants_no_more_of_a_push_has_its_address_let_go() -> None:
    async def story(stage: Stage) -> None:
        here = await Office(stage).begin()
        here.address.is_silent = True
        id = await stage.started(here.engine, FLOW)
        await stage.clock.sleep(2)
        assert here.address.at_once == 1
        before = stage.clock.ticks()
        await cancel(here.engine, id)
        assert (await here.engine.final_state(id)).state.status == "CANCELLED"
        assert stage.clock.ticks() - before < 8, "not only when its grace is over"
        await stage.clock.sleep(1)
        assert here.address.at_once == 0
        await here.end()

    Stage().play(story)


def test_pushing_that_dies_is_told() -> None:
    async def story(stage: Stage) -> None:
        here = await Office(stage).begin()

        async def broken(**_: object) -> object:
            raise AssertionError("a bug")

        here.engine.store.tasks.pushed = broken  # type: ignore[method-assign, assignment]
        await here.pushing
        assert isinstance(here.office.fault, AssertionError)
        await here.end()

    Stage().play(story)


def test_those_who_change_a_row_at_the_same_time_give_way() -> None:
    async def story(stage: Stage) -> None:
        here = await Office(stage).begin()
        before: list[float] = []

        async def late(*_: object) -> bool:
            before.append(stage.clock.ticks())
            return False

        here.engine.store.tasks.put_target = late  # type: ignore[method-assign, assignment]
        await stage.started(here.engine, FLOW)
        await stage.clock.sleep(5)
        assert 5 < len(before) < 500
        await here.end()

    Stage().play(story)


TICKET = Ticket("default", "e", "t")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"status":"COMPLETED","output":1,"durationMs":5}', None),
        (b'{"status":"FAILED","error":{"code":"NO","stack":"..."},"host":"a"}', "NO"),
    ],
)
def test_what_else_a_service_says_of_its_outcome_is_passed_over(
    body: bytes, code: str | None
) -> None:
    said = outcome_of(Page(200, body), TICKET).report
    assert isinstance(said, TaskReport)
    assert (None if said.error is None else said.error.code) == code


def test_an_answer_that_cannot_be_recorded_fails_once_and_is_not_pushed_again() -> None:
    async def story(stage: Stage) -> None:
        here = await Office(stage).begin()
        here.address.page = Page(200, b'{"status":"COMPLETED","output":"\\u0000"}')
        state = (await here.engine.final_state(await stage.started(here.engine, FLOW))).state
        assert state.last_error is not None
        assert state.last_error.code == "PUSH_REFUSED"
        assert len(here.address.began) == 1
        await here.end()

    Stage().play(story)
