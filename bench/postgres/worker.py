"""A process of its own: says when it is ready, works when told to, says what came of it."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from uuid import UUID

from bench.engine_runs import run_all
from bench.postgres.runs import open_app
from bench.workflows import linear
from tenuto import Tenuto, task
from tenuto.engine.settings import Settings
from tenuto.model.inputs import TaskSucceeded
from tenuto.model.json import JSON
from tenuto.store.parts.turns import Outcome, Turn, TurnResult
from tenuto.store.postgres import PostgresStore
from tenuto.store.postgres.turns import PostgresTurns

STEPS = 10
FED = linear(STEPS, id="fed", task="elsewhere")
HELD = linear(1, id="held", task="held")

_may_end = asyncio.Event()


class Begun:
    """Which attempts are under way here."""

    def __init__(self) -> None:
        self._inputs: set[str] = set()
        self._wanted = 0
        self._are_enough = asyncio.Event()

    def add(self, input: str) -> None:
        self._inputs.add(input)
        if len(self._inputs) >= self._wanted:
            self._are_enough.set()

    async def reach(self, count: int) -> None:
        """Wait until there are as many."""
        self._wanted = count
        if len(self._inputs) < count:
            self._are_enough.clear()
            await self._are_enough.wait()


_begun = Begun()


@task
async def elsewhere(input: JSON) -> None:
    """Its result comes from outside."""
    await asyncio.Event().wait()


@task
async def held(input: JSON) -> None:
    """Runs until its process is killed; in the process that takes over, it is counted."""
    assert isinstance(input, dict)
    _begun.add(str(input["n"]))
    await _may_end.wait()


async def word(**facts: object) -> None:
    """Say that all is prepared, or what came of it, and wait for the word to go on."""
    print(json.dumps(facts), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


async def run_own(url: str, count: int) -> None:
    """Instances of its own, each of several no-op steps."""
    async with open_app(url, linear(STEPS)) as app:
        await run_all(app, f"linear_{STEPS}", 20)
        await word(ready=True)
        await word(seconds=await run_all(app, f"linear_{STEPS}", count))


def fed_id(number: int) -> str:
    return str(UUID(int=number + 1, version=4))


async def feed(url: str, count: int, mine: int = 0, of: int = 1) -> None:
    """Instances, of which each of the processes starts its share, and results for all of them.

    A result is given once the one before it is answered; what comes second is refused.
    """
    store = PostgresStore(url)
    turns = store.turns = CountingTurns(store._database)
    accepted: list[float] = []
    refused = 0

    async def one(app: Tenuto, number: int) -> None:
        nonlocal refused
        for step in range(STEPS):
            result = TaskSucceeded(node=f"s{step}", attempt=1, output=None)
            answer = await app.engine.ask(fed_id(number), result)
            if answer.rejection is None:
                accepted.append(time.monotonic())
            else:
                refused += 1

    async with Tenuto(store, settings=Settings(stop_grace=0.1)) as app:
        await app.deploy(FED)
        await asyncio.gather(
            *(app.start("fed", {"n": n}, instance_id=fed_id(n)) for n in range(mine, count, of))
        )
        await word(ready=True)
        began = time.monotonic()
        await asyncio.gather(*(one(app, number) for number in range(count)))
        await word(
            began=began,
            ended=max(accepted, default=began),
            accepted=len(accepted),
            refused=refused,
            lost=turns.lost,
        )


class CountingTurns(PostgresTurns):
    """Counts the writes that lost to another process."""

    lost = 0

    async def commit(self, turn: Turn, lane: int = 0) -> TurnResult:
        result = await super().commit(turn, lane)
        self.lost += sum(each.outcome is Outcome.LOST for each in result.writes.values())
        return result


async def hold(url: str, count: int) -> None:
    """Have attempts under way until somebody kills this process."""
    async with open_app(url, HELD) as app:
        for first in range(0, count, 1_000):
            await asyncio.gather(
                *(app.start("held", {"n": n}) for n in range(first, min(first + 1_000, count)))
            )
        await _begun.reach(count)
        await word(ready=True)


async def inherit(url: str, count: int) -> None:
    """Wait until as many attempts are under way here."""
    async with open_app(url, HELD):
        await word(ready=True)
        began = time.perf_counter()
        await _begun.reach(1)
        first = time.perf_counter() - began
        await _begun.reach(count)
        await word(seconds=time.perf_counter() - began, first=first)
        _may_end.set()


ROLES: dict[str, Callable[..., Awaitable[None]]] = {
    "run_own": run_own,
    "feed": feed,
    "hold": hold,
    "inherit": inherit,
}

if __name__ == "__main__":
    role, address, *numbers = sys.argv[1:]

    async def main() -> None:
        await ROLES[role](address, *map(int, numbers))

    asyncio.run(main())
