"""Logs of any length, by writing rows straight into the store of a service that is stopped."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_REPEAT = """
WITH RECURSIVE
    cycle AS (SELECT * FROM workflow_execution_history WHERE instance_id = :id AND seq > :from),
    round (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM round WHERE number < :rounds)
INSERT INTO workflow_execution_history
SELECT
    instance_id, seq + round.number * :length, event_type, node_id, iteration, attempt, node_status,
    output_variable, payload, error_message, at_ms + round.number, NULL
FROM round CROSS JOIN cycle
"""


def lengthened(database: Path, instance_id: str, *, cycle_from: int, entries: int) -> None:
    """Repeat what follows the entry `cycle_from` until there are so many.

    What is repeated must lead back to the state that it began with, such as a pause and its end.
    """
    with closing(sqlite3.connect(database, isolation_level=None)) as store:
        [(last,)] = store.execute(
            "SELECT max(seq) FROM workflow_execution_history WHERE instance_id = ?", [instance_id]
        )
        length = last - cycle_from
        rounds = -(-(entries - last) // length)
        repeated = {"id": instance_id, "from": cycle_from, "rounds": rounds, "length": length}
        store.execute(_REPEAT, repeated)
