"""The newest messages of an instance, shared by its subscribers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from tenuto.live.messages import Message

MOST_MESSAGES = 2_000
MOST_BYTES = 8_000_000

_seq = attrgetter("seq")


class Window:
    """All messages after `start`, up to `end`; the oldest go once there are too many.

    A reader keeps a place in it, and no copy: a slow one costs nothing.
    """

    def __init__(
        self, start: int, most_messages: int = MOST_MESSAGES, most_bytes: int = MOST_BYTES
    ) -> None:
        self.start = self.end = start
        self._most_messages = most_messages
        self._most_bytes = most_bytes
        self._messages: list[Message] = []
        self.bytes = 0
        """Of the messages."""

    def clear(self) -> None:
        """Drop all messages: readers that still need one are behind."""
        self._messages.clear()
        self.start, self.bytes = self.end, 0

    def push(self, messages: Sequence[Message], end: int) -> None:
        """Take in the following rows, up to the entry `end`."""
        self._messages += messages
        self.bytes += sum(len(message.data) for message in messages)
        self.end = end
        surplus = max(len(self._messages) - self._most_messages, 0)
        rest = self.bytes - sum(len(each.data) for each in self._messages[:surplus])
        while rest > self._most_bytes:
            rest -= len(self._messages[surplus].data)
            surplus += 1
        if surplus:
            self.start = self._messages[surplus - 1].seq
            del self._messages[:surplus]
            self.bytes = rest

    def after(self, seq: int) -> Message | None:
        """The first message after an entry, if there is one."""
        place = bisect_right(self._messages, seq, key=_seq)
        return self._messages[place] if place < len(self._messages) else None
