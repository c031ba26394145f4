"""Several real processes on one real server, really killed."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.postgres.aftermath import failures, judged
from tests.crash.postgres.clients import Clients
from tests.crash.postgres.crew import crew
from tests.crash.postgres.worker import Orders
from tests.kit import soak_figures
from tests.kit.postgres_database import empty_database

KILLS = int(os.environ.get("TENUTO_KILLS", "8"))
KILLS_OF_A_SEED = 40
A_KILL_EVERY = 20
"""So many starts are acknowledged between two kills, more or less."""


@pytest.mark.slow
@pytest.mark.asyncio
async def test_nothing_is_lost_when_processes_are_killed_under_load(tmp_path: Path) -> None:
    """ "kill -9 under load": random processes die and are replaced at once. Everything that was
    acknowledged ends, every join fires once, and every second dispatch has a recorded loss.
    """
    lost = await _kill_under_load(tmp_path, kills=KILLS, chance=random.Random(9))
    assert lost >= KILLS, "vacuous: the kills hardly hit anything"


@pytest.mark.soak
@pytest.mark.asyncio
async def test_nothing_is_lost_however_often_processes_are_killed(
    tmp_path: Path, seeds: Iterator[int]
) -> None:
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        lost = await _kill_under_load(folder, kills=KILLS_OF_A_SEED, chance=random.Random(seed))
        soak_figures.add(
            "PostgreSQL",
            kills=KILLS_OF_A_SEED,
            workflows=KILLS_OF_A_SEED * A_KILL_EVERY,
            lost_attempts=lost,
        )


async def _kill_under_load(folder: Path, *, kills: int, chance: random.Random) -> int:
    """Returns how many attempts were lost on the way."""
    url = await empty_database("crash")
    orders = Orders(url=url, folder=str(folder), beat_every=0.3, dead_after=1.5)
    async with crew(orders, 4, chance=chance) as members:
        clients = Clients(members)
        clients.begin(kills * A_KILL_EVERY)
        for kill in range(kills):
            await clients.has_accepted(kill * A_KILL_EVERY + chance.randrange(A_KILL_EVERY))
            await members.replace(await members.anybody())
        await clients.all_ended()
        await members.stop_all()
    run = await judged(url, folder, book=clients.book, faults=["kill -9"] * kills)
    lost = failures(run, "LOST")
    print(f"{kills} kills, {len(clients.book)} workflows, {len(lost)} attempts lost")
    assert Counter(clients.statuses.values()) == {"COMPLETED": kills * A_KILL_EVERY}
    return len(lost)
