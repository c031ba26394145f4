"""A command that left a letter looks for what came of it, however long a look takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from tenuto.cli.backends.mailbox import _seen
from tenuto.cli.backends.reader import Reader


class Ticking:
    """A clock that goes on by what is done."""

    def __init__(self) -> None:
        self.now = 0.0

    def ticks(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def reader(clock: Ticking) -> Reader:
    return cast("Reader", SimpleNamespace(clock=clock))


@pytest.mark.asyncio
async def test_a_look_that_takes_longer_than_the_patience_is_waited_for() -> None:
    clock = Ticking()

    async def look() -> str | None:
        clock.now += 5
        return "done"

    assert await _seen(reader(clock), look, 1) == "done"


@pytest.mark.asyncio
async def test_nothing_is_seen_once_the_patience_is_over() -> None:
    clock = Ticking()
    looks = 0

    async def look() -> str | None:
        nonlocal looks
        looks += 1
        return None

    assert await _seen(reader(clock), look, 1) is None
    assert 9 <= looks <= 12
