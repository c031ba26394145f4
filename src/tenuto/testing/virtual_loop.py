"""An event loop without sockets or real time: when nothing is ready, time jumps to the next timer.

With a `random`, chance decides who goes next: of the callbacks that are ready, one is drawn with
the seed, and those of one task or object keep their order. Without, they go in the order in which
they came. A simulated process is one such loop: to crash it is to stop it between two callbacks
and never to run it again.
"""

from __future__ import annotations

import asyncio
import heapq
import threading
from asyncio.base_events import BaseEventLoop
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from math import inf
from random import Random
from typing import Any, Final, Never, TypeVar

from tenuto.model.errors import TenutoError

T = TypeVar("T")

MOST_STEPS_AT_ONCE: Final = 200_000
"""So many callbacks without any time passing: something runs in circles."""


class Crashed(BaseException):
    """The simulated process is gone. Raised to the caller that runs the loop, never inside it."""


class Deadlock(Exception):
    """Nothing is ready and no timer is set, or everything spins and no time passes."""


class VirtualLoop(BaseEventLoop):
    """Runs callbacks one by one in an order that follows from the seed alone."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, random: Random | None = None, *, started_at: float = 0.0) -> None:
        super().__init__()
        self._random = random
        self._virtual = started_at
        self._horizon = inf
        self._is_at_rest = False
        self._steps_at_once = 0
        self._crash: str | None = None
        self._in_threads = 0
        self._woken = threading.Event()
        self.steps = 0
        self.before_step: Callable[[int], None] | None = None
        """Called with the number of each step: the place to crash between any two of them."""
        self.complaints: list[str] = []
        """Messages that would have been logged: exceptions that were never retrieved."""
        self.set_exception_handler(self._complain)

    def __del__(self) -> None:
        """There is nothing of the outside to give back, closed or not."""

    def time(self) -> float:
        return self._virtual

    def rest(self, until: float) -> bool:
        """Run until nothing is left to do up to the moment `until`, which it then is.

        A call of `stop` interrupts it; returns whether it came to rest.
        """
        self._horizon = until
        self._is_at_rest = False
        try:
            self.run_forever()
        finally:
            self._horizon = inf
        if self._is_at_rest:
            self._virtual = max(self._virtual, until)
        return self._is_at_rest

    @property
    def next_timer(self) -> float:
        """When the next timer is due; infinite when there is none."""
        self._drop_cancelled()
        return self._scheduled[0].when() if self._scheduled else inf

    def crash(self, why: str) -> None:
        """Let no further callback run."""
        self._crash = self._crash or why

    def discard_tasks(self) -> None:
        """Drop every task of a loop that will never run again; none of them gets to clean up.

        Closing a coroutine runs its `finally` blocks, which find no loop and dead ports.
        """
        self.set_exception_handler(lambda _loop, _context: None)
        for task in sorted(asyncio.all_tasks(self), key=lambda task: task.get_name()):
            task._log_destroy_pending = False  # type: ignore[attr-defined] # noqa: SLF001
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

    def run_in_executor(
        self,
        executor: Any,  # noqa: ANN401 - as the loops of the standard library have it
        func: Callable[..., T],
        *args: object,
    ) -> asyncio.Future[T]:
        """As ever; time stands still until the thread has answered."""
        future = super().run_in_executor(executor, func, *args)
        self._in_threads += 1
        future.add_done_callback(self._thread_ended)
        return future

    async def sock_connect(self, sock: object, address: object) -> Never:
        self._refuse_the_world()

    def _make_socket_transport(self, *_: object, **__: object) -> Never:
        self._refuse_the_world()

    async def _make_subprocess_transport(self, *_: object, **__: object) -> Never:
        self._refuse_the_world()

    def _refuse_the_world(self) -> Never:
        raise TenutoError(
            "in a test there is no network and there are no processes: time would not wait",
            code="TEN-2203",
            advice="Stub the task: engine.stub(task, result).",
        )

    def _run_once(self) -> None:
        if self._crash is not None:
            raise Crashed(self._crash)
        while not self._ready and self._in_threads:
            self._woken.wait()
            self._woken.clear()
        if not self._ready and not self._advance() and not self._stopping:  # type: ignore[attr-defined]
            if self._horizon == inf:
                raise Deadlock(f"nothing is ready and no timer is set\n{self.dump()}")
            self._is_at_rest = True
            self.stop()
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
            handle._run()  # noqa: SLF001

    def _draw(self) -> asyncio.Handle:
        ready = self._ready
        if self._random is None or len(ready) == 1:
            return ready.popleft()
        chosen = self._random.randrange(len(ready))
        owner = _owner(ready[chosen])
        if owner is not None:
            # Threads may add to it meanwhile.
            chosen = next(i for i, handle in enumerate(tuple(ready)) if _owner(handle) is owner)
        handle = ready[chosen]
        del ready[chosen]
        return handle

    def _advance(self) -> bool:
        """Jump to the next timer before the horizon and make ready all that are due then."""
        if self.next_timer > self._horizon or not self._scheduled:
            return False
        scheduled = self._scheduled
        self._virtual = max(self._virtual, scheduled[0].when())
        self._steps_at_once = 0
        while scheduled and scheduled[0].when() <= self._virtual:
            self._ready.append(heapq.heappop(scheduled))
        return True

    def _drop_cancelled(self) -> None:
        while self._scheduled and self._scheduled[0].cancelled():
            heapq.heappop(self._scheduled)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are dropped when their time comes."""

    def _process_events(self, event_list: object) -> None:
        """There is nothing outside."""

    def _write_to_self(self) -> None:
        self._woken.set()

    def _thread_ended(self, _: asyncio.Future[Any]) -> None:
        self._in_threads -= 1

    def _complain(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.complaints.append(f"{context.get('message')}: {context.get('exception')!r}")


def _owner(handle: asyncio.Handle) -> object:
    return getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined] # noqa: SLF001
