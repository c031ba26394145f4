"""The mailbox."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.store.columns import MailColumns, mail_columns, mail_row
from tenuto.store.parts.mailbox import Mail, MailKey
from tenuto.store.sqlite.part import SqlitePart, looks
from tenuto.store.sqlite.session import Column, Session, as_json


class SqliteMailbox(SqlitePart):
    """Messages in a table of the file."""

    @looks
    def claim(self, session: Session, limit: int, *, again: bool = True) -> list[Mail]:  # noqa: ARG002 - one process: none is claimed
        parameters: dict[str, Column] = {"process_id": self._file.require_open(), "limit": limit}
        return [
            mail_row(MailColumns(id, instance_id, bytes.fromhex(input), created_at), tenant)
            for id, instance_id, input, created_at, tenant in session.packed("mail", parameters)
        ]

    async def put_back(self, messages: Sequence[MailKey]) -> None:
        """Messages in a file belong to no process until their instances take them."""

    @looks
    def waiting(self, session: Session, messages: Sequence[MailKey]) -> set[MailKey]:
        return {MailKey(*key) for key in session.packed("waiting_mail", (as_json(messages),))}

    async def send(self, mail: Sequence[Mail]) -> None:
        file = self._file
        file.require_open()
        session, columns = file.writing, [mail_columns(each) for each in mail]
        await file.commit(lambda: session.write(lambda: session.insert("insert_mail", columns)))
