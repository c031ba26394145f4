"""`python -m tests.bombs [ATTACK...]`: throw every attack at a real service, and print a table.

Each attack has a service of its own, on SQLite and as two processes on PostgreSQL, with a small
tenant. At least `--samples` of its instances are measured, for at least `--seconds`, while it is
alone, and the same again once the attack is prepared and under way. The service is stopped in the
midst of it, and begun again.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.bombs.attack import Attack
from tests.bombs.attacks import ATTACKS
from tests.bombs.beside import Beside, Thrown
from tests.crash.services import services
from tests.kit.postgres_database import connected
from tests.kit.postgres_server import running_server

HEALTH_SECONDS = 1.0
TIMES_QUIET = 3.0
STOP_SECONDS = 30.0
BEGIN_SECONDS = 20.0
PEAK_BYTES = 1_000_000_000
_WARM = 100
_AFTER = 50
"""Instances of the small tenant after the restart."""


class Row(NamedTuple):
    """The figures of one attack."""

    attack: str
    store: str
    quiet: list[float]
    under: list[float]
    health: float
    peak: int
    stop: float
    begin: float
    thrown: Thrown
    wrong: list[str]

    def cells(self) -> list[str]:
        quiet, under = _p99(self.quiet), _p99(self.under)
        return [
            self.attack,
            self.store,
            f"{_p(self.quiet, 50) * 1e3:.0f} / {quiet * 1e3:.0f}",
            f"{_p(self.under, 50) * 1e3:.0f} / {under * 1e3:.0f}",
            f"{under / quiet:.1f}",
            f"{len(self.quiet)} / {len(self.under)}",
            f"{self.thrown.taken} / {self.thrown.refused} in {self.thrown.seconds:.0f} s",
            f"{self.health * 1e3:.0f}",
            f"{self.peak / 1e6:.0f}",
            f"{self.stop:.1f}",
            f"{self.begin:.1f}",
        ]

    def broken(self) -> list[str]:
        """The bounds that do not hold."""
        found = list(self.wrong)
        if self.health > HEALTH_SECONDS:
            found.append(f"/health took {self.health:.2f} s")
        if _p99(self.under) > TIMES_QUIET * _p99(self.quiet):
            found.append("the small tenant's p99 is more than three times the quiet one")
        if self.peak > PEAK_BYTES:
            found.append(f"{self.peak / 1e6:.0f} MB of memory")
        if self.stop > STOP_SECONDS:
            found.append(f"the end took {self.stop:.1f} s")
        if self.begin > BEGIN_SECONDS:
            found.append(f"beginning again took {self.begin:.1f} s")
        return found


HEAD = (
    *("attack", "store", "quiet p50 / p99 (ms)", "under it (ms)", "times", "instances"),
    *("requests taken / refused", "slowest /health (ms)", "peak (MB)", "SIGTERM (s)"),
    "begin again (s)",
)


def _p(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values) or [math.inf]
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def _p99(values: Sequence[float]) -> float:
    return _p(values, 99)


class Effort(NamedTuple):
    """How long the small tenant is measured: for both of these at least."""

    seconds: float
    samples: int


async def measured(attack: Attack, store: str, url: str, count: int, effort: Effort) -> Row:
    with tempfile.TemporaryDirectory(prefix="tenuto-bombs-") as name:
        folder = Path(name)
        url = await _empty_database(url) if url else f"sqlite:///{folder / 'store.db'}"
        with services(url, folder, count, is_begun=False) as made:
            beside = Beside(made, folder, url)
            await beside.begin()
            first, quiet, under, after = (beside.small(attack.small_step) for _ in range(4))
            await first.deploy()
            await first.work_for(0, _WARM)
            await quiet.work_for(effort.seconds, effort.samples)
            throwing = await beside.throw(attack)
            await throwing.begun()
            await under.work_for(effort.seconds, effort.samples)
            throwing.count_no_more()
            peak = beside.peak_bytes
            stop = await beside.stop()
            thrown = await throwing.end()
            begin = await beside.begin()
            await after.work_for(effort.seconds / 2, _AFTER)
            peak = max(peak, beside.peak_bytes)
            await beside.stop()
    return Row(
        attack=attack.name,
        store=store,
        quiet=quiet.seconds,
        under=under.seconds,
        health=max(under.health + after.health, default=math.inf),
        peak=peak,
        stop=stop,
        begin=begin,
        thrown=thrown,
        wrong=[*under.wrong, *after.wrong, *thrown.unfit[:3]],
    )


async def _empty_database(server: str) -> str:
    async with connected(f"{server}/postgres") as connection:
        await connection.execute("DROP DATABASE IF EXISTS bombs WITH (FORCE)")
        await connection.execute("CREATE DATABASE bombs TEMPLATE template0")
    return f"{server}/bombs"


@contextmanager
def _stores(chosen: Sequence[str]) -> Iterator[list[tuple[str, str, int]]]:
    if "postgresql" not in chosen:
        yield [("sqlite", "", 1)]
        return
    with running_server(durable=True) as server:
        made = [("sqlite", "", 1)] if "sqlite" in chosen else []
        yield [*made, ("postgresql", server.url("").rstrip("/"), 2)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.bombs", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(ATTACKS)}")
    parser.add_argument("--store", action="append", choices=("sqlite", "postgresql"))
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--samples", type=int, default=600)
    chosen = parser.parse_args()
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "---|" * len(HEAD), flush=True)
    failed = False
    effort = Effort(chosen.seconds, chosen.samples)
    with _stores(chosen.store or ("sqlite", "postgresql")) as stores:
        for name in chosen.names or ATTACKS:
            for store, url, count in stores:
                row = asyncio.run(measured(ATTACKS[name], store, url, count, effort))
                print("| " + " | ".join(row.cells()) + " |", flush=True)
                for line in row.broken():
                    failed = True
                    print(f"  {name} on {store}: {line}", file=sys.stderr, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
