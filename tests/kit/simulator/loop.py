"""An event loop without threads, sockets or real time, in which chance decides who goes next.

Of the callbacks that are ready, one is drawn with the seed; those of one task or object keep their
order. When none is ready, time jumps to the next timer. A simulated process is one such loop: to
crash it is to stop it between two callbacks and never to run it again.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio.base_events import BaseEventLoop
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, Final

MOST_STEPS_AT_ONCE: Final = 200_000
"""So many callbacks without any time passing: something runs in circles."""


class Crashed(BaseException):
    """The simulated process is gone. Raised to whoever runs the loop, never inside it."""


class Deadlock(Exception):
    """Nothing is ready and no timer is set, or everything spins and no time passes."""


class SimLoop(BaseEventLoop):
    """Runs callbacks one by one in an order that follows from the seed alone."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, random: Random, *, started_at: float = 0.0) -> None:
        super().__init__()
        self._random = random
        self._virtual = started_at
        self._steps_at_once = 0
        self._crash: str | None = None
        self.steps = 0
        self.before_step: Callable[[int], None] | None = None
        """Called with the number of each step: the place to crash between any two of them."""
        self.complaints: list[str] = []
        """What would have been logged: exceptions that nobody retrieved."""
        self.set_exception_handler(self._complain)

    def time(self) -> float:
        return self._virtual

    def crash(self, why: str) -> None:
        """Let no further callback run."""
        self._crash = self._crash or why

    def bury(self) -> None:
        """Drop every task of a loop that will never run again; none of them gets to clean up.

        Closing a coroutine runs its `finally` blocks, which find no loop and dead ports.
        """
        self.set_exception_handler(lambda _loop, _context: None)
        for task in sorted(asyncio.all_tasks(self), key=lambda task: task.get_name()):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            with suppress(BaseException):
                coroutine = task.get_coro()
                assert coroutine is not None
                coroutine.close()
        self._ready.clear()
        self._scheduled.clear()
        self.close()

    def dump(self) -> str:
        """Every task and the line at which it waits."""
        lines = [f"at {self._virtual:.3f} s, after {self.steps} steps"]
        for task in sorted(asyncio.all_tasks(self), key=lambda task: task.get_name()):
            where = [f"{frame.f_code.co_qualname}:{frame.f_lineno}" for frame in task.get_stack()]
            lines.append(f"  {task.get_name()}: {' < '.join(reversed(where)) or 'about to begin'}")
        return "\n".join(lines)

    def _run_once(self) -> None:
        if self._crash is not None:
            raise Crashed(self._crash)
        if not self._ready and not self._advance() and not self._stopping:  # type: ignore[attr-defined]
            raise Deadlock(f"nothing is ready and no timer is set\n{self.dump()}")
        if not self._ready:
            return
        handle = self._draw()
        if handle.cancelled():
            return
        self.steps += 1
        self._steps_at_once += 1
        if self._steps_at_once > MOST_STEPS_AT_ONCE:
            raise Deadlock(f"it spins and no time passes\n{self.dump()}")
        if self.before_step is not None:
            self.before_step(self.steps)
        if self._crash is None:
            handle._run()

    def _draw(self) -> asyncio.Handle:
        ready = self._ready
        chosen = self._random.randrange(len(ready)) if len(ready) > 1 else 0
        owner = _owner(ready[chosen])
        if owner is not None:
            chosen = next(i for i, handle in enumerate(ready) if _owner(handle) is owner)
        handle = ready[chosen]
        del ready[chosen]
        return handle

    def _advance(self) -> bool:
        """Jump to the next timer and make ready all that are due then."""
        scheduled = self._scheduled
        while scheduled and scheduled[0].cancelled():
            heapq.heappop(scheduled)
        if not scheduled:
            return False
        self._virtual = max(self._virtual, scheduled[0].when())
        self._steps_at_once = 0
        while scheduled and scheduled[0].when() <= self._virtual:
            self._ready.append(heapq.heappop(scheduled))
        return True

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are dropped when their time comes."""

    def _process_events(self, event_list: object) -> None:
        """There is nothing outside."""

    def _write_to_self(self) -> None:
        """There is no other thread."""

    def _complain(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.complaints.append(f"{context.get('message')}: {context.get('exception')!r}")


def _owner(handle: asyncio.Handle) -> object:
    return getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
