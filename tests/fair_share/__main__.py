"""`python -m tests.fair_share [STRAIN...]`: fifty small tenants beside one large one, as a table.

Each small tenant starts a little workflow of two tasks once a second, whatever became of the one
before. They are measured for as long while they are alone, and then beside each strain, on the same
service: one process on SQLite, two on PostgreSQL.
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

import apsw

from tests.bombs.beside import TASKS
from tests.crash.services import services
from tests.fair_share.strains import STRAINS, Strain
from tests.fair_share.tenants import Keys, SmallTenants, prepared
from tests.kit.postgres_database import connected
from tests.kit.postgres_server import running_server

TIMES_QUIET = 3.0
_WARM_SECONDS = 5.0
_COUNT = (
    "SELECT count(*), sum(CASE WHEN status = 'CREATED' THEN 1 ELSE 0 END) FROM {}"
    " WHERE tenant = 'large'"
)
HEAD = (
    *("strain", "store", "quiet p50 / p99 / most (ms)", "beside it (ms)", "times"),
    *("instances", "instances of the large one: all / begun"),
)


class Row(NamedTuple):
    """The figures of one strain."""

    strain: str
    store: str
    quiet: list[float]
    under: list[float]
    wrong: list[str]
    begun: str
    """Instances of the large tenant by the end, and those of them that had begun to run."""

    def cells(self) -> list[str]:
        return [
            self.strain,
            self.store,
            _figures(self.quiet),
            _figures(self.under),
            f"{_p(self.under, 99) / _p(self.quiet, 99):.1f}",
            f"{len(self.quiet)} / {len(self.under)}",
            self.begun,
        ]

    def broken(self) -> list[str]:
        """The bounds that do not hold."""
        found = list(self.wrong[:3])
        if _p(self.under, 99) > TIMES_QUIET * _p(self.quiet, 99):
            found.append("the small tenants' p99 is more than three times the quiet one")
        return found


def _figures(values: Sequence[float]) -> str:
    return " / ".join(f"{1e3 * _p(values, percent):.0f}" for percent in (50, 99, 100))


def _p(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values) or [math.inf]
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


async def measured(strain: Strain, store: str, url: str, count: int, seconds: float) -> Row:
    with tempfile.TemporaryDirectory(prefix="tenuto-fair-") as name:
        folder = Path(name)
        url = await _empty_database(url) if url else f"sqlite:///{folder / 'store.db'}"
        keys: Keys = await prepared(url, strain.limits)
        with services(url, folder, count, is_begun=False) as made:
            (folder / "tasks.py").write_text(TASKS)
            await asyncio.gather(*(asyncio.to_thread(each.begin) for each in made))
            urls = [each.url for each in made]
            small = SmallTenants(urls, keys.small)
            await small.work_for(_WARM_SECONDS)
            quiet = await small.work_for(seconds)
            async with strain.beside(urls, keys.large):
                under = await small.work_for(seconds)
            await asyncio.gather(*(asyncio.to_thread(each.kill) for each in made))
            begun = await _begun(url)
    return Row(strain.name, store, quiet, under, small.wrong, begun)


async def _begun(url: str) -> str:
    """How many instances the large tenant has, and how many of these have begun to run."""
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        [(all_of_them, waiting)] = connection.execute(_COUNT.format("workflow_instances"))
        connection.close()
    else:
        async with connected(url) as reader:
            [(all_of_them, waiting)] = await reader.fetch(
                _COUNT.format("tenuto.workflow_instances")
            )
    return f"{all_of_them:,} / {all_of_them - (waiting or 0):,}"


async def _empty_database(server: str) -> str:
    async with connected(f"{server}/postgres") as connection:
        await connection.execute("DROP DATABASE IF EXISTS fair WITH (FORCE)")
        await connection.execute("CREATE DATABASE fair TEMPLATE template0")
    return f"{server}/fair"


@contextmanager
def _stores(chosen: Sequence[str]) -> Iterator[list[tuple[str, str, int]]]:
    if "postgresql" not in chosen:
        yield [("sqlite", "", 1)]
        return
    with running_server(durable=True) as server:
        made = [("sqlite", "", 1)] if "sqlite" in chosen else []
        yield [*made, ("postgresql", server.url("").rstrip("/"), 2)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fair_share", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(STRAINS)}")
    parser.add_argument("--store", action="append", choices=("sqlite", "postgresql"))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--times", type=int, default=1, help="how often each is repeated")
    chosen = parser.parse_args()
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "---|" * len(HEAD), flush=True)
    failed = False
    with _stores(chosen.store or ("sqlite", "postgresql")) as stores:
        for name in chosen.names or STRAINS:
            for store, url, count in stores * chosen.times:
                row = asyncio.run(measured(STRAINS[name], store, url, count, chosen.seconds))
                print("| " + " | ".join(row.cells()) + " |", flush=True)
                for line in row.broken():
                    failed = True
                    print(f"  {name} on {store}: {line}", file=sys.stderr, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
