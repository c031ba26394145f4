"""Checks large documents and values in a thread, one at a time: the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

from tenuto.engine.bounds import DEFAULT_BOUNDS
from tenuto.engine.turns.fair_queue import FairQueue
from tenuto.model.errors import Overloaded

Made = TypeVar("Made")

LARGE = DEFAULT_BOUNDS.large_document
_MOST_WAITING = 20
"""The most large documents of a tenant that may wait: each is kept in memory until its turn."""
_SWITCH_SECONDS = 0.0001
"""How long the thread keeps the interpreter from the loop, which needs it many times a request."""


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
        self._large = large
        self._is_busy = False
        self._waiting: FairQueue[_Waiter] = FairQueue(lambda waiter: waiter.tenant)

    async def read(
        self, size: int, work: Callable[[], Made], *, tenant: str = "", may_refuse: bool = True
    ) -> Made:
        """What `work` makes of a document of so many bytes; Overloaded, if it may be refused."""
        if size < self._large:
            return work()
        await self._turn_of(tenant, may_refuse=may_refuse)
        return await self._in_thread(work)

    async def check(self, value: object, work: Callable[[], Made], *, tenant: str = "") -> Made:
        """What `work` makes of a value of any size; it is never refused."""
        if is_small(value, self._large):
            return work()
        return await self.read(self._large, work, tenant=tenant, may_refuse=False)

    async def _turn_of(self, tenant: str, *, may_refuse: bool) -> None:
        if not self._is_busy:
            self._is_busy = True
            return
        if may_refuse and self._waiting.count_of(tenant) >= _MOST_WAITING:
            raise Overloaded("too many large documents are being read")
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiter(tenant, turn))
        try:
            await turn
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

    def _in_thread(self, work: Callable[[], Made]) -> asyncio.Future[Made]:
        """What `work` makes; the turn is over when the thread is, also if nothing waits for it.

        A thread of its own, which ends with the process: a stop does not wait for it.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Made] = loop.create_future()

        def ended(made: Made | None, error: BaseException | None) -> None:
            self._give_turn()
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(made)  # type: ignore[arg-type]

        def run() -> None:
            made, error = None, None
            try:
                with _SHORT_SWITCHES:
                    made = work()
            except BaseException as raised:  # noqa: BLE001 - it is raised where the result is awaited
                error = raised
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(partial(ended, made, error))

        try:
            threading.Thread(target=run, name="large document", daemon=True).start()
        except BaseException:
            self._give_turn()
            raise
        return future


class _ShortSwitches:
    """Lets the loop have the interpreter sooner, while a thread of any engine is at work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0
        self._usual = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._threads:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(self._usual, _SWITCH_SECONDS))
            self._threads += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._threads -= 1
            if not self._threads:
                sys.setswitchinterval(self._usual)


_SHORT_SWITCHES = _ShortSwitches()


def is_small(value: object, large: int) -> bool:
    """Whether a value has fewer characters and items than that; it is read no further."""
    count = 0
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, str):
            count += len(each)
        elif isinstance(each, dict):
            count += len(each)
            pending += each.keys()
            pending += each.values()
        elif isinstance(each, list | tuple):
            count += len(each)
            pending += each
        if count >= large:
            return False
    return True
