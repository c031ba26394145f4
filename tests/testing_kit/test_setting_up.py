"""A new engine for every test costs next to nothing: counted, not timed."""

from __future__ import annotations

import threading

import pytest

from tenuto.testing import Engine
from tests.testing_kit.shop import APPROVED, ORDER


def test_an_engine_that_is_not_used_starts_nothing() -> None:
    engine = Engine()
    assert engine.lives.begun == 0
    engine.close()
    assert engine.lives.begun == 0


def test_a_whole_test_needs_no_thread_and_few_steps() -> None:
    before = threading.active_count()
    with Engine() as engine:
        engine.start(APPROVED, ORDER).until(waiting_for="approval.given")
        assert threading.active_count() == before
        assert engine.lives.process.loop.steps < 100
        engine.skip(days=3)
        assert engine.lives.process.loop.steps < 1_500


def test_a_test_leaves_nothing_running() -> None:
    engine = Engine()
    engine.start(APPROVED, ORDER)
    loop = engine.lives.process.loop
    engine.close()
    assert loop.is_closed()


def test_an_engine_that_nobody_closes_complains_to_nobody() -> None:
    Engine().start(APPROVED, ORDER)


@pytest.mark.asyncio
async def test_a_test_that_is_itself_asynchronous_may_use_it(engine: Engine) -> None:
    run = engine.start(APPROVED, ORDER).until(waiting_for="approval.given")
    engine.crash_once(1)
    engine.publish("approval.given")
    engine.recover()
    assert run.finished().path == ["reserve", "charge", "approval", "ship"]
