"""What the program and the tasks log goes to stderr, above whatever is being redrawn there."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from tenuto.cli.views.terminal import say


class _Talk(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        style = "red" if record.levelno >= logging.ERROR else "yellow"
        say(f"{record.levelname.lower()}: {self.format(record)}", style=style)


@contextmanager
def logs_on_stderr() -> Iterator[None]:
    """Show warnings and errors while inside."""
    root = logging.getLogger()
    handler = _Talk(logging.WARNING)
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
