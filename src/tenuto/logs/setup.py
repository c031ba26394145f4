"""Log configuration of a service: all lines go to one stream."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal, TextIO, TypeAlias

from tenuto.logs.lines import JsonLines, TextLines

Format: TypeAlias = Literal["text", "json"]
Level: TypeAlias = Literal["debug", "info", "warning", "error"]

_LEVELS: Final[dict[Level, int]] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


@contextmanager
def logging_to(
    stream: TextIO | None = None, *, form: Format = "text", level: Level = "info"
) -> Iterator[None]:
    """Log this program and its tasks from a level on, other libraries from warnings on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root, ours = logging.getLogger(), logging.getLogger("tenuto")
    before = root.level, ours.level
    root.addHandler(handler)
    root.setLevel(max(_LEVELS[level], logging.WARNING))
    ours.setLevel(_LEVELS[level])
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before[0])
        ours.setLevel(before[1])
