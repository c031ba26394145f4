"""Runs JavaScript of a test for real, in no time of its clock: the test waits for the sandbox."""

from __future__ import annotations

import asyncio
import threading
from functools import cache

from tenuto.built_in.javascript import JavaScriptExecutor
from tenuto.built_in.protocol import Call
from tenuto.model.json import JSON
from tenuto.model.policy import DEFAULT_LIMITS
from tenuto.sandbox.bounds import PoolBounds
from tenuto.sandbox.sandbox import Sandbox

_BOUNDS = PoolBounds(processes=1, of_tenant=1, spares=1)


def real_code(call: Call) -> JSON:
    """The result of a call; `Failed`."""
    return _thread().run(call)


class _Thread:
    """A loop with real time, which serves all tests of this process, and ends with it.

    Its processes end with it too, since their pipes do.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="tenuto-test-code", daemon=True
        )
        self._thread.start()
        self._executor = JavaScriptExecutor(
            lambda bounds: Sandbox(bounds=bounds),
            bounds=_BOUNDS,
            output_limit=DEFAULT_LIMITS.output_bytes,
        )

    def run(self, call: Call) -> JSON:
        return asyncio.run_coroutine_threadsafe(self._run(call), self._loop).result()

    async def _run(self, call: Call) -> JSON:
        return await self._executor.run(call)


@cache
def _thread() -> _Thread:
    return _Thread()
