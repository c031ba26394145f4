"""Tests that costly conditions of waits and triggers leave the loop to others in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenuto import Tenuto
from tenuto.engine.events import slices
from tenuto.engine.events.slices import Slices
from tenuto.expr import Steps
from tenuto.model.json import Object
from tenuto.ports import SystemClock

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

    async def counted(self: Slices, steps: Steps) -> None:
        nonlocal cut
        cut += 1
        steps.taken = 0

    monkeypatch.setattr(slices.Slices, "after", counted)
    async with Tenuto() as app:
        await app.deploy(waiting("event.payload.n > 0"))
        for _ in range(WAITS):
            await app.start("wait")
        assert (await app.publish("a.b", {"n": 1})).resumed == WAITS
    assert cut <= WAITS // 50


async def test_only_one_of_many_goes_on_in_a_turn_of_the_loop() -> None:
    clock = SystemClock()
    shared, done = Slices(clock), 0

    async def work() -> None:
        nonlocal done
        for _ in range(10):
            await shared.after(Steps())
            done += 1

    working = asyncio.gather(*(work() for _ in range(20)))
    most = 0
    while not working.done():
        before = done
        await asyncio.sleep(0)
        most = max(most, done - before)
    assert (done, most) == (200, 1)
