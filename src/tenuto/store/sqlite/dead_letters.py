"""Dead letters."""

from __future__ import annotations

from typing import Any

from tenuto.store.columns import (
    DeadLetterColumns,
    dead_letter_place,
    dead_letter_row,
    letter_page,
    letters_below,
)
from tenuto.store.parts.dead_letters import (
    EVERY_LETTER,
    DeadLetterPlace,
    DeadLetterRow,
    LetterQuery,
)
from tenuto.store.sqlite.part import SqlitePart, looks, looks_for, none, writes_beside
from tenuto.store.sqlite.rows import bytes_of
from tenuto.store.sqlite.session import Session


class SqliteDeadLetters(SqlitePart):
    """Dead letters in a table of the file."""

    @looks
    def page(
        self,
        session: Session,
        tenant: str,
        limit: int = 100,
        *,
        below: DeadLetterPlace | None = None,
        down_to: DeadLetterPlace | None = None,
        which: LetterQuery = EVERY_LETTER,
    ) -> list[DeadLetterRow]:
        page = letter_page(tenant, limit, below, down_to, which)
        return list(map(_dead_letter, session.packed("dead_letters", page)))

    @looks_for(none)
    def place(
        self, session: Session, tenant: str, count: int, *, below: DeadLetterPlace | None = None
    ) -> DeadLetterPlace | None:
        which = {**letters_below(tenant, below), "passed": count - 1}
        found = session.rows("place_of_dead_letter", which)
        return dead_letter_place(*found[0]) if found else None

    @looks_for(none)
    def get(self, session: Session, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
        found = session.packed("dead_letter", (instance_id, id, tenant))
        return _dead_letter(found[0]) if found else None

    @writes_beside
    def discard(self, session: Session, tenant: str, instance_id: str, id: str) -> bool:
        return bool(session.rows("delete_dead_letter", (instance_id, id, tenant)))


def _dead_letter(row: list[Any]) -> DeadLetterRow:
    return dead_letter_row(
        DeadLetterColumns._make([*row[:8], *map(bytes_of, row[8:11]), row[11]]),
    )
