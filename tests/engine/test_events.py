"""Events: stored first, matched by an index, taken once, none lost between writing and looking."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from tenuto import Conflict, InvalidInput, Settings, Status, Tenuto
from tenuto.model.json import Object
from tenuto.testing.wrapped_store import Call
from tests.engine.situations import ONE_WAIT, at_rest, until_waiting
from tests.engine.work import counted_work
from tests.kit.scripted_store import ScriptedStore

pytestmark = pytest.mark.asyncio

QUIET = Settings(mail_every=3600, project_every=3600)


async def waiting(app: Tenuto, count: int, first: int = 0) -> None:
    await asyncio.gather(
        *(app.start("waiting", {"orderId": n}) for n in range(first, first + count))
    )
    await until_waiting(app, first + count)


@pytest.mark.slow
async def test_an_event_costs_what_it_matches_and_not_what_is_waiting(tmp_path: Path) -> None:
    """One among hundreds waiting is one index look-up."""
    costs: list[tuple[int, int]] = []
    for count in (10, 600):
        with counted_work() as work:
            async with Tenuto(f"sqlite:///{tmp_path}/{count}.db", settings=QUIET) as app:
                await app.deploy(ONE_WAIT)
                await waiting(app, count)
                work.take()
                published = await app.publish("payment.received", {"orderId": 5}, id="e")
                await at_rest(app)
                costs.append(work.take())
                assert published.resumed == 1
                completed = await app.instances(status="COMPLETED")
                assert len(completed) == 1
    (few, scanned_few), (many, scanned_many) = costs
    assert scanned_few == scanned_many == 0
    assert many < 2 * few


@pytest.mark.slow
async def test_an_event_right_after_the_start_is_never_lost() -> None:
    """A wait also takes an event that came before it opened, since the instance was created."""
    async with Tenuto() as app:

        @app.task
        async def prepare(input: object) -> None:
            """Lets the event come before the wait, beside it, or after it."""
            assert isinstance(input, dict)
            for _ in range(input["turns"]):
                await asyncio.sleep(0)

        await app.deploy(
            {
                "id": "prepared",
                "steps": [
                    {
                        "stepId": "prepare",
                        "type": "TASK",
                        "taskId": "prepare",
                        "transitions": {"default": "wait"},
                    },
                    *ONE_WAIT["steps"],  # type: ignore[misc]
                ],
            }
        )
        for n in range(300):
            instance = await app.start("prepared", {"orderId": n, "turns": n % 9})
            for _ in range(n % 7):
                await asyncio.sleep(0)
            await app.publish("payment.received", {"orderId": n})
            output = await instance.result(10)
            assert isinstance(output, dict)
            assert output["payload"] == {"orderId": n}


async def test_the_same_event_twice_acts_once_and_answers_the_same() -> None:
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        await waiting(app, 3)
        first = await app.publish("payment.received", {"orderId": 1}, id="e-1")
        second = await app.publish("payment.received", {"orderId": 1}, id="e-1")
        assert (first.duplicate, first.resumed) == (False, 1)
        assert (second.duplicate, second.resumed) == (True, 1)
        await at_rest(app)
        statuses = Counter(summary.status for summary in await app.instances())
        assert statuses == {Status.COMPLETED: 1, Status.WAITING_FOR_EVENT: 2}


async def test_the_same_id_with_other_content_is_refused() -> None:
    async with Tenuto() as app:
        await app.publish("payment.received", {"orderId": 1}, id="e-1")
        with pytest.raises(Conflict) as caught:
            await app.publish("payment.received", {"orderId": 2}, id="e-1")
        assert caught.value.code == "TEN-3008"


async def test_an_event_goes_to_every_wait_that_it_fits() -> None:
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        started = await asyncio.gather(*(app.start("waiting", {"orderId": 1}) for _ in range(40)))
        await until_waiting(app, 40)
        published = await app.publish("payment.received", {"orderId": 1})
        assert published.resumed == 40
        outputs = [await each.result(10) for each in started]
        assert {output["eventId"] for output in outputs if isinstance(output, dict)} == {
            published.event_id
        }


@pytest.mark.parametrize("pattern", ["", ".", "a..b", "a.*", "**", "workflow.completed", "a\0b"])
async def test_a_name_that_no_event_can_have_is_refused(pattern: str) -> None:
    async with Tenuto() as app:
        with pytest.raises(InvalidInput) as caught:
            await app.publish(pattern, {})
        assert caught.value.problems[0].code == "TEN-2015"
        assert caught.value.problems[0].path == "$.pattern"


WILDCARDS: Object = {
    "id": "wild",
    "steps": [
        {
            "stepId": "one_word",
            "type": "EVENT_WAIT",
            "eventPattern": "order.*",
            "transitions": {"default": "many_words"},
        },
        {
            "stepId": "many_words",
            "type": "EVENT_WAIT",
            "eventPattern": "order.**",
            "lookback": "PT0S",
        },
    ],
}


async def test_wildcards_take_one_word_or_several() -> None:
    async with Tenuto() as app:
        await app.deploy(WILDCARDS)
        instance = await app.start("wild")
        await until_waiting(app, 1, "one_word")
        assert (await app.publish("orders.placed")).resumed == 0
        assert (await app.publish("order.placed")).resumed == 1
        await until_waiting(app, 1, "many_words")
        assert (await app.publish("order.item.added")).resumed == 1
        await instance.result(10)


async def test_two_events_at_once_with_one_id_and_other_content_leave_the_first_in_force() -> None:
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        await waiting(app, 1)
        first, second, third = await asyncio.gather(
            app.publish("payment.received", {"orderId": 0}, id="e"),
            app.publish("payment.received", {"orderId": 1}, id="e"),
            app.publish("payment.received", {"orderId": 0}, id="e"),
            return_exceptions=True,
        )
        assert not isinstance(first, BaseException)
        assert (first.duplicate, first.resumed) == (False, 1)
        assert isinstance(second, Conflict)
        assert not isinstance(third, BaseException)
        assert third.duplicate
        await at_rest(app)
        assert len(await app.instances(status="COMPLETED")) == 1


async def test_an_event_finds_by_its_correlation_id_the_one_that_waits_for_it() -> None:
    """However many wait for others."""
    seen: list[str] = []

    class Seeing(ScriptedStore):
        async def on_waits_matching(self, call: Call) -> object:
            found = await call()
            seen.extend(each.instance_id for each in found)
            return found

    step: Object = {"stepId": "wait", "type": "EVENT_WAIT", "eventPattern": "paid"}
    async with Tenuto(Seeing(), settings=QUIET) as app:
        await app.deploy({"id": "waiting", "steps": [step | {"correlationId": "{{ctx.input.id}}"}]})
        mine, *_ = [await app.start("waiting", {"id": f"c{n}"}) for n in range(20)]
        await until_waiting(app, 20)
        assert (await app.publish("paid", correlation_id="c0")).resumed == 1
        assert seen == [mine.id]
        assert (await app.publish("paid", correlation_id="nobody")).resumed == 0
        assert (await app.publish("paid")).resumed == 0
