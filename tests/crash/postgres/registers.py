"""What the database says about the processes, seen by somebody who takes no part."""

from __future__ import annotations

from tenuto.store.postgres.driver import Connection


async def is_buried(connection: Connection, process_id: str) -> bool:
    """Whether the others have taken it for dead, and everything that it owned is theirs."""
    [(is_dead, owns)] = await connection.fetch(
        "SELECT (SELECT stopped_at IS NOT NULL FROM tenuto.processes WHERE id = $1),"
        " (SELECT count(*) FROM tenuto.owners WHERE process_id = $1)",
        process_id,
    )
    return bool(is_dead) and owns == 0


async def owned_by(connection: Connection, process_id: str) -> int:
    """How many instances it works for."""
    [(number,)] = await connection.fetch(
        "SELECT count(*) FROM tenuto.owners WHERE process_id = $1", process_id
    )
    return int(number)
