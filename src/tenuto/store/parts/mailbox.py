"""The mailbox: messages with inputs for instances, kept until a turn has taken them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import claims, writes


class Mail(Struct, frozen=True, gc=False, kw_only=True):
    """A mailbox message: an input for an instance, kept until a turn of the instance takes it."""

    id: str
    instance_id: str
    input: bytes
    created_at: datetime
    for_owner: bool = False
    """Whether the message is not claimed by its sender, but by the owner of the instance, or by the
    process that becomes its owner."""
    tenant: str = ""
    """Of a claimed message: the tenant of its instance; empty if there is none yet."""
    is_sealed: bool = False
    """Whether its input is stored encrypted; no column."""


class MailKey(NamedTuple):
    """The key of a mailbox message."""

    id: str
    instance_id: str


class Mailbox(Protocol):
    """Messages to instances, from other instances and from processes."""

    @claims
    async def claim(self, limit: int, *, again: bool = True) -> list[Mail]:
        """Claim messages for instances that this process may advance, oldest first.

        These are the instances that it owns and those without an owner. A message that a process
        has claimed, or has sent to an instance that no other process owned, is not given to another
        process while the first one is alive and does not put it back. Messages are returned at
        every call until a turn takes them; with `again=False` a store may leave out those that it
        returned to this process before.
        """

    @claims
    async def put_back(self, messages: Sequence[MailKey]) -> None:
        """Release messages that this process claimed or sent, and that no turn has taken.

        They can then be claimed again, by any process that may advance their instances.
        """

    async def waiting(self, messages: Sequence[MailKey]) -> set[MailKey]:
        """Which of these messages are in the mailbox, claimed or not."""

    @writes
    async def send(self, mail: Sequence[Mail]) -> None:
        """Put messages into the mailbox: the only write that a process without the lock may do.

        After StoreUnavailable it is unknown whether they were stored, unless only one process
        writes. A store does not retry by itself: a message that was taken meanwhile would be
        delivered twice.
        """
