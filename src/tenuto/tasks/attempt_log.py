"""The lines that one attempt logs and prints: its first ones, and its last.

Lines come from any thread that runs code of the attempt. The first ones are handed over while the
attempt runs; beyond their bound the last ones are kept until it ends, since they often say why it
failed, and the number of those between.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from threading import RLock

from msgspec import Struct

from tenuto.model.task_logs import (
    HEAD_BYTES,
    LINE_BYTES,
    MOST_BYTES,
    MOST_TEXT,
    LogChunk,
    LogLine,
    Stream,
    cleaned,
    cleaned_name,
    size_of,
)

_TAIL_BYTES = MOST_BYTES - HEAD_BYTES - 2 * LINE_BYTES
"""The mark of what was left out counts as well."""
_MOST_AT_ONCE = 200_000
"""The most characters of one text that are cut into lines: its beginning and its end."""
_tracebacks = logging.Formatter()


class Line(Struct, frozen=True, array_like=True):
    """A line as it was noted."""

    ticks: float
    """When, by a clock that only measures."""
    text: str
    stream: Stream | None = None
    level: str | None = None
    logger: str | None = None
    dropped: int = 0

    @property
    def size(self) -> int:
        """What it counts of the bytes of its attempt."""
        return size_of(self.text, self.level, self.logger)


class AttemptLog:
    """Collects the lines of one attempt."""

    def __init__(self, ticks: Callable[[], float], ready: Callable[[], None]) -> None:
        """`ready` is called, from any thread, when there are lines to take."""
        self._ticks = ticks
        self._ready = ready
        # A finalizer may print while a line is noted, in the same thread.
        self._lock = RLock()
        self._unfinished: dict[Stream, str] = {}
        self._head: list[Line] = []
        self._head_room = HEAD_BYTES
        self._tail: deque[Line] = deque()
        self._tail_room = _TAIL_BYTES
        self._dropped = 0
        self._taken = 0
        self._is_ended = False

    def write(self, stream: Stream, text: str) -> None:
        """Note what was printed; the rest of a line may follow."""
        if len(text) > _MOST_AT_ONCE:
            text = self._shortened(text)
        with self._lock:
            first, *others = text.split("\n")
            begun = self._unfinished.pop(stream, "") + first
            for following in others:
                self._add(Line(self._ticks(), cleaned(begun), stream))
                begun = following
            if begun:
                self._unfinished[stream] = _kept(begun)

    def record(self, record: logging.LogRecord) -> None:
        """Note a log record: a line for each line of its message and traceback."""
        try:
            text = record.getMessage()
        except Exception:  # noqa: BLE001 - the arguments of a task do not fit its text
            text = str(record.msg)
        if record.exc_info and record.exc_info[0] is not None:
            text = f"{text}\n{_tracebacks.formatException(record.exc_info)}"
        level, logger = cleaned_name(record.levelname.lower()), cleaned_name(record.name)
        now = self._ticks()
        if len(text) > _MOST_AT_ONCE:
            text = self._shortened(text)
        with self._lock:
            for each in text.split("\n"):
                self._add(Line(now, cleaned(each), None, level, logger))

    def extend(self, lines: Sequence[Line]) -> None:
        """Note lines that were collected elsewhere."""
        with self._lock:
            for line in lines:
                self._add(line)

    def take(self) -> list[Line]:
        """The first lines that were not taken before."""
        with self._lock:
            lines, self._head = self._head, []
            return lines

    def end(self) -> list[Line]:
        """All lines that are left; those that still come are dropped."""
        with self._lock:
            if self._is_ended:
                return []
            for stream, text in self._unfinished.items():
                self._add(Line(self._ticks(), cleaned(text), stream))
            self._is_ended = True
            mark = []
            if self._dropped:
                noun = "line was" if self._dropped == 1 else "lines were"
                text = f"… {self._dropped:,} {noun} left out"
                at = self._tail[0].ticks if self._tail else self._ticks()
                mark.append(Line(at, text, dropped=self._dropped))
            return [*self.take(), *mark, *self._tail]

    def chunk(self, lines: Sequence[Line], now: datetime) -> LogChunk:
        """Lines that were taken, as they are sent and stored."""
        first, ticks = self._taken, self._ticks()
        self._taken += len(lines)
        return LogChunk(
            first=first,
            lines=tuple(
                LogLine(
                    at=_milliseconds(now - timedelta(seconds=max(ticks - line.ticks, 0.0))),
                    text=line.text,
                    stream=line.stream,
                    level=line.level,
                    logger=line.logger,
                    dropped=line.dropped,
                )
                for line in lines
            ),
        )

    def _add(self, line: Line) -> None:
        if self._is_ended:
            return
        size = line.size
        if self._head_room >= size and not self._tail:
            self._head_room -= size
            self._head.append(line)
            if len(self._head) == 1:
                self._ready()
            return
        self._head_room = 0
        self._tail.append(line)
        self._tail_room -= size
        while self._tail_room < 0:
            gone = self._tail.popleft()
            self._tail_room += gone.size
            self._dropped += gone.dropped or 1

    def _shortened(self, text: str) -> str:
        half = _MOST_AT_ONCE // 2
        self._dropped += text.count("\n", half, -half)
        return f"{text[:half]}\n{text[-half:]}"


def _kept(begun: str) -> str:
    """The part of an unfinished line that will be shown: not what is written over, or cut off."""
    end = "\r" if begun.endswith("\r") else ""
    return begun.rstrip("\r").rpartition("\r")[2][: MOST_TEXT + 1] + end


def _milliseconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
