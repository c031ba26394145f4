"""Loading of a command: no module is garbage, and collecting takes a tenth of the time."""

from __future__ import annotations

import gc
from typing import Final

_TOGETHER: Final = 50_000
"""New objects before a collection; a command that loads an engine makes 125,000."""

_usual = gc.get_threshold()


def begin_loading() -> None:
    """Collect seldom, until an engine or a worker begins, else until the command ends."""
    gc.set_threshold(_TOGETHER, *_usual[1:])


def end_loading() -> None:
    """Collect as usual: what begins now may run for months, and tunes the collector itself."""
    gc.set_threshold(*_usual)
