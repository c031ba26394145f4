"""Log configuration of a service: all lines go to one stream, or to one file."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import WatchedFileHandler
from typing import Final, Literal, TextIO, TypeAlias

from tenuto.logs.lines import JsonLines, TextLines
from tenuto.model.errors import InvalidInput, Problem
from tenuto.tasks.capture import CURRENT

Format: TypeAlias = Literal["text", "json"]
Level: TypeAlias = Literal["debug", "info", "warning", "error"]

_LEVELS: Final[dict[Level, int]] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


STDERR: Final = "stderr"
_OURS: Final = "tenuto"


@contextmanager
def logging_to(
    stream: TextIO | None = None,
    *,
    form: Format = "text",
    level: Level = "info",
    to: str = STDERR,
) -> Iterator[None]:
    """Log this program and its tasks from a level on, other libraries from warnings on.

    `to` is the path of a file, if it is not `stderr`; InvalidInput where that cannot be written. A
    file that was moved away is made anew, so that files can be rotated.
    """
    handler = logging.StreamHandler(stream or sys.stderr) if to == STDERR else _file(to)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    handler.addFilter(_is_for_us)
    root, ours = logging.getLogger(), logging.getLogger(_OURS)
    before = root.level, ours.level
    root.addHandler(handler)
    root.setLevel(_LEVELS[level])
    ours.setLevel(_LEVELS[level])
    try:
        yield
    finally:
        root.removeHandler(handler)
        if to != STDERR:
            handler.close()
        root.setLevel(before[0])
        ours.setLevel(before[1])


def _is_for_us(record: logging.LogRecord) -> bool:
    """Whether it is a warning, or of this program or a task."""
    if record.levelno >= logging.WARNING or CURRENT.get() is not None:
        return True
    return record.name == _OURS or record.name.startswith(f"{_OURS}.")


def _file(path: str) -> logging.Handler:
    try:
        return WatchedFileHandler(path, encoding="utf-8")
    except OSError as error:
        problem = Problem(
            code="TEN-2631",
            path="log_to",
            message=f"{path}: {error.strerror}",
            advice="Write `stderr`, or the path of a file that this user may write.",
        )
        raise InvalidInput("the configuration cannot be used", [problem]) from None
