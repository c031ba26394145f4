"""The database server is restarted, killed and cut off while several processes work on it."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.crash.postgres.aftermath import judged
from tests.crash.postgres.clients import Clients
from tests.crash.postgres.crew import Crew, Member, crew
from tests.crash.postgres.mishaps import MISHAPS, kill_everything
from tests.crash.postgres.worker import Orders
from tests.kit import soak_figures
from tests.kit.checker.record import Fields
from tests.kit.patience import until
from tests.kit.postgres_server import PostgresServer, running_server

A_MISHAP_EVERY = 25
"""So many workflows end between two mishaps."""
NEVER = 3600.0
"""Nobody looks into the mailbox unless somebody hints at it."""


@pytest.mark.slow
@pytest.mark.asyncio
async def test_nothing_is_lost_whatever_happens_to_the_server(tmp_path: Path) -> None:
    """ "Postgres restarts mid-load": `-m immediate`, `-m fast`, SIGKILL of postmaster, SIGKILL of
    one backend, `pg_terminate_backend`; afterwards hints are heard again.
    """
    with running_server(durable=True) as server:
        await _mishaps_under_load(server, tmp_path, random.Random(7))


@pytest.mark.soak
@pytest.mark.asyncio
async def test_nothing_is_lost_however_often_something_happens_to_the_server(
    tmp_path: Path, seeds: Iterator[int]
) -> None:
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        with running_server(durable=True) as server:
            await _mishaps_under_load(server, folder, random.Random(seed))
        workflows = (len(MISHAPS) + 1) * A_MISHAP_EVERY
        soak_figures.add("PostgreSQL", server_mishaps=len(MISHAPS), workflows=workflows)


@pytest.mark.slow
@pytest.mark.asyncio
async def test_nothing_is_lost_when_all_processes_and_the_server_are_killed_at_once(
    tmp_path: Path,
) -> None:
    with running_server(durable=True) as server:
        await _end_of_the_world(server, tmp_path, 1, random.Random(2))


@pytest.mark.soak
@pytest.mark.asyncio
async def test_nothing_is_lost_however_often_everything_is_killed_at_once(
    tmp_path: Path, seeds: Iterator[int]
) -> None:
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        with running_server(durable=True) as server:
            await _end_of_the_world(server, folder, 5, random.Random(seed))
        soak_figures.add("PostgreSQL", deaths_of_all_processes_and_the_server=5)


async def _mishaps_under_load(server: PostgresServer, folder: Path, chance: random.Random) -> None:
    mishaps = list(MISHAPS)
    chance.shuffle(mishaps)
    orders = Orders(
        url=server.url(), folder=str(folder), beat_every=0.3, dead_after=1.5, mail_every=NEVER
    )
    async with crew(orders, 3, chance=chance) as members:
        clients = Clients(members)
        clients.begin(A_MISHAP_EVERY)
        for number, mishap in enumerate(mishaps):
            clients.begin(A_MISHAP_EVERY)
            await clients.has_ended(number * A_MISHAP_EVERY + chance.randrange(A_MISHAP_EVERY))
            await mishap(server)
        await clients.all_ended()
        await asyncio.gather(*(until(partial(_hears, each)) for each in members.living))
        asked = [await _cancel_across(members, each) for each in members.living]
        await members.stop_all()
    book = clients.book + [entry for entries in asked for entry in entries]
    await judged(server.url(), folder, book=book, faults=[each.__name__ for each in mishaps])
    assert Counter(clients.statuses.values()) == {"COMPLETED": len(clients.book)}


async def _hears(member: Member) -> bool:
    return bool((await member.ask("who"))["hears"])


async def _cancel_across(members: Crew, owner: Member) -> list[Fields]:
    """Another process cancels what `owner` runs: it is told by a hint, or never."""
    given: Fields = {"k": -1, "flag": True}
    made = await owner.ask("start", workflow="held", input=given)

    async def is_held() -> bool:
        return bool((await owner.ask("who"))["held"])

    await until(is_held)
    other = next(each for each in members.living if each is not owner)
    await other.ask("cancel", **made)
    assert await other.ask("end", **made) == {"status": "CANCELLED"}
    return [
        {"op": "start", "outcome": "ok", "input": given, **made},
        {"op": "cancel", "outcome": "ok", **made},
    ]


async def _end_of_the_world(
    server: PostgresServer, folder: Path, times: int, chance: random.Random
) -> None:
    orders = Orders(url=server.url(), folder=str(folder), beat_every=0.3, dead_after=1.5)
    async with crew(orders, 3, chance=chance) as members:
        clients = Clients(members)
        clients.begin(A_MISHAP_EVERY)
        for time in range(times):
            clients.begin(A_MISHAP_EVERY)
            await clients.has_ended(time * A_MISHAP_EVERY + chance.randrange(A_MISHAP_EVERY))
            await members.kill_all()
            await kill_everything(server)
            await members.hire_all(3)
        await clients.all_ended()
        await members.stop_all()
    await judged(server.url(), folder, book=clients.book, faults=["everything"] * times)
    assert Counter(clients.statuses.values()) == {"COMPLETED": len(clients.book)}
