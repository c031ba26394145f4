"""`python -m tests.crash.postgres.worker ORDERS`: one real engine process, made to be killed.

It does what it is told by lines of JSON on its standard input, answers each on its standard output
once the engine has, and lives until it is told to stop. What was answered was acknowledged: the
other side keeps the book. Tasks write each call into a ledger that is synced before they go on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import msgspec

from tenuto.app import Tenuto
from tenuto.engine.settings import Settings
from tenuto.model.errors import TaskError, TenutoError
from tenuto.model.inputs import TaskSucceeded
from tenuto.store.postgres import PostgresStore
from tenuto.tasks.context import Context
from tenuto.workspace.engine_workspace import EngineWorkspace
from tests.crash.load import Ledger
from tests.crash.postgres import limited
from tests.crash.postgres.documents import documents
from tests.kit.checker.record import Fields
from tests.kit.stacks import show_stacks_when_asked


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is told when it starts."""

    url: str
    folder: str
    beat_every: float = 3.0
    dead_after: float = 9.0
    work_takes: float = 0.05
    mail_every: float = 2.0
    is_limited: bool = False
    """Whether it has the workflows under limits, of several tenants."""


class Worker:
    """An engine, and how it is spoken to."""

    def __init__(self, orders: Orders) -> None:
        self._effects = Ledger(Path(orders.folder) / "effects")
        self._work_takes = orders.work_takes
        self._store = PostgresStore(
            orders.url,
            beat_every=timedelta(seconds=orders.beat_every),
            dead_after=timedelta(seconds=orders.dead_after),
        )
        self._app = Tenuto(
            self._store,
            settings=Settings(
                mail_every=orders.mail_every,
                watch_every=0.2,
                project_every=0.5,
                report_block_after=60,
                stop_grace=0.2,
            ),
        )
        self._app.task(name="work")(self._work)
        self._app.task(name="hold")(self._hold)
        self._app.task(name="flaw")(self._flaw)
        self._app.task(name="quick")(self._quick)
        self._is_limited = orders.is_limited
        self._held: dict[tuple[str, str, int], asyncio.Future[bool]] = {}
        """By instance, step and attempt: the next attempt may begin before one that is cancelled
        has noticed."""
        self._jobs: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._verbs: dict[str, Callable[[Fields], Awaitable[Fields]]] = {
            "start": self._start,
            "end": self._end,
            "rerun": self._rerun,
            "publish": self._publish,
            "decide": self._decide,
            "release": self._release,
            "report": self._report,
            "holds": self._holds,
            "who": self._who,
            "schedule": self._schedule,
            "pause-schedule": self._pause_schedule,
            "limits": self._limits,
            "stop": self._stop,
            **dict.fromkeys(("cancel", "pause", "resume", "retry"), self._command),
        }

    async def run(self) -> None:
        show_stacks_when_asked()
        lines = asyncio.StreamReader(limit=2**24)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
        )
        async with self._app:
            for each in () if self._is_limited else documents().values():
                await self._app.deploy(each)
            for tenant in limited.TENANTS if self._is_limited else ():
                for each in limited.documents().values():
                    await self._app.workspace(tenant, "test").deploy(each)
            _say({"ready": self._app.engine.process_id})
            reading = asyncio.create_task(self._read(lines))
            await self._stopping.wait()
            reading.cancel()
        _say({"stopped": True})

    async def _read(self, lines: asyncio.StreamReader) -> None:
        while line := await lines.readline():
            job = asyncio.create_task(self._do(json.loads(line)))
            self._jobs.add(job)
            job.add_done_callback(self._jobs.discard)
        # Whoever gave orders is gone.
        os._exit(1)

    async def _do(self, asked: Fields) -> None:
        if "at" in asked:
            # Everybody who was told the same moment begins at once.
            await asyncio.sleep(asked["at"] - time.time())
        try:
            answer: Fields = {"ok": await self._verbs[str(asked["op"])](asked)}
        except TenutoError as error:
            answer = {"refused": type(error).__name__, "code": error.code, "why": str(error)}
        except Exception as error:
            logging.getLogger("worker").exception("%s", asked)
            answer = {"refused": type(error).__name__, "code": "", "why": repr(error)}
        _say({"n": asked["n"], **answer})

    async def _start(self, asked: Fields) -> Fields:
        by = self._workspace(asked)
        started = await by.start(asked["workflow"], asked["input"], key=asked.get("key"))
        return {"instance": started.id}

    def _workspace(self, asked: Fields) -> EngineWorkspace:
        if "tenant" not in asked:
            return self._app
        return self._app.workspace(asked["tenant"], asked.get("user", "test"))

    async def _limits(self, asked: Fields) -> Fields:
        """Set limits of the service and of tenants, whatever they were."""
        limits = dict(asked["limits"])
        service = limits.pop("")
        for tenant, own in limits.items():
            await self._app.workspace(tenant, "test").limits.set({**service, **own})
        return {}

    async def _schedule(self, asked: Fields) -> Fields:
        schedules = self._app.engine.schedules
        row = await schedules.save("default", asked["document"], by=None)
        return {"revision": row.revision}

    async def _pause_schedule(self, asked: Fields) -> Fields:
        row = await self._app.engine.schedules.pause("default", asked["id"], by=None)
        return {"status": row.status}

    async def _end(self, asked: Fields) -> Fields:
        held = await self._app.engine.final_state(asked["instance"])
        return {"status": held.state.status.value}

    async def _command(self, asked: Fields) -> Fields:
        instance = await self._workspace(asked).instance(asked["instance"])
        status = await getattr(instance, asked["op"])()
        return {"status": status.value}

    async def _rerun(self, asked: Fields) -> Fields:
        instance = await self._app.instance(asked["instance"])
        return {"instance": (await instance.rerun()).id}

    async def _decide(self, asked: Fields) -> Fields:
        instance = await self._app.instance(asked["instance"])
        status = await instance.decide(asked["node"], asked["decision"], by=asked["by"])
        return {"status": status.value}

    async def _publish(self, asked: Fields) -> Fields:
        done = await self._app.publish(asked["pattern"], asked["payload"], id=asked["event"])
        return {"resumed": done.resumed, "duplicate": done.duplicate}

    async def _release(self, asked: Fields) -> Fields:
        """Let held tasks of an instance end, well or badly; how many there were."""
        wanted = (asked["instance"], asked["nodes"])
        found = [place for place in self._held if place[0] == wanted[0] and place[1] in wanted[1]]
        for place in found:
            held = self._held.pop(place)
            if not held.done():
                held.set_result(bool(asked.get("well", True)))
        return {"released": len(found)}

    async def _report(self, asked: Fields) -> Fields:
        """The result of a task that runs somewhere, as if it had ended here."""
        instance, node, attempt = asked["instance"], asked["node"], asked["attempt"]
        output: Fields = {"node": node, "attempt": attempt}
        place: Fields = {"instance": instance, "node": node, "attempt": attempt}
        self._effects.write(**place, outcome="completed", output=output)
        result = TaskSucceeded(node=node, iteration="", attempt=attempt, output=output)
        self._app.engine.effects.reported(instance, result)
        return {}

    async def _holds(self, asked: Fields) -> Fields:
        return {"holds": sum(instance in asked["instances"] for instance, _, _ in self._held)}

    async def _who(self, _: Fields) -> Fields:
        fault = self._app.engine.fault
        return {
            "process": self._app.engine.process_id,
            "hears": self._store.is_listening,
            "held": len(self._held),
            "fault": None if fault is None else repr(fault),
        }

    async def _stop(self, _: Fields) -> Fields:
        self._stopping.set()
        return {}

    async def _work(self, ctx: Context) -> Fields:
        self._note(ctx, "running")
        try:
            await asyncio.sleep(self._work_takes)
        except asyncio.CancelledError:
            self._note(ctx, "cancelled")
            raise
        return self._done(ctx)

    async def _hold(self, ctx: Context) -> Fields:
        self._note(ctx, "running")
        place = (ctx.instance_id, ctx.step_id, ctx.attempt)
        held = self._held[place] = asyncio.get_running_loop().create_future()
        try:
            well = await held
        except asyncio.CancelledError:
            self._held.pop(place, None)
            self._note(ctx, "cancelled")
            raise
        if well:
            return self._done(ctx)
        self._note(ctx, "failed")
        raise TaskError("TOLD", "it was told to fail", retryable=False)

    async def _quick(self, input: object) -> int:
        """It keeps no ledger."""
        await asyncio.sleep(self._work_takes)
        if isinstance(input, dict) and input.get("fails"):
            raise TaskError("TOLD", "it was told to fail", retryable=False)
        return 1

    async def _flaw(self, ctx: Context) -> Fields:
        self._note(ctx, "running")
        if ctx.attempt == 1:
            self._note(ctx, "failed")
            raise TaskError("FLAW", "the first time it fails", retryable=False)
        return self._done(ctx)

    def _done(self, ctx: Context) -> Fields:
        output: Fields = {"node": ctx.step_id, "attempt": ctx.attempt}
        self._note(ctx, "completed", output=output)
        return output

    def _note(self, ctx: Context, outcome: str, **more: object) -> None:
        self._effects.write(
            key=ctx.idempotency_key,
            instance=ctx.instance_id,
            node=ctx.step_id,
            attempt=ctx.attempt,
            outcome=outcome,
            **more,
        )


def _say(what: Fields) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def main(arguments: list[str]) -> None:
    logging.basicConfig(format="%(levelname)s %(name)s %(message)s", level=logging.INFO)
    asyncio.run(Worker(msgspec.json.decode(arguments[0], type=Orders)).run())


if __name__ == "__main__":
    main(sys.argv[1:])
