"""The database is away, or takes nothing, while processes work on it and clients go on asking."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.crash.postgres.aftermath import judged
from tests.crash.postgres.clients import Clients
from tests.crash.postgres.crew import UNAVAILABLE, Crew, Member, Refused, crew
from tests.crash.postgres.worker import Orders
from tests.kit.checker.record import Fields
from tests.kit.postgres_database import connected
from tests.kit.postgres_server import PostgresServer

WORKFLOWS = 20
ASKED_AT_ONCE = 10
DISK = "160m"
NO_DISK = 77
"""The exit code when this machine does not let anybody mount one."""
LASTING = 2.0
"""Seconds from when everybody knows of it until it is over."""


class Outage(NamedTuple):
    """What goes wrong, how it ends, and what those are told who ask meanwhile."""

    name: str
    begin: Callable[[PostgresServer], Awaitable[None]]
    end: Callable[[PostgresServer], Awaitable[None]]
    codes: frozenset[str]
    again: Callable[[PostgresServer], Awaitable[None]] | None = None
    """What is done again where it has passed in part; None: it never does."""


async def _stop(server: PostgresServer) -> None:
    await asyncio.to_thread(server.stop, "immediate")


async def _start(server: PostgresServer) -> None:
    await asyncio.to_thread(server.start)


async def _write_nothing(server: PostgresServer) -> None:
    await _set(server, "ALTER SYSTEM SET default_transaction_read_only = on")


async def _write_again(server: PostgresServer) -> None:
    await _set(server, "ALTER SYSTEM RESET default_transaction_read_only")


async def _take_nobody(server: PostgresServer) -> None:
    await _set(server, "ALTER DATABASE tenuto WITH ALLOW_CONNECTIONS false")
    await _set(
        server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'tenuto'"
    )


async def _take_everybody(server: PostgresServer) -> None:
    await _set(server, "ALTER DATABASE tenuto WITH ALLOW_CONNECTIONS true")


async def _set(server: PostgresServer, sql: str) -> None:
    async with connected(server.url()) as connection:
        await connection.execute("SET default_transaction_read_only = off")
        await connection.execute(sql)
        await connection.execute("SELECT pg_reload_conf()")


BALLAST = "ballast"


async def _fill_disk(server: PostgresServer) -> None:
    with (server.folder / BALLAST).open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


async def _free_disk(server: PostgresServer) -> None:
    (server.folder / BALLAST).unlink()
    if server.process is None or server.process.poll() is not None:
        await _start(server)


AWAY = Outage("the server is stopped", _stop, _start, frozenset({"TEN-4001", "TEN-4008"}))
CLOSED = Outage(
    "no connections are taken",
    _take_nobody,
    _take_everybody,
    # The server's state for it, 55000, is shared with much else.
    frozenset({"TEN-4001", "TEN-4009"}),
)
READ_ONLY = Outage("nothing may be written", _write_nothing, _write_again, frozenset({"TEN-4004"}))
FULL = Outage(
    "the disk is full",
    _fill_disk,
    _free_disk,
    # When there is no room for its own log either, the server gives up until there is.
    frozenset({"TEN-4003", "TEN-4001", "TEN-4008"}),
    # A checkpoint makes room by what it needs no more of the log.
    again=_fill_disk,
)


async def sit_out(server: PostgresServer, folder: Path, outages: Sequence[Outage]) -> None:
    """Work, an outage, work again, and so on; nothing that was accepted is lost."""
    await _set(server, "CREATE DATABASE tenuto TEMPLATE template0")
    url = server.url("tenuto")
    orders = Orders(url=url, folder=str(folder), beat_every=0.3, dead_after=1.5)
    book: list[Fields] = []
    async with crew(orders, 2, chance=random.Random(9)) as members:
        clients = Clients(members)
        clients.begin(WORKFLOWS)
        for number, outage in enumerate(outages, 1):
            clients.begin(WORKFLOWS)
            await clients.has_ended(number * WORKFLOWS)
            strangers = await _asked_meanwhile(server, outage, members)
            book += strangers.book
            print(f"{outage.name}: refused with {dict(strangers.codes)}")
            assert set(strangers.codes) <= outage.codes
        await clients.all_ended()
        await members.stop_all()
    faults = [outage.name for outage in outages]
    await judged(url, folder, book=clients.book + book, faults=faults)
    assert Counter(clients.statuses.values()) == {"COMPLETED": len(clients.book)}


async def _asked_meanwhile(server: PostgresServer, outage: Outage, members: Crew) -> _Strangers:
    await outage.begin(server)
    strangers = _Strangers(members)
    await strangers.until_somebody_is_refused()
    await asyncio.sleep(LASTING)
    await strangers.all_are_refused(server, outage)
    await outage.end(server)
    await strangers.all_ended()
    return strangers


class _Strangers:
    """Ask each process for something new, and are told at once how it stands."""

    def __init__(self, members: Crew) -> None:
        self._members = members.living
        self._crew = members
        self._asked = 1_000_000
        self._jobs: list[asyncio.Task[str | None]] = []
        self.codes: Counter[str] = Counter()
        self.book: list[Fields] = []

    async def until_somebody_is_refused(self) -> None:
        """By every process. What it had under way when it began stays unanswered until the end."""
        for member in self._members:
            while not await _first(self._wave(member)):
                pass

    async def all_are_refused(self, server: PostgresServer, outage: Outage) -> None:
        """Everybody who asks now is answered, and nobody is taken."""
        for member in self._members:
            while not all(await asyncio.gather(*self._wave(member))):
                assert outage.again is not None, f"{outage.name}: somebody was taken"
                await outage.again(server)

    async def all_ended(self) -> None:
        await asyncio.gather(*self._jobs)
        for line in self.book:
            ended = await self._crew.insist("end", instance=line["instance"])
            assert ended == {"status": "COMPLETED"}

    def _wave(self, member: Member) -> list[asyncio.Task[str | None]]:
        wave = [asyncio.create_task(self._ask(member)) for _ in range(ASKED_AT_ONCE)]
        self._jobs += wave
        return wave

    async def _ask(self, member: Member) -> str | None:
        """The code with which it was refused."""
        self._asked += 1
        given: Fields = {"k": self._asked, "flag": True}
        key = f"key {self._asked}"
        try:
            made = await member.ask("start", workflow="load", input=given, key=key)
        except Refused as refusal:
            if refusal.kind not in UNAVAILABLE:
                raise
            self.codes[refusal.code] += 1
            return refusal.code
        self.book.append({"op": "start", "outcome": "ok", "key": key, "input": given, **made})
        return None


async def _first(answers: list[asyncio.Task[str | None]]) -> str | None:
    """The first refusal among them; None when nobody was refused."""
    for answer in asyncio.as_completed(answers):
        if code := await answer:
            return code
    return None


def main(arguments: list[str]) -> None:
    """In a mount namespace of its own, which ends with this process: a small disk fills up."""
    disk = Path(tempfile.mkdtemp(prefix="tenuto-small-disk-"))
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(disk)],
            capture_output=True,
            text=True,
            check=False,
        )
        if mounted.returncode:
            print(mounted.stderr)
            sys.exit(NO_DISK)
        disk.chmod(0o755)
        _fill_up(disk, Path(arguments[0]))
    finally:
        # Lazily: what the server had open there may take a moment to close.
        subprocess.run(["umount", "--lazy", str(disk)], check=False, capture_output=True)
        disk.rmdir()


def _fill_up(disk: Path, folder: Path) -> None:
    server = PostgresServer(disk / "server", durable=True)
    server.start()
    try:
        asyncio.run(sit_out(server, folder, [FULL]))
    finally:
        server.stop("immediate")


if __name__ == "__main__":
    main(sys.argv[1:])
