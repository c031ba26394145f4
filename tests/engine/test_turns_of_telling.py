"""What there is to tell goes out while more of it comes."""

from __future__ import annotations

from datetime import datetime
from typing import cast

import pytest

from tenuto.engine.deliverer import Deliverer
from tenuto.engine.outbox import Drainer
from tenuto.engine.telling import Telling
from tenuto.ports import SystemClock


class Busy:
    """An outbox into which something comes three times while it is emptied, and what sends it."""

    def __init__(self) -> None:
        self.turns: list[str] = []

    async def drain(self) -> int:
        self.turns.append("drain")
        return int(self.turns.count("drain") < 4)

    async def deliver(self) -> datetime | None:
        self.turns.append("deliver")
        return None


class Part:
    def __init__(self, run_once: object) -> None:
        self.run_once = run_once
        self.next_try = None


@pytest.mark.asyncio
async def test_an_outbox_that_never_empties_keeps_nothing_from_being_sent() -> None:
    busy = Busy()

    async def fenced(_: str) -> None: ...

    telling = Telling(
        drainer=cast("Drainer", Part(busy.drain)),
        deliverer=cast("Deliverer", Part(busy.deliver)),
        clock=SystemClock(),
        process_id=lambda: "p",
        fenced=fenced,
    )
    await telling.run_once()
    assert busy.turns == ["drain", "deliver"] * 4
