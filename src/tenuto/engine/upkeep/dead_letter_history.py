"""The history of a dead letter: the entries of its step in the log of its instance."""

from __future__ import annotations

from tenuto.model.log import LogRow
from tenuto.store.parts.dead_letters import DeadLetterRow
from tenuto.store.protocol import Parts

MOST_READ = 500
"""The most entries before the dead letter that are searched: a log may have any length."""


async def entries_behind(store: Parts, letter: DeadLetterRow) -> list[LogRow]:
    """The entries of its step, in its iteration, up to when it was given up; oldest first."""
    # The id of a dead letter names the entry that it was kept with.
    seq = int(letter.id.rpartition(":")[2])
    rows = await store.instances.entries(
        letter.instance_id, after=max(seq - MOST_READ, 0), limit=MOST_READ
    )
    place = (letter.node, letter.iteration)
    return [row for row in rows if row.seq <= seq and (row.node_id, row.iteration) == place]
