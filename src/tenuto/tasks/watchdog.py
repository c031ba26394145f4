"""Detects a blocked event loop, and logs the stack that blocks it.

A task that is `async def` and never awaits stops everything else in the process, including timers
and other instances. Code in the loop cannot report that; a thread can.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback

from tenuto.ports import Clock

_log = logging.getLogger("tenuto.watchdog")

_FRAMES = 30


class Watchdog:
    """Watches the loop it is started in; logs the loop's stack once for each time it is blocked."""

    def __init__(self, clock: Clock, *, threshold: float = 1.0) -> None:
        """`threshold`: seconds that the loop may take to answer."""
        self._clock = clock
        self._threshold = threshold
        self._is_stopping = threading.Event()
        self._answered = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch the running loop, until `stop`; a second start changes nothing."""
        if self._thread is not None:
            return
        self._is_stopping.clear()
        self._thread = threading.Thread(
            target=self._watch,
            args=(asyncio.get_running_loop(), threading.get_ident()),
            name="tenuto-watchdog",
            daemon=True,
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; also before start, and more than once."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._is_stopping.set()
            # The thread may be waiting for an answer that this call delays.
            self._answered.set()
            thread.join()

    def _watch(self, loop: asyncio.AbstractEventLoop, loop_thread: int) -> None:
        while not self._is_stopping.wait(self._threshold):
            asked = self._clock.ticks()
            self._answered.clear()
            if self._is_stopping.is_set():
                # The cleared flag may have been set because no answer is coming.
                return
            try:
                loop.call_soon_threadsafe(self._answered.set)
            except RuntimeError:
                # The loop is closed.
                return
            if not self._answered.wait(self._threshold):
                self._bark(loop_thread)
                self._answered.wait()
                if not self._is_stopping.is_set():
                    blocked = self._clock.ticks() - asked
                    _log.warning("the event loop goes on after %.1f s", blocked)

    def _bark(self, loop_thread: int) -> None:
        # Always there in CPython, the only implementation that the dependencies run on.
        frame = sys._current_frames().get(loop_thread)  # noqa: SLF001
        if frame is None:
            return
        stack = "".join(traceback.format_stack(frame, limit=_FRAMES))
        del frame
        _log.error(
            "the event loop has been blocked for more than %g s; nothing else runs meanwhile. "
            "A task that computes or waits without `await` should be a plain `def`, or have "
            'isolation="process". It is here:\n%s',
            self._threshold,
            stack,
        )
