"""A store between the engine and the real one, at which everything may go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Never

from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.store.errors import CommitUnknown
from tenuto.store.marks import Kind
from tenuto.store.protocol import Store
from tenuto.testing.fault_plan import Fault, FaultPlan
from tenuto.testing.virtual_loop import VirtualLoop
from tenuto.testing.wrapped_store import Call, WrappedStore


class FaultyStore(WrappedStore):
    """One process's way to its store."""

    def __init__(
        self,
        inner: Store,
        loop: VirtualLoop,
        fault_plan: FaultPlan,
        happened: Callable[[Fault], None] = lambda _: None,
    ) -> None:
        """`happened` is called with every fault when it strikes."""
        super().__init__(inner)
        self._loop = loop
        self._fault_plan = fault_plan
        self._happened = happened
        self._is_dead = False

    def kill(self) -> None:
        """Mark the process as dead: calls from its remaining code have no effect."""
        self._is_dead = True
        self.inner.abandon()

    async def called(self, call: Call) -> Any:  # noqa: ANN401 - whatever the verb returns
        if self._is_dead:
            raise StoreUnavailable("simulated: this process is dead")
        return await (self._write(call) if call.kind is Kind.WRITE else self._read(call))

    async def _proceed(self, call: Call) -> Any:  # noqa: ANN401
        """Reach the real store."""
        return await call()

    def _fault_on(self, call: Call) -> Fault | None:
        """The fault for this write."""
        return self._fault_plan.on_write(call.verb)

    async def _write(self, call: Call) -> Any:  # noqa: ANN401
        fault = self._fault_on(call)
        if fault is not None:
            self._happened(fault)
        if fault is Fault.CRASH_BEFORE:
            await self._die(fault)
        if fault is Fault.UNAVAILABLE:
            raise StoreUnavailable("simulated: the store is away")
        if fault is Fault.UNKNOWN_UNDONE:
            raise _unknown(call)
        if fault is Fault.SLOW_WRITE:
            await asyncio.sleep(self._fault_plan.seconds())
        result = await self._proceed(call)
        if fault is Fault.CRASH_AFTER:
            await self._die(fault)
        if fault is Fault.ACK_LOST:
            raise _unknown(call)
        if fault is Fault.SLOW_WRITE:
            await asyncio.sleep(self._fault_plan.seconds())
        return result

    async def _read(self, call: Call) -> Any:  # noqa: ANN401
        fault = self._fault_plan.on_read()
        if fault is None:
            return await self._proceed(call)
        self._happened(fault)
        if fault is Fault.READ_UNAVAILABLE:
            if call.kind is Kind.CLAIM:
                # It may have been done although the answer is lost.
                await self._proceed(call)
            raise StoreUnavailable("simulated: the store cannot be read")
        await asyncio.sleep(self._fault_plan.seconds())
        result = await self._proceed(call)
        await asyncio.sleep(self._fault_plan.seconds())
        return result

    async def _die(self, fault: Fault) -> Never:
        """Stop the whole process here; none of its code runs any further."""
        self._loop.crash(fault)
        await self._loop.create_future()
        raise AssertionError("a dead process does not come back")


def _unknown(call: Call) -> Exception:
    """The error of a broken connection; after a commit, the turn can be asked for its outcome."""
    if call.verb == "turns.commit":
        return CommitUnknown("simulated: the connection broke")
    return may_be_written("simulated: the connection broke")
