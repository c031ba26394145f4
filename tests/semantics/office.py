"""An engine in memory whose task `work` ends when, and as, a test says."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from tenuto import Context, InstanceRef, Settings, TaskError, Tenuto
from tenuto.model.json import JSON, Object
from tenuto.ports import SystemClock


class Ticking(SystemClock):
    """A clock that never shows the same moment twice."""

    def now(self) -> datetime:
        self._latest = max(super().now(), self._latest + timedelta(milliseconds=1))
        return self._latest


class Office:
    """The app, and the desk at which its tasks wait for their results."""

    def __init__(self, app: Tenuto) -> None:
        self.app = app
        self._begun: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._ends: defaultdict[str, asyncio.Future[JSON]] = defaultdict(asyncio.Future)
        app.task(name="work")(self._work)

    async def _work(self, ctx: Context, input: JSON) -> JSON:
        self._begun[ctx.step_id].set()
        return await asyncio.shield(self._ends[ctx.step_id])

    async def begun(self, step: str) -> None:
        """Return once a step runs."""
        await self._begun[step].wait()

    def finish(self, step: str, output: JSON = None) -> None:
        self._ends[step].set_result(output)

    def fail(self, step: str, code: str) -> None:
        self._ends[step].set_exception(TaskError(code, retryable=False))

    async def start(self, document: Object, input: JSON = None, **more: JSON) -> InstanceRef:
        """Deploy a document and start it."""
        await self.app.deploy(document)
        return await self.app.start(str(document["id"]), input, **more)  # type: ignore[arg-type]

    async def until(self, ref: InstanceRef, step: str, status: str) -> None:
        """Return once a step of an instance has a status; looks again after every change."""
        changed = asyncio.Event()
        stop = self.app.engine.listen(lambda _: changed.set())
        try:
            while await step_status(ref, step) != status:
                await changed.wait()
                changed.clear()
        finally:
            stop()


async def step_status(ref: InstanceRef, step: str) -> str:
    state = await ref.state()
    steps = state["steps"]
    assert isinstance(steps, dict)
    found = steps[step]
    assert isinstance(found, dict)
    return str(found["status"])


@asynccontextmanager
async def office(settings: Settings | None = None) -> AsyncIterator[Office]:
    async with Tenuto(settings=settings, clock=Ticking()) as app:
        yield Office(app)
