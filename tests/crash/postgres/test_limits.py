"""Real processes start instances against limits of every kind, and are killed again and again."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.crash.postgres import limited
from tests.crash.postgres.aftermath import slots_judged
from tests.crash.postgres.crew import Crew, Refused, crew
from tests.crash.postgres.worker import Orders
from tests.kit import soak_figures
from tests.kit.checker.record import Fields
from tests.kit.patience import patience, until
from tests.kit.postgres_database import connected, empty_database

WATCH = Path(__file__).parent / "slot_watch.sql"
AT_ONCE = 150
"""Starts under way at the same time."""
STARTS_OF_A_SEED = 2_000
KILLS_OF_A_SEED = 15
_ENDS = "('COMPLETED', 'FAILED', 'CANCELLED', 'COMPENSATED', 'TIMED_OUT')"
_PATIENCE = 240


@pytest.mark.soak
@pytest.mark.asyncio
async def test_processes_that_are_killed_exceed_no_limit_and_leave_no_slot(tmp_path: Path) -> None:
    """Z18, "check, then increment; release as an in-memory function", and H6, limits "computed on a
    stale or wrong set": exact over processes, and nothing leaks when they die.
    """
    counts = await _limited(tmp_path, random.Random(9), processes=2, starts=60, kills=1)
    assert counts["grants"] >= 60, f"vacuous: {counts}"


@pytest.mark.soak
@pytest.mark.asyncio
async def test_ten_processes_exceed_no_limit_however_often_they_are_killed(
    tmp_path: Path, seeds: Iterator[int]
) -> None:
    """ "Ten processes starting thousands against limits of every kind: at no instant exceeded
    (rebuilt from the log by the independent checker), zero slots held at rest, also after kills".
    """
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        counts = await _limited(
            folder,
            random.Random(seed),
            processes=10,
            starts=STARTS_OF_A_SEED,
            kills=KILLS_OF_A_SEED,
        )
        soak_figures.add("PostgreSQL, limits", **counts)


async def _limited(
    folder: Path, chance: random.Random, *, processes: int, starts: int, kills: int
) -> Counter[str]:
    """Returns how many of each there were."""
    url = await empty_database("limits")
    orders = Orders(
        url=url,
        folder=str(folder),
        beat_every=0.5,
        dead_after=2.5,
        work_takes=0.01,
        is_limited=True,
    )
    load = _Load(url, chance)
    async with crew(orders, 1, chance=chance) as members:
        # The first makes the tables.
        async with connected(url) as connection:
            await connection.execute(WATCH.read_text("utf-8"))
        await load.limit(members, limited.LIMITS, is_first=True)
        await members.hire_all(processes - 1)
        starting = [asyncio.create_task(load.start(members, n)) for n in range(starts)]
        for kill in range(kills):
            await load.has_accepted((kill + 1) * starts // (kills + 1))
            await members.replace(await members.anybody())
            await load.limit(members, limited.OTHERS[kill % len(limited.OTHERS)])
            if kill % 3 == 2 or kill == kills - 1:
                await load.limit(members, limited.LIMITS)
        await asyncio.gather(*starting)
        await load.at_rest()
        await members.stop_all()
    run = await slots_judged(
        url,
        limited.documents(),
        limited.TENANTS,
        limits=load.limits,
        faults=["kill -9"] * kills,
    )
    async with connected(url) as connection:
        exceeded = await connection.fetch("SELECT * FROM public.exceeded")
        overtaken = await connection.fetch("SELECT * FROM public.overtaken")
        [(grants,)] = await connection.fetch("SELECT count(*) FROM public.grants")
        [(deadlocks,)] = await connection.fetch(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        )
    assert not exceeded, exceeded[:5]
    assert not overtaken, overtaken[:5]
    counts = Counter(kills=kills, starts=starts, grants=grants, limit_changes=len(load.limits))
    counts["deadlocks"] = deadlocks
    counts["instances"] = len(list(run.instances))
    for instance in run.instances:
        counts[str((instance.row or {})["status"]).lower()] += 1
    print(dict(counts))
    return counts


class _Load:
    """Starts instances of all tenants by all users, cancels some, and sets limits."""

    def __init__(self, url: str, chance: random.Random) -> None:
        self._url = url
        self._chance = chance
        self._room = asyncio.Semaphore(AT_ONCE)
        self._progress = asyncio.Condition()
        self._accepted = 0
        self.limits: list[Fields] = []
        self._names = sorted(set(limited.documents()) - {"born"})

    async def start(self, crew: Crew, number: int) -> None:
        chance = self._chance
        tenant, user = chance.choice(limited.TENANTS), chance.choice(limited.USERS)
        asked: Fields = {
            "workflow": chance.choice(self._names),
            "input": {"k": chance.randrange(3)},
            "key": f"key {number}",
            "tenant": tenant,
            "user": user,
        }
        cancels, later = chance.random() < 0.15, chance.random() * 2
        async with self._room:
            made = await self._started(crew, asked)
            async with self._progress:
                self._accepted += 1
                self._progress.notify_all()
            if made is not None and cancels:
                # At some moment, or once so many more have begun.
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.has_accepted(self._accepted + AT_ONCE), later)
                with suppress(Refused):  # it has ended
                    await crew.insist("cancel", instance=made["instance"], tenant=tenant)

    async def _started(self, crew: Crew, asked: Fields) -> Fields | None:
        """The instance; None: its limit was full, and it is to be rejected then."""
        try:
            return await crew.insist("start", **asked)
        except Refused as refusal:
            if refusal.code != "TEN-2837":
                raise
            return None

    async def has_accepted(self, number: int) -> None:
        async with patience(f"{number} accepted starts"), self._progress:
            await self._progress.wait_for(lambda: self._accepted >= number)

    async def limit(self, crew: Crew, limits: dict[str, Fields], *, is_first: bool = False) -> None:
        change: Fields = {"asked": 0 if is_first else _now(), "done": None, "limits": limits}
        self.limits.append(change)
        await crew.insist("limits", limits=limits)
        change["done"] = _now()

    async def at_rest(self) -> None:
        """Every instance has ended, and every slot was taken back, by the processes themselves."""
        async with connected(self._url) as connection:

            async def is_over() -> bool:
                rows = await connection.fetch(
                    "SELECT (SELECT count(*) FROM tenuto.workflow_instances"
                    f" WHERE status NOT IN {_ENDS}),"
                    " (SELECT count(*) FROM tenuto.slots),"
                    " (SELECT count(*) FROM tenuto.slots_freed),"
                    " (SELECT count(*) FROM tenuto.mailbox),"
                    " (SELECT count(*) FROM tenuto.slot_counts WHERE limit_key NOT LIKE 'turn:%')"
                )
                self.left = tuple(rows[0])
                return not any(self.left)

            try:
                async with asyncio.timeout(_PATIENCE):
                    await until(is_over, every=0.2)
            except TimeoutError:
                rows = await connection.fetch(
                    "SELECT instance_id, node, state, blocked_on, keys FROM tenuto.slots LIMIT 20"
                )
                pytest.fail(f"open, slots, freed, mail, counts: {self.left}: {rows}")


def _now() -> int:
    return time.time_ns() // 1_000_000
