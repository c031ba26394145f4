"""What one of those who watch an instance gets: messages in order, without gap or repetition."""

from __future__ import annotations

from typing import Self, TypeAlias

from msgspec import Struct

from tenuto.live.messages import Message
from tenuto.live.replay import Page
from tenuto.live.watched_instance import WatchedInstance, cannot_be_watched
from tenuto.model.errors import TenutoError


class Dropped(Struct, frozen=True):
    """The last thing in a feed that breaks off, since the process that tells stops.

    Come back with `since=cursor`.
    """

    cursor: int
    """Everything up to this entry was told."""


Told: TypeAlias = Message | Dropped


class Feed:
    """First what was missed, at the pace of whoever reads it; then what comes.

    Who falls behind what is kept in memory goes on with what the log has. It stays open when the
    instance has ended, since a retry by hand or the undoing by a parent may follow; with
    `until_end` it ends once everything is told and nothing more happens by itself.
    """

    def __init__(self, room: WatchedInstance, since: int, *, until_end: bool) -> None:
        self.cursor = since
        """Everything up to this entry was told, or was not asked for. A message counts as told
        once the one after it is asked for: until then it may be on its way."""
        self._place = since
        """Everything up to this entry was handed out."""
        self._room = room
        self._until_end = until_end
        self._page: Page | None = None
        self._left: list[Message] = []
        """What of the page is still to be told, the next last."""
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Told:
        self.cursor = self._place
        while not self._is_over:
            told = self._next()
            if told is not None:
                return told
            if self._place < self._room.window.start:
                await self._catch_up()
            elif self._until_end and self._room.state.has_ended:
                break
            else:
                await self._room.moved()
        self._is_over = True
        raise StopAsyncIteration

    def _next(self) -> Told | None:
        """What can be told without waiting."""
        room = self._room
        if room.is_closed:
            self._is_over = True
            return Dropped(self.cursor)
        message = self._left.pop() if self._left else self._next_in_window()
        if message is not None:
            self._place = message.seq
        elif room.error is not None and self._place >= room.window.start:
            raise room.error
        return message

    def _next_in_window(self) -> Message | None:
        if self._page is not None:
            # Its last entries may have been such that nothing is told of them.
            self.cursor = self._place = max(self._place, self._page.through)
        window = self._room.window
        if self._place < window.start:
            return None
        self._page = None
        return window.after(self._place)

    async def _catch_up(self) -> None:
        try:
            page = await self._room.replay.page_after(self._place, self._page)
        except TenutoError:
            raise
        except Exception as error:
            raise cannot_be_watched(self._room.state.id, error) from error
        self._page, self._left = page, page.messages[::-1]
