"""Lines that tasks log and print, and how many of one attempt are kept."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from tenuto.model.json import Body
from tenuto.model.secret_text import whole_text, without_named_secrets, without_secret_text
from tenuto.model.unsafe_text import UNSAFE, as_escape

MOST_BYTES = 64_000
"""The most bytes of one attempt's lines."""
HEAD_BYTES = 48_000
"""Of these, the bytes of its first lines; the rest is for its last ones."""
MOST_OF_INSTANCE = 1_000_000
"""The most bytes of all lines of an instance; beyond, the oldest go."""
CHUNK_BYTES = 200
"""What the lines that are written at once count beside themselves: an instance has few chunks."""
MOST_TEXT = 2_000
"""The most characters of a line."""
LINE_BYTES = 64
"""What a line counts beside its text: an attempt has at most 1,000 lines."""
_MOST_NAME = 200
_MOST_RAW = 10_000
"""The most characters of a line that are looked at: a part of them may be left out."""
_MOST_ARRIVED = 2 * MOST_BYTES
_FARTHEST = 1_000_000_000

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
"""Sequences that colour text or move the cursor of a terminal."""
_UNSAFE = re.compile(f"[{UNSAFE}\n]")
"""Characters that end a line, control a terminal or reverse the writing direction."""

Stream = Literal["stdout", "stderr"]
Number = Annotated[int, Meta(ge=0, le=_FARTHEST)]


class LogLine(Body, frozen=True, kw_only=True):
    """A line: printed to a stream, or logged with a level."""

    at: Annotated[datetime, Meta(tz=True)]
    text: str
    stream: Stream | None = None
    level: str | None = None
    logger: str | None = None
    """The name of the logger, of a line that was logged."""
    dropped: Number = 0
    """So many lines before it, or in its place, are left out."""

    @property
    def size(self) -> int:
        """What it counts of the bytes of its attempt."""
        return size_of(self.text, self.level, self.logger)


class LogChunk(Body, frozen=True, kw_only=True):
    """Successive lines of one attempt."""

    first: Number = 0
    """The number of its first line; those of an attempt are numbered from 0."""
    lines: Annotated[tuple[LogLine, ...], Meta(max_length=MOST_BYTES // LINE_BYTES + 1)]


def size_of(*texts: str | None) -> int:
    """What a line with this text, and these names, counts of the bytes of its attempt."""
    return LINE_BYTES + sum(_bytes_of(text) for text in texts if text is not None)


def cleaned(text: str) -> str:
    """A text on one line: nothing in it controls a terminal, and it is not endless.

    What a carriage return wrote over, as progress bars do, is left out.
    """
    if text.isprintable() and len(text) <= MOST_TEXT:
        return text
    raw = _raw(text)
    shown = _ESCAPES.sub("", raw[:_MOST_RAW])
    if len(shown) > MOST_TEXT or len(raw) > _MOST_RAW:
        shown = f"{shown[:MOST_TEXT]}…"
    return whole_text(_UNSAFE.sub(as_escape, shown))


def cleaned_name(text: str) -> str:
    """The name of a level or a logger: like a text, and short."""
    return cleaned(text[:_MOST_NAME])


def arrived_chunk(chunk: LogChunk) -> LogChunk:
    """A chunk as it waits to be cleaned and stored: bounded, whatever a worker sent."""
    lines: list[LogLine] = []
    room = _MOST_ARRIVED
    for line in chunk.lines:
        level, logger = line.level, line.logger
        if max(len(line.text), len(level or ""), len(logger or "")) > _MOST_NAME:
            line = replace(  # noqa: PLW2901 - the same line, cut
                line,
                text=line.text if len(line.text) <= _MOST_RAW else _raw(line.text),
                level=None if level is None else level[:_MOST_NAME],
                logger=None if logger is None else logger[:_MOST_NAME],
            )
        room -= line.size
        if room < 0:
            break
        lines.append(line)
    return LogChunk(first=chunk.first, lines=tuple(lines))


def recorded_chunk(chunk: LogChunk) -> LogChunk:
    """A chunk as it is stored: cleaned, without secrets, and no more than one attempt may have."""
    lines: list[LogLine] = []
    room = MOST_BYTES
    for line in chunk.lines:
        safe = replace(
            line,
            text=without_named_secrets(cleaned(line.text)),
            level=_name(line.level),
            logger=_name(line.logger),
        )
        room -= safe.size
        if room < 0:
            break
        lines.append(safe)
    return LogChunk(first=chunk.first, lines=tuple(lines))


def _raw(text: str) -> str:
    """What a carriage return did not write over, and a little more of it than is looked at."""
    return text.rstrip("\r").rpartition("\r")[2][: _MOST_RAW + 1]


def _name(text: str | None) -> str | None:
    return None if text is None else without_secret_text(cleaned_name(text))


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
