"""The mailbox: inputs for instances, kept until their logs have taken them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import claims, writes


class Mail(Struct, frozen=True, gc=False, kw_only=True):
    """What somebody else owes an instance: an input, kept until its log has taken it."""

    id: str
    instance_id: str
    input: bytes
    created_at: datetime
    for_owner: bool = False
    """Its sender does not hand it over: it is for whoever owns the instance, or takes it on."""


class MailKey(NamedTuple):
    """Which letter."""

    id: str
    instance_id: str


class Mailbox(Protocol):
    """Messages between instances and processes."""

    @claims
    async def claim(self, limit: int, *, again: bool = True) -> list[Mail]:
        """Mail for instances that this process may advance, oldest first, until it is taken.

        That is mail for instances that it owns, and for those that nobody owns. What came to one
        process, or was sent by it to an instance that no other owned, does not come to another
        while the first lives and does not put it back. Unless `again` is asked for, a store may
        leave out what came to this process before.
        """

    @claims
    async def put_back(self, letters: Sequence[MailKey]) -> None:
        """Let go of letters that came to this process, or were sent by it, and were not taken.

        They come again, to whoever may advance their instances then.
        """

    async def waiting(self, letters: Sequence[MailKey]) -> set[MailKey]:
        """Those of these letters that are in the mailbox, whoever has them in hand."""

    @writes
    async def send(self, mail: Sequence[Mail]) -> None:
        """Leave inputs for instances: the one write that a process without the lock may do.

        StoreUnavailable leaves open whether they were left, unless only one process writes. A
        store does not try again by itself: a letter that was taken meanwhile would come again.
        """
