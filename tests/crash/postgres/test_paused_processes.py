"""Processes that stand still for longer than the others believe in them, and then go on."""

from __future__ import annotations

import itertools
import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenuto.store.postgres.driver import Connection
from tests.crash.load import read
from tests.crash.postgres.aftermath import failures, judged
from tests.crash.postgres.clients import Clients
from tests.crash.postgres.crew import Crew, Member, crew
from tests.crash.postgres.registers import is_buried, owned_by
from tests.crash.postgres.worker import Orders
from tests.kit import soak_figures
from tests.kit.patience import patience, until
from tests.kit.postgres_database import connected, empty_database

PAUSES = 5
PAUSES_OF_A_SEED = 10
A_PAUSE_EVERY = 25
"""So many workflows end between two pauses."""
SEVERAL, PATIENT_TRIES = 4, 30


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_paused_process_comes_back_as_another_and_its_late_results_count_for_nothing(
    tmp_path: Path,
) -> None:
    late = await _pause_under_load(tmp_path, PAUSES, random.Random(10))
    assert late >= PAUSES, "vacuous: hardly a result came late"


@pytest.mark.soak
@pytest.mark.asyncio
async def test_nothing_runs_twice_however_often_processes_are_paused(
    tmp_path: Path, seeds: Iterator[int]
) -> None:
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        late = await _pause_under_load(folder, PAUSES_OF_A_SEED, random.Random(seed))
        soak_figures.add("PostgreSQL", pauses=PAUSES_OF_A_SEED, late_results=late)


async def _pause_under_load(folder: Path, pauses: int, chance: random.Random) -> int:
    """Returns how many results came from attempts that were recorded as lost."""
    url = await empty_database("crash")
    orders = Orders(url=url, folder=str(folder), beat_every=0.3, dead_after=1)
    async with crew(orders, 3, chance=chance) as members, connected(url) as connection:
        clients = Clients(members)
        clients.begin(A_PAUSE_EVERY)  # so that there is work also at the last pause
        for pause in range(pauses):
            clients.begin(A_PAUSE_EVERY)
            await clients.has_ended(pause * A_PAUSE_EVERY)
            await _pause(members, connection)
        await clients.all_ended()
        await members.stop_all()
    run = await judged(url, folder, book=clients.book, faults=["SIGSTOP"] * pauses)
    lost = failures(run, "LOST")
    late = lost & {
        (str(line["instance"]), str(line["node"]), int(line["attempt"]))
        for line in read(folder / "effects")
        if line["outcome"] == "completed"
    }
    print(f"{pauses} pauses, {len(clients.book)} workflows, {len(lost)} lost, {len(late)} late")
    assert Counter(clients.statuses.values()) == {"COMPLETED": len(clients.book)}
    return len(late)


async def _pause(members: Crew, connection: Connection) -> None:
    """SIGSTOP while it has work, until everything that it owned is others'; then SIGCONT."""
    member, name = await _stopped_at_work(members, connection)
    await until(lambda: is_buried(connection, name))
    member.signal(signal.SIGCONT)

    async def has_another_name() -> bool:
        return bool((await member.ask("who"))["process"] != name)

    await until(has_another_name)


async def _stopped_at_work(members: Crew, connection: Connection) -> tuple[Member, str]:
    """One that has several in hand, so that some end late; on a slow machine one at least."""
    async with patience("a process that has work"):
        for tries in itertools.count():
            member = await members.anybody()
            name = str((await member.ask("who"))["process"])
            member.signal(signal.SIGSTOP)
            if await owned_by(connection, name) >= (SEVERAL if tries < PATIENT_TRIES else 1):
                return member, name
            member.signal(signal.SIGCONT)
    raise AssertionError("it counts on")
