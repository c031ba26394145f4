"""Loops of the engine: what ends a pass, and what ends the loop."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tenuto.engine.loops import REFUSED_RETRY_SECONDS, Loops
from tenuto.engine.outage import Outage
from tenuto.ports import SystemClock
from tenuto.store.errors import DataRefused

pytestmark = pytest.mark.asyncio


class Leaping(SystemClock):
    """Nobody waits for its time to pass."""

    at = 0.0

    def ticks(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.at += seconds


async def test_a_loop_whose_data_a_store_refuses_is_logged_and_goes_on_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, hint, done = Leaping(), asyncio.Event(), asyncio.Event()
    moments: list[float] = []

    async def once() -> float | None:
        moments.append(clock.at)
        hint.set()
        if len(moments) < 3:
            raise DataRefused("cannot store REAL value in INTEGER column slots.rank")
        done.set()
        await asyncio.Event().wait()
        return None

    loops = Loops(clock, Outage(clock), lambda _, error: pytest.fail(repr(error)))
    loops.run("admission", once, hint=hint)
    async with asyncio.timeout(60):
        await done.wait()
    await loops.stop()
    assert moments == [0.0, REFUSED_RETRY_SECONDS, 2 * REFUSED_RETRY_SECONDS], "hints do not matter"
    logged = [each for each in caplog.records if each.levelno == logging.CRITICAL]
    assert [each.getMessage() for each in logged] == [
        "the store refuses what the loop admission writes"
    ] * 2
