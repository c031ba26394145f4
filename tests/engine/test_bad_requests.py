"""What is asked for may be nonsense: whoever asked is told, and nobody else notices."""

from __future__ import annotations

from datetime import datetime

import pytest

from tenuto import InvalidInput, Tenuto, TenutoError
from tenuto.model.inputs import CancelAsked
from tests.engine.situations import ONE_WAIT

pytestmark = pytest.mark.asyncio

HALF_A_PAIR = "\ud800"


@pytest.mark.parametrize("text", [HALF_A_PAIR, "a\0b"])
async def test_text_that_no_store_keeps_is_refused_wherever_it_is_handed_in(text: str) -> None:
    """NUL and lone surrogates are refused at every edge."""
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        waiting = await app.start("waiting", {"orderId": 1})
        for asked in (
            app.start("waiting", {"orderId": 2}, correlation_id=text),
            app.start("waiting", {"orderId": 2}, key=text),
            app.publish("payment.received", {}, id=text),
            app.publish("payment.received", {}, correlation_id=text),
            waiting.cancel(text),
            waiting.pause(text),
        ):
            with pytest.raises(InvalidInput) as refused:
                await asked
            assert refused.value.problems[0].code == "TEN-2004"
        assert [each.id for each in await app.instances()] == [waiting.id]
        assert await waiting.status() == "WAITING_FOR_EVENT"


async def test_a_pause_until_a_moment_without_a_time_zone_is_refused_and_fails_nothing() -> None:
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        waiting = await app.start("waiting", {"orderId": 1})
        with pytest.raises(InvalidInput):
            await waiting.pause(until=datetime(2030, 1, 1))  # noqa: DTZ001 - that is the point
        assert await waiting.status() == "WAITING_FOR_EVENT"


async def test_an_entry_that_cannot_be_written_down_stops_its_own_instance_alone() -> None:
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        bad = await app.start("waiting", {"orderId": 1})
        good = await app.start("waiting", {"orderId": 2})
        answer = await app.engine.ask(bad.id, CancelAsked(by="app", reason=HALF_A_PAIR))
        assert answer.status == "FAILED"
        await app.publish("payment.received", {"orderId": 2})
        await good.result(5)
        assert app.engine.fault is None
        with pytest.raises(TenutoError):
            await bad.result(5)
