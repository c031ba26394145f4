"""Checks large documents and values in a thread, one at a time: the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from tenuto.engine.bounds import DEFAULT_BOUNDS
from tenuto.engine.definitions.idling_thread import IdlingThread
from tenuto.engine.turns.fair_queue import FairQueue
from tenuto.engine.turns.sharing import Sharing
from tenuto.model.errors import Overloaded, ProcessStops
from tenuto.model.json import is_small
from tenuto.model.pauses import PACE
from tenuto.tasks.collector import collect_young

Made = TypeVar("Made")

LARGE = DEFAULT_BOUNDS.large_document
_MOST_WAITING = 20
"""The most large documents of a tenant that may wait: each is kept in memory until its turn."""
_SWITCH_SECONDS = 0.00001
"""How long the thread keeps the interpreter from the loop, which needs it many times a request."""

_PART_SECONDS = 0.001
"""For so long at least a thread works between two pauses."""
_LONGEST_PAUSE = 0.02

_COLLECT_SECONDS = 0.01
"""How often what a thread makes is looked through for garbage: little at a time."""


class _Waiter(NamedTuple):
    """A document that waits for the thread."""

    tenant: str
    turn: asyncio.Future[None]


class LargeDocuments:
    """A thread for large documents, in which tenants take turns.

    A second one at a time would only slow the loop further.
    """

    def __init__(self, large: int = LARGE) -> None:
        """`large`: from how many bytes on a document is large; smaller ones take milliseconds."""
        self.large = large
        """In bytes; what is smaller is read at once."""
        self._is_busy = self._is_left = False
        self._of_requests: set[asyncio.Future[Any]] = set()
        """What requests wait for: turns, and what the thread makes."""
        self._waiting: FairQueue[_Waiter] = FairQueue(lambda waiter: waiter.tenant)
        self.sharing = Sharing()
        """Says how long the documents of a tenant rest while others are at work."""
        self._thread = IdlingThread("large document")

    async def read(
        self, size: int, work: Callable[[], Made], *, tenant: str = "", may_refuse: bool = True
    ) -> Made:
        """What `work` makes of a document of so many bytes.

        Overloaded, if it may be refused, and ProcessStops where the process stops before.
        """
        if size < self.large:
            return work()
        await self._turn_of(tenant, may_refuse=may_refuse)
        return await self._noted(self._in_thread(work, tenant), may_refuse=may_refuse)

    def refuse_all(self) -> None:
        """Refuse what may be refused and is not made yet, since the process stops."""
        self._is_left = True
        for future in [*self._of_requests]:
            if not future.done():
                future.set_exception(_left())

    def _noted(self, future: asyncio.Future[Made], *, may_refuse: bool) -> asyncio.Future[Made]:
        if may_refuse:
            self._of_requests.add(future)
            future.add_done_callback(self._of_requests.discard)
        return future

    async def aside(self, work: Callable[[], Made], *, tenant: str = "") -> Made:
        """What `work` makes, which takes long for small values too; Overloaded."""
        return await self.read(self.large, work, tenant=tenant)

    async def check(
        self,
        value: object,
        work: Callable[[], Made],
        *,
        tenant: str = "",
        may_refuse: bool = False,
        times: int = 1,
    ) -> Made:
        """What `work` makes of a value of any size; Overloaded, if it may be refused.

        `times`: so many times as long as others the work takes for a value of the same size.
        """
        if is_small(value, self.large // times):
            return work()
        return await self.read(self.large, work, tenant=tenant, may_refuse=may_refuse)

    async def _turn_of(self, tenant: str, *, may_refuse: bool) -> None:
        if may_refuse and self._is_left:
            raise _left()
        if not self._is_busy:
            self._is_busy = True
            return
        if may_refuse and self._waiting.count_of(tenant) >= _MOST_WAITING:
            raise Overloaded("too many large documents are being read")
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiter(tenant, turn))
        try:
            await self._noted(turn, may_refuse=may_refuse)
        except asyncio.CancelledError:
            if not turn.cancelled():
                # It was given the turn in the same moment.
                self._give_turn()
            raise

    def _give_turn(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft().turn
            if not turn.done():
                turn.set_result(None)
                return
        self._is_busy = False

    def _in_thread(self, work: Callable[[], Made], tenant: str) -> asyncio.Future[Made]:
        """What `work` makes; the turn is over when the thread is, also if nothing waits for it.

        The thread ends with the process: a stop does not wait for it.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Made] = loop.create_future()
        began = loop.time()

        def ended(made: Made | None, error: BaseException | None) -> None:
            collecting.end()
            rest = self.sharing.rest_after(loop.time() - began, tenant)
            if rest and self._waiting and self._waiting.first.tenant == tenant:
                # The thread takes the interpreter from everything else.
                loop.call_later(rest, self._give_turn)
            else:
                self._give_turn()
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(made)  # type: ignore[arg-type]

        def run() -> None:
            made, error = None, None
            PACE.set(_Pace(loop.time, self.sharing, tenant).pause)
            try:
                made = work()
            except BaseException as raised:  # noqa: BLE001 - it is raised where the result is awaited
                error = raised
            _SHORT_SWITCHES.end()
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(partial(ended, made, error))

        collecting = _Collecting(loop)
        _SHORT_SWITCHES.begin()
        try:
            self._thread.put(run)
        except BaseException:
            collecting.end()
            _SHORT_SWITCHES.end()
            self._give_turn()
            raise
        return future


def _left() -> ProcessStops:
    return ProcessStops("the engine stopped before it was read")


class _Pace:
    """Lets the work of a thread rest after each part of it, while others are at work."""

    def __init__(self, ticks: Callable[[], float], sharing: Sharing, tenant: str) -> None:
        """`ticks` tells the time in seconds, to any thread."""
        self._ticks = ticks
        self._sharing = sharing
        self._tenant = tenant
        self._began = ticks()

    def pause(self) -> None:
        took = self._ticks() - self._began
        if took < _PART_SECONDS:
            return
        if rest := self._sharing.rest_after(took, self._tenant, _LONGEST_PAUSE, is_in_loop=True):
            _rest(rest)
        self._began = self._ticks()


def _rest(seconds: float) -> None:
    """Let other threads go on."""
    threading.Event().wait(seconds)


class _Collecting:
    """Collects garbage from time to time, until it is ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._next = loop.call_later(_COLLECT_SECONDS, self._collect)

    def _collect(self) -> None:
        collect_young()
        self._next = self._loop.call_later(_COLLECT_SECONDS, self._collect)

    def end(self) -> None:
        self._next.cancel()


class _ShortSwitches:
    """Lets the loop have the interpreter sooner, while a thread of any engine is at work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0
        self._usual = 0.0

    def begin(self) -> None:
        with self._lock:
            if not self._threads:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(self._usual, _SWITCH_SECONDS))
            self._threads += 1

    def end(self) -> None:
        with self._lock:
            self._threads -= 1
            if not self._threads:
                sys.setswitchinterval(self._usual)


_SHORT_SWITCHES = _ShortSwitches()
