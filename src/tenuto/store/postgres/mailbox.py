"""Mailbox messages, each of which comes to one living process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress

from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.store.columns import MailColumns, mail_columns, mail_row
from tenuto.store.errors import CommitUnknown
from tenuto.store.parts.mailbox import Mail, Mailbox, MailKey
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.queries import Column, statement
from tenuto.store.postgres.session import repeated
from tenuto.store.postgres.turn_rows import part


class PostgresMailbox(Mailbox):
    """Messages in a table; `hint` notifies their owners."""

    def __init__(
        self, database: Database, hint: Callable[[Collection[str]], Awaitable[None]]
    ) -> None:
        self._database = database
        self._hint = hint

    async def claim(self, limit: int, *, again: bool = True) -> list[Mail]:
        self._database.require_writer()
        found: list[Mail] = []
        owners: set[str] = set()
        last = 0
        while True:
            room = limit - len(found)
            rows = await self._claim(room, last, again=again)
            mine = [row for row in rows if row[5] is None and not row[6]]
            found += [mail_row(MailColumns._make(row[:4]), row[7]) for row in mine]
            owners.update(row[5] for row in rows if row[5] is not None)
            if len(mine) == len(rows) or len(rows) < room:
                break
            last = rows[-1][4]
        if owners:
            # They also poll, only later.
            with suppress(StoreUnavailable):
                await self._hint(owners)
        return found

    async def _claim(self, limit: int, after: int, *, again: bool) -> list[Row]:
        passed_over = self._database.messages_passed_over
        page: dict[str, Column] = {
            "process_id": self._database.process_id,
            "limit": limit,
            "after": after,
            "again": again,
            "letter_ids": [message.id for message in passed_over],
            "letter_instances": [message.instance_id for message in passed_over],
            **self._database.passing_over,
        }
        if not again:
            async with self._database.connections.session() as session:
                try:
                    return await session.commit(statement("claim_mail", session.schema), page)
                except CommitUnknown:
                    # A claim whose answer was lost is this process's by now.
                    page["again"] = True
        return await self._database.connections.rows("claim_mail", page)

    async def put_back(self, messages: Sequence[MailKey]) -> None:
        process_id = self._database.require_writer()
        had = part("mail_taken", messages).parameters()
        await self._database.pool.rows("put_back_mail", had | {"process_id": process_id})

    async def waiting(self, messages: Sequence[MailKey]) -> set[MailKey]:
        asked = part("mail_taken", messages).parameters()
        found = await self._database.connections.rows("waiting_mail", asked)
        return {MailKey(*row) for row in found}

    async def send(self, mail: Sequence[Mail]) -> None:
        pool = self._database.connections
        if not mail:
            return
        rows = [(*mail_columns(each), each.for_owner) for each in mail]
        sent: dict[str, Column] = {**part("mail_sent", rows).parameters(), "claimed_by": None}
        try:
            async with pool.session() as session:
                insert = statement("mail_sent", session.schema)
                await repeated(lambda: session.commit(insert, sent), session.server.budget)
        except CommitUnknown as error:
            # Not repeated: a message that was taken meanwhile would come, and be done, again.
            raise may_be_written(
                f"the connection broke while messages were sent: {error}"
            ) from error
