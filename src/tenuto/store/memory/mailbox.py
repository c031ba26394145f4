"""The mailbox, over tables in memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from tenuto.store.columns import InstanceColumns, MailColumns, mail_columns, mail_row
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import MemoryDisk, pack, unpack
from tenuto.store.parts.mailbox import Mail, MailKey


class MemoryMailbox(MemoryPart):
    """Mailbox messages by number."""

    async def claim(self, limit: int, *, again: bool = True) -> list[Mail]:
        found = (
            (number, unpack(MailColumns, row))
            for number, row in sorted(self._disk.mail.items())
            if self._may_see(number, again=again)
        )
        claimed = islice((mail for number, mail in found if self._claimed(number, mail)), limit)
        return [mail_row(mail, self._tenant_of(mail.instance_id)) for mail in claimed]

    async def put_back(self, messages: Sequence[MailKey]) -> None:
        process_id, disk = self._context.require_open(), self._disk
        for key in messages:
            number = disk.mail_numbers.get((key.id, key.instance_id))
            if number is not None and disk.claims.get(number) == process_id:
                del disk.claims[number]
                disk.unseen.discard(number)

    async def waiting(self, messages: Sequence[MailKey]) -> set[MailKey]:
        self._context.require_open()
        return {key for key in messages if tuple(key) in self._disk.mail_numbers}

    async def send(self, mail: Sequence[Mail]) -> None:
        with self._disk.transaction():
            for each in mail:
                put_mail(self._disk, each)

    def _tenant_of(self, instance_id: str) -> str | None:
        row = self._disk.instances.get(instance_id)
        return None if row is None else unpack(InstanceColumns, row).tenant

    def _may_see(self, number: int, *, again: bool) -> bool:
        """Whether a message is unclaimed, a dead process's, or this one's and to be seen by it."""
        disk, context = self._disk, self._context
        is_mine = disk.claims.get(number) == context.process_id
        return context.may_claim(number) and (again or not is_mine or number in disk.unseen)

    def _claimed(self, number: int, mail: MailColumns) -> bool:
        """Claim a message, or let go of it: for the owner of its instance, or for any process.

        A message that is passed over stays as it is where it is unclaimed, or where this process
        owns its instance.
        """
        disk, context = self._disk, self._context
        owner = disk.owner_of(mail.instance_id)
        is_mine = owner == context.process_id
        is_passed_over = MailKey(mail.id, mail.instance_id) in context.messages_passed_over or (
            (context.only_own or mail.instance_id in context.passed_over) and not is_mine
        )
        if is_passed_over and (is_mine or number not in disk.claims):
            return False
        disk.unseen.discard(number)
        if owner is not None and not is_mine and disk.lives(owner):
            disk.claims[number] = owner
            disk.unseen.add(number)
            return False
        if is_passed_over:
            del disk.claims[number]
            return False
        context.claim([number])
        return True


def put_mail(disk: MemoryDisk, mail: Mail, sender: str | None = None) -> None:
    """Keep a message, unless it is in the mailbox already."""
    columns = mail_columns(mail)
    key = (columns.id, columns.instance_id)
    if key not in disk.mail_numbers:
        number = disk.next_number()
        disk.put(disk.mail_numbers, key, number)
        disk.put(disk.mail, number, pack(columns))
        owner = disk.owner_of(columns.instance_id)
        if owner is not None and (owner != sender or mail.for_owner):
            disk.put(disk.claims, number, owner)
            disk.unseen.add(number)
        elif sender is not None and not mail.for_owner:
            disk.put(disk.claims, number, sender)
