"""Two things happen to one instance at the same moment, in two processes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.postgres.aftermath import judged
from tests.crash.postgres.crew import crew
from tests.crash.postgres.pairs import COMMANDS, PAIRS, Duels
from tests.crash.postgres.worker import Orders
from tests.kit.postgres_database import empty_database

ROUNDS = 2
"""One in which one of the two stops, and one in which both do."""
WITH_STOP = [pair for pair in PAIRS if "stop" in pair]
OTHERS = [pair for pair in PAIRS if "stop" not in pair]


@pytest.mark.slow
@pytest.mark.asyncio
async def test_any_two_commands_may_meet(tmp_path: Path) -> None:
    """ "All pairs of 12 commands on one instance at once (78), barrier-released in two processes";
    whatever happened, the instance ends once it is given all that it waits for.
    """
    assert (len(COMMANDS), len(PAIRS)) == (12, 78)
    await _meet(tmp_path, ROUNDS, random.Random(19))


@pytest.mark.soak
@pytest.mark.asyncio
async def test_any_two_commands_may_meet_however_often(
    tmp_path: Path, seeds: Iterator[int]
) -> None:
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        await _meet(folder, ROUNDS, random.Random(seed))


async def _meet(folder: Path, rounds: int, chance: random.Random) -> None:
    url = await empty_database("crash")
    orders = Orders(url=url, folder=str(folder), beat_every=0.3, dead_after=5, work_takes=0)
    async with crew(orders, 3, chance=chance) as members:
        duels = Duels(members)
        for number in range(rounds):
            others = chance.sample(OTHERS, len(OTHERS))
            await duels.round(others)
            await duels.round(WITH_STOP, both_stop=number % 2 == 1)
        await members.at_rest()
        await members.stop_all()
    run = await judged(url, folder, book=duels.book, faults=["haste"])
    print(f"{rounds} rounds, {len(list(run.instances))} instances, accepted: {duels.accepted}")
    asked = {"start", "cancel", "pause", "resume", "retry", "rerun", "publish", "release"}
    assert set(duels.accepted) == asked
