"""What one of those who watch an instance gets: messages in order, without gap or repetition."""

from __future__ import annotations

from typing import Literal, Self, TypeAlias

from msgspec import Struct

from tenuto.live.messages import Message
from tenuto.live.replay import Page
from tenuto.live.room import Room

BUFFER = 1_000


class Dropped(Struct, frozen=True):
    """The last thing in a feed that breaks off: come back with `since=cursor`."""

    cursor: int
    """Everything up to this entry was told."""
    reason: Literal["slow", "stopping"]
    """Whether the one who watches was too far behind, or the process that tells stops."""


Told: TypeAlias = Message | Dropped


class Feed:
    """First what was missed, at the pace of whoever reads it; then what comes.

    It stays open when the instance has ended, since a retry by hand or the undoing by a parent may
    follow; with `until_end` it ends once everything is told and nothing more happens by itself.
    """

    def __init__(self, room: Room, since: int, buffer: int, *, until_end: bool) -> None:
        """`buffer`: so many messages one may be behind, once what was missed is told."""
        self.cursor = since
        """Everything up to this entry was told, or was not asked for."""
        self._room = room
        self._buffer = buffer
        self._until_end = until_end
        self._page: Page | None = None
        self._left: list[Message] = []
        """What of the page is still to be told, the next last."""
        self._has_caught_up = False
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Told:
        while not self._is_over:
            told = self._next()
            if isinstance(told, Message):
                self.cursor = told.seq
            if told is not None:
                return told
            if self._until_end and self._has_caught_up and self._room.state.has_ended:
                break
            if self.cursor < self._room.window.start:
                await self._catch_up()
            else:
                await self._room.moved()
        self._is_over = True
        raise StopAsyncIteration

    def _next(self) -> Told | None:
        """What can be told without waiting."""
        room = self._room
        if room.is_closed:
            return self._drop("stopping")
        if self._left:
            return self._left.pop()
        if self._page is not None:
            self.cursor = max(self.cursor, self._page.through)
        window = room.window
        if self.cursor < window.start:
            return self._drop("slow") if self._has_caught_up else None
        self._has_caught_up, self._page = True, None
        message, behind = window.after(self.cursor)
        if behind > self._buffer:
            return self._drop("slow")
        if message is not None:
            return message
        if room.error is not None:
            raise room.error
        return None

    async def _catch_up(self) -> None:
        page = await self._room.replay.page_after(self.cursor, self._page)
        self._page, self._left = page, page.messages[::-1]

    def _drop(self, reason: Literal["slow", "stopping"]) -> Dropped:
        self._is_over = True
        return Dropped(self.cursor, reason)
