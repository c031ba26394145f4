"""What the database says about the processes, seen by somebody who takes no part."""

from __future__ import annotations

from tenuto.store.postgres.driver import Connection
from tests.kit.postgres_database import connected


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


async def stories(url: str, most: int = 3) -> str:
    """All that is known of instances that have not ended, or that have mail."""
    async with connected(url) as connection:
        rows = await connection.fetch(
            "SELECT id FROM tenuto.workflow_instances"
            " WHERE status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')"
            " UNION SELECT instance_id FROM tenuto.mailbox"
        )
    ids = [str(row[0]) for row in rows]
    told = [await story(url, id) for id in ids[:most]]
    return "\n".join([f"{len(ids)} instances are open or have mail: {ids[:20]}", *told])


async def story(url: str, instance_id: str) -> str:
    """All that is known of an instance that does not go on."""
    queries = {
        "history": "SELECT seq, event_type, node_id, attempt, at_ms, turn_id, payload"
        " FROM tenuto.workflow_execution_history WHERE instance_id = $1 ORDER BY seq",
        "owner": "SELECT * FROM tenuto.owners WHERE instance_id = $1",
        "timers": "SELECT * FROM tenuto.timers WHERE instance_id = $1",
        "waits": "SELECT * FROM tenuto.workflow_event_subscriptions WHERE instance_id = $1",
        "mail": "SELECT * FROM tenuto.mailbox WHERE instance_id = $1",
        "processes": "SELECT * FROM tenuto.processes WHERE $1 <> '' ORDER BY started_at",
    }
    async with connected(url) as connection:
        found = {name: await connection.fetch(sql, instance_id) for name, sql in queries.items()}
    lines = [f"  {name}: {tuple(row)}" for name, rows in found.items() for row in rows]
    return "\n".join([f"{instance_id} does not end:", *lines])
