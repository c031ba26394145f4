"""Consecutive processes on one disk: sends requests, waits, crashes and restarts.

What was asked of a process that crashed is asked again once it is recovered, as a client does that
got no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeAlias, TypeVar

from tenuto.app import Tenuto
from tenuto.model.errors import TenutoError
from tenuto.testing.disk_reader import DiskReader
from tenuto.testing.process import Process, World
from tenuto.testing.virtual_loop import Crashed

__tracebackhide__ = True
"""pytest hides the frames of this module in tracebacks."""

T = TypeVar("T")

Request: TypeAlias = Callable[[Tenuto], Coroutine[Any, Any, T]]


class Lives:
    """The processes of one test, of which at most one is alive."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.reader = DiskReader(world.disk)
        self.crashed: str | None = None
        """Where the last process died, if nothing has taken over since."""
        self._process: Process | None = None
        self._is_over = False
        self.begun = 0
        """How many processes there have been."""
        self._unanswered: list[Request[object]] = []
        self._meanwhile: list[Request[object]] = []

    @property
    def process(self) -> Process:
        """The one that lives, started if there was none yet; TenutoError after a crash."""
        if self._is_over:
            raise TenutoError(
                "this run is over: it can be looked at, but nothing more happens in it",
                code="TEN-2206",
                advice="Start another one.",
            )
        if self.crashed is not None:
            raise TenutoError(
                f"the engine crashed: {self.crashed}",
                code="TEN-2202",
                advice="Call engine.recover() before going on.",
            )
        if self._process is None:
            self.begun += 1
            self._process = Process(self.world, self.reader.note)
            self._process.open()
        return self._process

    @property
    def is_down(self) -> bool:
        return self.crashed is not None

    @property
    def now(self) -> datetime:
        return self.world.now() if self._process is None else self._process.clock.now()

    def ask(self, request: Request[T], *, is_repeated: bool = True) -> T | None:
        """Send a request, and process its consequences at this moment.

        None when the process crashed before it had answered, and when a task of it asks: then it
        is done as soon as the task lets it.
        """
        process = self.process
        if process.loop.is_running():
            process.do(request(process.app))
            return None
        answer: T | None = None
        with self._outlived(request if is_repeated else None):
            answer = process.run(request(process.app))
        self.settle()
        return answer

    def ask_meanwhile(self, request: Request[object]) -> None:
        """Send a request while work goes on; no task result arrives before the answer."""
        process = self.process

        async def ask() -> None:
            await request(process.app)
            self._meanwhile.remove(request)

        self._meanwhile.append(request)
        process.do_before_results(ask())

    def settle(self) -> None:
        """Do all that can be done at this moment."""
        if self._process is not None:
            with self._outlived():
                self._process.settle()

    def skip(self, span: timedelta) -> None:
        """Let time pass, also over a crash: then nothing runs for the rest of it."""
        process = self._at_rest()
        moment = process.loop.time() + span.total_seconds()
        with self._outlived():
            process.pass_until(moment)
        self.world.passed = max(self.world.passed, moment)

    def advance(self, is_reached: Callable[[], bool], within: timedelta) -> bool:
        """Let time pass until something holds after a durable change; whether it came to that.

        False when nothing can happen any more by itself, when `within` is over, and when the
        process crashed.
        """
        process = self._at_rest()
        limit = process.loop.time() + within.total_seconds()
        with self._outlived():
            while not is_reached():
                if not self._step(process, limit):
                    break
        return is_reached()

    def recover(self) -> None:
        """Let the next process take over; one that still lives is killed first."""
        if self._process is not None:
            self._at_rest()
        self.kill()
        self.crashed = None
        unanswered, self._unanswered = self._unanswered, []
        with self._outlived():
            _ = self.process
        self.settle()
        for request in unanswered:
            if self.is_down:
                self._unanswered.append(request)
            else:
                self.ask(request)

    def kill(self) -> None:
        """End the process as SIGKILL does, without any clean-up."""
        if self._process is not None:
            self._process.kill()
            self._process, self.crashed = None, "it was killed"

    def end(self) -> None:
        """Stop the engine; the disk can still be inspected."""
        crashed = self.crashed
        self.kill()
        self.crashed, self._is_over = crashed, True

    def _at_rest(self) -> Process:
        """The process, if nothing of it runs at this moment."""
        process = self.process
        if process.loop.is_running():
            raise TenutoError(
                "a task cannot let time pass, nor end the process that it runs in",
                code="TEN-2206",
                advice="Do that in the test; a task may start, publish, cancel, pause and resume.",
            )
        return process

    def _step(self, process: Process, limit: float) -> bool:
        """Go on to the next durable change; False when there will be none before `limit`."""
        now = process.loop.time()
        if process.step(now):
            return True
        if not self._is_moving():
            # An instance may still have an unclaimed mailbox message.
            patience = self.world.settings.mail_every + 1
            return process.step(min(limit, now + patience))
        upcoming = process.loop.next_timer
        if upcoming > limit:
            process.pass_until(limit)
            return False
        process.step(upcoming)
        return True

    def _is_moving(self) -> bool:
        """Whether time alone will change something."""
        states = (self.reader.held(id).state for id in self.reader.ids())
        return any(
            (state.timers or state.running) and not state.status.is_final for state in states
        )

    @contextmanager
    def _outlived(self, request: Request[object] | None = None) -> Iterator[None]:
        try:
            yield
        except Crashed as crash:
            self.kill()
            self.crashed = str(crash)
            if request is not None:
                self._unanswered.append(request)
            self._unanswered += self._meanwhile
            self._meanwhile.clear()
