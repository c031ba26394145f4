"""Ends decisions that do not end: stops them in the midst, or kills the process.

The watching is done by another process (`watchdog_process.py`), since code that keeps the
interpreter to itself, such as a regular expression, lets no thread of this one run.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Final

from tenuto.engine.turns.note import Note

_STOP: Final = signal.SIGURG
"""Ignored by a process that does not expect it."""
_SCRIPT: Final = Path(__file__).with_name("watchdog_process.py")
_watched: set[Note] = set()


class DecisionWatchdog:
    """Watches the note of this process from another process, until it is stopped."""

    def __init__(self, note: Note, *, seconds: float) -> None:
        """`seconds`: how long a decision may compute; without computing, ten times as long."""
        self._note = note
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, path: Path) -> None:
        """Watch; `path` is the file with the note."""
        # A signal can stop only what runs in the main thread.
        can_stop = threading.current_thread() is threading.main_thread()
        if can_stop:
            _watched.add(self._note)
            signal.signal(_STOP, _stop_accused)
        # All decisions are made in this thread.
        words = [path, self._seconds, int(can_stop), int(_STOP), threading.get_native_id()]
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and script
            # Alone, it loads nothing but what it needs; in a session of its own, it outlives a
            # Ctrl-C that this process may answer with a grace period.
            [sys.executable, "-I", "-S", _SCRIPT, *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def stop(self) -> None:
        """Watch no more; also before start."""
        _watched.discard(self._note)
        process, self._process = self._process, None
        if process is not None:
            process.communicate()


def _stop_accused(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """In the main thread: so the note that stands is that of what is interrupted."""
    for note in _watched:
        note.stop_if_accused()
