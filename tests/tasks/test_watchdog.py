from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from tenuto.ports import SystemClock
from tenuto.tasks import Watchdog
from tests.tasks.stage import TOO_LONG

THRESHOLD = 0.01


class Barks(logging.Handler):
    """What the watchdog said, and a signal for each level."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.barked = threading.Event()
        self.calmed = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        (self.barked if record.levelno >= logging.ERROR else self.calmed).set()


@pytest.fixture
def barks() -> Barks:
    return Barks()


def block_until(signal: threading.Event) -> None:
    assert signal.wait(TOO_LONG)


@pytest.mark.asyncio
async def test_a_blocked_loop_is_reported_once_with_its_stack(barks: Barks) -> None:
    logger = logging.getLogger("tenuto.watchdog")
    logger.addHandler(barks)
    watchdog = Watchdog(SystemClock(), threshold=THRESHOLD)
    watchdog.start()
    watchdog.start()
    try:
        block_until(barks.barked)
        threading.Event().wait(THRESHOLD * 5)
        async with asyncio.timeout(TOO_LONG):
            while not barks.calmed.is_set():  # noqa: ASYNC110
                await asyncio.sleep(0)
    finally:
        watchdog.stop()
        logger.removeHandler(barks)
    errors = [record for record in barks.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    message = errors[0].getMessage()
    assert "blocked for more than 0.01 s" in message
    assert "block_until(barks.barked)" in message
    assert "goes on after" in barks.records[-1].getMessage()


@pytest.mark.asyncio
async def test_a_watchdog_stops_while_the_loop_is_blocked(barks: Barks) -> None:
    logger = logging.getLogger("tenuto.watchdog")
    logger.addHandler(barks)
    watchdog = Watchdog(SystemClock(), threshold=THRESHOLD)
    watchdog.stop()
    watchdog.start()
    thread = watchdog._thread
    block_until(barks.barked)
    watchdog.stop()
    watchdog.stop()
    logger.removeHandler(barks)
    assert thread is not None
    assert not thread.is_alive()
    assert not barks.calmed.is_set()


def test_a_watchdog_ends_with_its_loop() -> None:
    watchdog = Watchdog(SystemClock(), threshold=THRESHOLD)

    async def main() -> threading.Thread | None:
        watchdog.start()
        return watchdog._thread

    thread = asyncio.run(main())
    assert thread is not None
    thread.join(TOO_LONG)
    assert not thread.is_alive()


class StoppedMeanwhile(threading.Event):
    """Whoever stops the watchdog does so just before it asks its next question."""

    def __init__(self, is_stopping: threading.Event) -> None:
        super().__init__()
        self._is_stopping = is_stopping

    def clear(self) -> None:
        self._is_stopping.set()
        self.set()
        super().clear()


@pytest.mark.asyncio
async def test_a_stop_between_two_questions_is_not_overheard() -> None:
    watchdog = Watchdog(SystemClock(), threshold=THRESHOLD)
    watchdog._answered = StoppedMeanwhile(watchdog._is_stopping)
    watchdog.start()
    thread = watchdog._thread
    assert thread is not None
    thread.join(TOO_LONG)
    assert not thread.is_alive()
