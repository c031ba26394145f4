"""`python -m tests.crash.load FOLDER INSTANCES`: a real process with work to do, made to be killed.

It goes on where the one before was killed: starts what was not yet acknowledged, waits for every
instance to end, and leaves. Tasks write each call into a ledger that is synced before they go on;
starts are written down once they were acknowledged.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from tenuto.app import Tenuto
from tenuto.model.errors import WorkflowFailed
from tenuto.store.parts.turns import Turn, TurnResult
from tenuto.tasks.context import Context
from tests.crash.gauge import Gauge
from tests.kit.checker.record import Fields
from tests.kit.workload import Document
from tests.kit.workload.drawing import document, edges, task

AT_ONCE = 60
"""So many instances are under way at the same time."""


def definition() -> Document:
    """Fan out, join, one step more."""
    arms = [f"arm{number}" for number in range(4)]
    nodes = [task("top"), *(task(arm) for arm in arms), task("join"), task("last")]
    return document("load", nodes, edges(*(f"top > {arm} > join" for arm in arms), "join > last"))


def deadly() -> Document:
    """Its one step ends the process that runs it."""
    return document("deadly", [task("fatal", "die")], [])


class Ledger:
    """Lines of JSON, each on the disk before the next thing happens."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, **entry: object) -> None:
        os.write(self._file, json.dumps(entry).encode() + b"\n")
        os.fdatasync(self._file)


def read(path: Path) -> list[Fields]:
    """The lines of a ledger; one that was cut off by the kill never counted."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    return [json.loads(line) for line in lines]


class Load:
    """The process's work."""

    def __init__(self, folder: Path, instances: int) -> None:
        self._instances = instances
        self._effects = Ledger(folder / "effects")
        self._client = Ledger(folder / "client")
        self._accepted = {
            str(line["key"]): str(line["instance"]) for line in read(folder / "client")
        }
        self._gauge = Gauge(folder / "gauge")
        self._gauge.reset()
        self._room = asyncio.Semaphore(AT_ONCE)
        self._app = Tenuto(f"sqlite:///{folder / 'tenuto.db'}")
        self._app.task(name="work")(self._work)
        self._app.task(name="die")(self._die)
        self._watch_commits()

    async def run(self, *, with_a_deadly_one: bool) -> None:
        async with self._app:
            await self._app.deploy(definition())
            jobs = [self._see_through("load", f"key {n}", n) for n in range(self._instances)]
            if with_a_deadly_one:
                await self._app.deploy(deadly())
                jobs.append(self._see_through("deadly", "deadly", 0))
            await asyncio.gather(*jobs)

    async def _see_through(self, workflow: str, key: str, k: int) -> None:
        async with self._room:
            if key in self._accepted:
                instance = await self._app.instance(self._accepted[key])
            else:
                given: Fields = {"k": k, "flag": True}
                instance = await self._app.start(workflow, given, key=key)
                self._client.write(key=key, instance=instance.id, input=given)
            try:
                await instance.result()
            except WorkflowFailed:
                assert workflow == "deadly"

    async def _work(self, ctx: Context) -> Fields:
        self._note(ctx, "running")
        self._gauge.add(in_flight=1)
        await asyncio.sleep(0.05)
        output: Fields = {"node": ctx.step_id, "attempt": ctx.attempt}
        self._note(ctx, "completed", output=output)
        self._gauge.add(in_flight=-1, completed=1)
        return output

    async def _die(self, ctx: Context) -> None:
        self._note(ctx, "running")
        await asyncio.sleep(0.3)
        os._exit(9)

    def _note(self, ctx: Context, outcome: str, **more: object) -> None:
        self._effects.write(
            key=ctx.idempotency_key,
            instance=ctx.instance_id,
            node=ctx.step_id,
            attempt=ctx.attempt,
            outcome=outcome,
            **more,
        )

    def _watch_commits(self) -> None:
        store = self._app.engine.store
        commit = store.turns.commit

        async def watched(turn: Turn, lane: int = 0) -> TurnResult:
            self._gauge.add(committing=1)
            try:
                return await commit(turn, lane)
            finally:
                self._gauge.add(committing=-1)

        store.turns.commit = watched  # type: ignore[method-assign]


def main(arguments: list[str]) -> None:
    folder, instances, *rest = arguments
    load = Load(Path(folder), int(instances))
    asyncio.run(load.run(with_a_deadly_one=bool(rest)))


if __name__ == "__main__":
    main(sys.argv[1:])
