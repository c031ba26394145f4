"""The work of javascript, http and dataQuery steps in a test: stubs by step, and real code."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from tenuto.built_in.protocol import Call, Executors, Failed
from tenuto.core.built_in import DATA_QUERY_TASK, HTTP_TASK, JAVASCRIPT_TASK, task_id_of
from tenuto.model.failure import Failure
from tenuto.model.graph import DataQuery, Http, JavaScript
from tenuto.model.json import JSON
from tenuto.tasks.context import Context
from tenuto.testing.calls import Call as Recorded
from tenuto.testing.real_code import real_code
from tenuto.testing.stubs import Stub

if TYPE_CHECKING:
    from collections.abc import Callable

__tracebackhide__ = True
"""pytest hides the frames of this module in tracebacks."""

BUILT_IN_TASKS = frozenset({JAVASCRIPT_TASK, HTTP_TASK, DATA_QUERY_TASK})
NOT_STUBBED = "NOT_STUBBED"
"""The failure of a step that calls others and has no stub."""


class Watcher(Protocol):
    """Records calls, and crashes in them."""

    now: Callable[[], datetime]

    async def watch(self, call: Recorded, work: Callable[[], Awaitable[object]]) -> object: ...


class BuiltInMocks:
    """An executor of all built-in tasks; a stub stands for all iterations of its step."""

    queues = False
    calls_of_tenant = None

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.stubs: dict[str, Stub] = {}

    @property
    def executors(self) -> Executors:
        """What an engine is given."""
        return {JavaScript: self, Http: self, DataQuery: self}

    async def run(self, call: Call) -> JSON:
        recorded = Recorded(
            task=task_id_of(call.config),
            instance_id=call.instance_id,
            step=call.step_id,
            attempt=call.attempt,
            key=call.idempotency_key,
            input=call.given,
            at=self._watcher.now(),
        )
        output: JSON = await self._watcher.watch(recorded, lambda: self._work(call))  # type: ignore[assignment]
        return output

    async def close(self) -> None:
        """The processes of the sandbox serve all tests."""

    def _work(self, call: Call) -> Awaitable[object]:
        stub = self.stubs.get(call.step_id)
        if stub is None:
            return self._unstubbed(call)
        ctx = Context(
            instance_id=call.instance_id,
            step_id=call.step_id,
            attempt=call.attempt,
            idempotency_key=call.idempotency_key,
        )
        return stub.play(ctx, call.given)

    async def _unstubbed(self, call: Call) -> JSON:
        if isinstance(call.config, JavaScript) and not call.config.allow_hosts:
            return real_code(call)
        raise Failed(
            Failure(
                code=NOT_STUBBED,
                message=f"a test sends nothing: write engine.stub_step({call.step_id!r}, …)",
                retryable=False,
            )
        )
