"""Dead letters."""

from __future__ import annotations

from tenuto.store.columns import (
    DeadLetterColumns,
    dead_letter_place,
    dead_letter_row,
    letter_page,
    letters_below,
)
from tenuto.store.looking import looked_for
from tenuto.store.parts.dead_letters import (
    EVERY_LETTER,
    DeadLetterPlace,
    DeadLetterRow,
    DeadLetters,
    LetterQuery,
)
from tenuto.store.postgres.database import Database


class PostgresDeadLetters(DeadLetters):
    """Dead letters in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self,
        tenant: str,
        limit: int = 100,
        *,
        below: DeadLetterPlace | None = None,
        down_to: DeadLetterPlace | None = None,
        which: LetterQuery = EVERY_LETTER,
    ) -> list[DeadLetterRow]:
        page = letter_page(tenant, limit, below, down_to, which)
        found = await self._database.connections.rows("dead_letters", page)
        return [dead_letter_row(DeadLetterColumns._make(row)) for row in found]

    async def place(
        self, tenant: str, count: int, *, below: DeadLetterPlace | None = None
    ) -> DeadLetterPlace | None:
        which = {**letters_below(tenant, below), "passed": count - 1}
        look = self._database.connections.rows("place_of_dead_letter", which)
        found = await looked_for(look, nothing=[])
        return dead_letter_place(*found[0]) if found else None

    async def get(self, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
        which = {"tenant": tenant, "instance_id": instance_id, "id": id}
        look = self._database.connections.rows("dead_letter", which)
        found = await looked_for(look, nothing=[])
        return dead_letter_row(DeadLetterColumns._make(found[0])) if found else None

    async def discard(self, tenant: str, instance_id: str, id: str) -> bool:
        which = {"tenant": tenant, "instance_id": instance_id, "id": id}
        return bool(await self._database.connections.rows("delete_dead_letter", which))
