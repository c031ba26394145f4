"""The feed of one subscriber: messages in order, without gap or repetition."""

from __future__ import annotations

import asyncio
from typing import Self, TypeAlias

from msgspec import Struct

from tenuto.live.messages import Message
from tenuto.live.replay import Page
from tenuto.live.watched_instance import WatchedInstance, cannot_be_watched
from tenuto.model.errors import TenutoError


class Dropped(Struct, frozen=True):
    """The last item of a feed that breaks off, since its process stops.

    The subscriber reconnects with `since=cursor`.
    """

    cursor: int
    """Everything up to this entry was delivered."""


FeedItem: TypeAlias = Message | Dropped


class Feed:
    """First the messages that were missed, at the subscriber's pace; then new ones.

    A subscriber that falls behind the window in memory goes on from the log. The feed stays open
    when the instance has ended, since a retry by hand or the undoing by a parent may follow; with
    `until_end` it ends once everything is delivered and nothing more happens by itself.
    """

    def __init__(
        self,
        instance: WatchedInstance,
        since: int,
        reading_back: asyncio.Lock | None = None,
        *,
        until_end: bool,
    ) -> None:
        """`reading_back` is held while a page of the past is in memory."""
        self.cursor = since
        """Everything up to this entry was delivered, or was not asked for. A message counts as
        delivered once the next is asked for: until then it may be on its way."""
        self._place = since
        """Everything up to this entry was handed out."""
        self._instance = instance
        self._until_end = until_end
        self._page: Page | None = None
        self._left: list[Message] = []
        """Messages of the page that are still to be delivered, the next one last."""
        self._is_over = False
        self._reading_back = reading_back or asyncio.Lock()
        self._is_reading_back = False

    def close(self) -> None:
        """The subscriber leaves."""
        self._left.clear()
        self._let_others_read()

    def _let_others_read(self) -> None:
        if self._is_reading_back and not self._left:
            self._is_reading_back = False
            self._reading_back.release()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> FeedItem:
        self.cursor = self._place
        self._let_others_read()
        while not self._is_over:
            item = self._next()
            if item is not None:
                return item
            if self._place < self._instance.window.start:
                await self._catch_up()
            elif self._until_end and self._instance.state.has_ended:
                break
            else:
                await self._instance.moved()
        self._is_over = True
        raise StopAsyncIteration

    def _next(self) -> FeedItem | None:
        """The next item that is there without waiting."""
        instance = self._instance
        if instance.is_closed:
            self._is_over = True
            return Dropped(self.cursor)
        message = self._left.pop() if self._left else self._next_in_window()
        if message is not None:
            self._place = message.seq
        elif instance.error is not None and self._place >= instance.window.start:
            raise instance.error
        return message

    def _next_in_window(self) -> Message | None:
        if self._page is not None:
            # Its last entries may have no messages.
            self.cursor = self._place = max(self._place, self._page.through)
        window = self._instance.window
        if self._place < window.start:
            return None
        self._page = None
        return window.after(self._place)

    async def _catch_up(self) -> None:
        self._let_others_read()
        await self._reading_back.acquire()
        self._is_reading_back = True
        try:
            page = await self._instance.replay.page_after(self._place, self._page)
        except TenutoError:
            raise
        except Exception as error:
            raise cannot_be_watched(self._instance.state.id, error) from error
        self._page, self._left = page, page.messages[::-1]
        self._let_others_read()
