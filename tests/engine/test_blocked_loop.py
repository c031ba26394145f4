"""A task that blocks the event loop is named, with the line that blocks."""

from __future__ import annotations

import logging
import threading

import pytest

from tenuto import Settings, Tenuto
from tests.engine.situations import steps

pytestmark = pytest.mark.asyncio


class Reported(logging.Handler):
    """Lets the task go on as soon as it has been reported."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = threading.Event()
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += record.getMessage()
        self.seen.set()


async def test_a_blocked_loop_is_reported_with_its_stack() -> None:
    reported = Reported()
    logging.getLogger("tenuto.watchdog").addHandler(reported)
    app = Tenuto(settings=Settings(report_block_after=0.05))

    @app.task
    async def work(input: object) -> str:
        blocks_here = reported.seen.wait(30)
        return f"reported: {blocks_here}"

    try:
        async with app:
            await app.deploy(steps("a"))
            assert await (await app.start("flow", 1)).result(60) == "reported: True"
    finally:
        logging.getLogger("tenuto.watchdog").removeHandler(reported)
    assert "blocks_here = reported.seen.wait(30)" in reported.text
