"""What happens to a database server under load."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tenuto.store.postgres.queries import QUERIES
from tests.kit.patience import patience, until
from tests.kit.postgres_database import connected
from tests.kit.postgres_server import PostgresServer

_LISTENERS = f"(query LIKE 'LISTEN%' OR query = '{QUERIES['ping'].sql}')"
"""Once in a while one that listens asks whether it is still connected."""


async def restart_immediate(server: PostgresServer) -> None:
    """`pg_ctl -m immediate`, and up again."""
    await asyncio.to_thread(server.stop, "immediate")
    await asyncio.to_thread(server.start)


async def restart_fast(server: PostgresServer) -> None:
    """`pg_ctl -m fast`, and up again."""
    await asyncio.to_thread(server.stop, "fast")
    await asyncio.to_thread(server.start)


async def kill_postmaster(server: PostgresServer) -> None:
    """SIGKILL of the first process alone; the others find out, and it is started again."""
    assert server.process is not None
    server.process.kill()
    await asyncio.to_thread(server.process.wait)
    async with patience("the start of the server"):
        while True:
            # Those that are left hold the shared memory until they have noticed.
            with suppress(RuntimeError):
                await asyncio.to_thread(server.start)
                return


async def kill_everything(server: PostgresServer) -> None:
    """SIGKILL of the whole process group, and up again."""
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)


async def kill_backend(server: PostgresServer) -> None:
    """SIGKILL of one connection's process: the server ends all of them, and recovers."""
    pids = await _pids(server, f"NOT {_LISTENERS}")
    os.kill(pids[0], signal.SIGKILL)


async def terminate_backends(server: PostgresServer) -> None:
    """`pg_terminate_backend` of every connection but those that listen: lanes, readers, hearts."""
    await _terminate(server, await _pids(server, f"NOT {_LISTENERS}"))


async def terminate_listeners(server: PostgresServer) -> None:
    """`pg_terminate_backend` of those that hear hints."""
    # After another mishap they may still be on their way back.
    await _terminate(server, await until(lambda: _pids(server, _LISTENERS)))


MISHAPS: tuple[Callable[[PostgresServer], Awaitable[None]], ...] = (
    restart_immediate,
    restart_fast,
    kill_postmaster,
    kill_backend,
    terminate_backends,
    terminate_listeners,
)


async def _terminate(server: PostgresServer, pids: list[int]) -> None:
    async with connected(server.url()) as connection:
        await connection.fetch("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid", pids)


async def _pids(server: PostgresServer, condition: str) -> list[int]:
    async with connected(server.url()) as connection:
        found = await connection.fetch(
            "SELECT pid FROM pg_stat_activity"
            f" WHERE application_name = 'tenuto' AND {condition}"
            " ORDER BY query_start DESC"
        )
    return [row[0] for row in found]
