"""What there is to tell goes out while more of it comes."""

from __future__ import annotations

from datetime import datetime
from typing import cast

import pytest

from tenuto.engine.loops import Loops
from tenuto.engine.outage import Outage
from tenuto.engine.outbox.deliverer import Deliverer
from tenuto.engine.outbox.drainer import Drainer
from tenuto.engine.outbox.outbox import Outbox
from tenuto.ports import SystemClock
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop


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

    telling = Outbox(
        drainer=cast("Drainer", Part(busy.drain)),
        deliverer=cast("Deliverer", Part(busy.deliver)),
        clock=SystemClock(),
        process_id=lambda: "p",
        fenced=fenced,
    )
    await telling.run_once()
    assert busy.turns == ["drain", "deliver"] * 4


class Unheard:
    """A drainer to which nobody listens until somebody does; counts what is asked for."""

    def __init__(self) -> None:
        self.is_listened_to = False
        self.next_try = None
        self.questions = 0
        self.looks = 0

    async def is_quiet(self) -> bool:
        self.questions += 1
        return not self.is_listened_to

    async def run_once(self) -> bool:
        self.looks += 1
        return False


def test_where_nobody_listens_the_outbox_is_looked_into_now_and_then_only() -> None:
    drainer = Unheard()

    async def fenced(_: str) -> None: ...

    async def two_minutes(clock: VirtualClock) -> tuple[int, int]:
        telling = Outbox(
            drainer=cast("Drainer", drainer),
            deliverer=None,
            clock=clock,
            process_id=lambda: "p",
            fenced=fenced,
        )
        loops = Loops(clock, Outage(clock), lambda _, error: pytest.fail(repr(error)))
        telling.start(loops)
        await clock.sleep(59)
        quiet = drainer.looks
        drainer.is_listened_to = True
        await clock.sleep(60)
        await loops.stop()
        return quiet, drainer.looks - quiet

    loop = VirtualLoop()
    clock = VirtualClock(loop, Wall())
    quiet, heard = loop.run_until_complete(two_minutes(clock))
    loop.close()
    assert quiet == 2, "at first, and once in between"
    assert heard >= 29, "every two seconds"
