"""Attempts that wait for the event loop: tenants take turns, and what only waits is not begun."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from weakref import WeakSet

import pytest

from tenuto.built_in.protocol import Call
from tenuto.model.graph import Http
from tenuto.model.json import JSON
from tenuto.tasks import Context, Facts, Registry
from tenuto.tasks.attempt import Attempt, Outcome
from tenuto.tasks.context import BuiltInFacts
from tenuto.tasks.failures import cancelled
from tests.kit.turns import turns
from tests.tasks.stage import INSTANCE, Stage, stage
from tests.tasks.test_built_in import CONFIG, Stand

pytestmark = pytest.mark.asyncio

WIDE = 200
AT_ONCE = 3


def facts_of(tenant: str) -> Facts:
    return Facts(tenant=tenant)


def call_of(tenant: str) -> Facts:
    scope = dict.fromkeys
    facts = BuiltInFacts(tenant=tenant, config=CONFIG, scope=lambda roots: scope(roots, None))
    return Facts(tenant=tenant, built_in=facts)


class Calls:
    """Work that waits until the test ends it."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.under_way: dict[str, list[asyncio.Future[None]]] = {}

    async def __call__(self, call: Call) -> JSON:
        self.made[call.tenant] += 1
        ends = asyncio.get_running_loop().create_future()
        self.under_way.setdefault(call.tenant, []).append(ends)
        call.begin(0.0)
        await ends
        return None

    def end_one(self, tenant: str) -> None:
        self.under_way[tenant].pop(0).set_result(None)


async def test_an_attempt_does_not_wait_for_a_wide_loop_of_another_tenant() -> None:
    registry, begun = Registry(), list[str]()

    @registry.task
    async def wait(ctx: Context) -> None:
        begun.append(ctx.step_id)
        await asyncio.get_running_loop().create_future()

    async with stage(registry) as on:
        for number in range(WIDE):
            on.start("wait", node="wide", iteration=str(number), facts=facts_of("wide"))
        on.start("wait", node="small", facts=facts_of("small"))
        assert on.runner.before_loop == (WIDE + 1, 2)
        await turns(2 * WIDE)
        assert len(begun) == WIDE + 1
        assert begun.index("small") <= 1
        assert on.runner.before_loop == (0, 0)


async def test_calls_that_would_only_wait_for_a_place_of_their_tenant_are_not_made() -> None:
    calls = Calls()
    stand = Stand(calls, queues=True, calls_of_tenant=AT_ONCE)
    async with stage(Registry(), executors={Http: stand}) as on:
        for number in range(WIDE):
            on.start("@http", node="wide", iteration=str(number), facts=call_of("wide"))
        on.start("@http", node="small", facts=call_of("small"))
        await turns()
        assert calls.made == {"wide": AT_ONCE, "small": 1}
        # They wait for each other, and not for the event loop.
        assert on.runner.before_loop == (0, 0)
        calls.end_one("wide")
        await turns()
        assert calls.made["wide"] == AT_ONCE + 1
        assert on.runner.is_queued((INSTANCE, "wide", "9", 1))


async def test_a_call_that_is_stopped_before_it_was_made_leaves_its_turn_to_the_next() -> None:
    calls = Calls()
    stand = Stand(calls, queues=True, calls_of_tenant=1)
    async with stage(Registry(), executors={Http: stand}) as on:
        for number in range(4):
            on.start("@http", node="n", iteration=str(number), facts=call_of("a"))
        await turns()
        for number in (1, 2):
            on.runner.stop(INSTANCE, "n", str(number), 1)
        await turns()
        assert len(on.reports.all) == 2
        calls.end_one("a")
        await turns()
        assert calls.made["a"] == 2
        assert not on.runner.is_queued((INSTANCE, "n", "3", 1))


class Large(str):
    """An input whose end can be seen."""

    __slots__ = ("__weakref__",)


def given(on: Stage, count: int) -> WeakSet[Large]:
    """The inputs of so many calls that were started, which are held by nothing else."""
    inputs = WeakSet[Large]()
    for number in range(count):
        large = Large(number)
        inputs.add(large)
        on.start("@http", large, node="n", iteration=str(number), facts=call_of("a"))
    return inputs


@pytest.mark.parametrize("way", ["stop", "abandon"])
async def test_of_calls_that_are_stopped_while_they_are_kept_nothing_is_held(way: str) -> None:
    calls = Calls()
    stand = Stand(calls, queues=True, calls_of_tenant=1)
    async with stage(Registry(), executors={Http: stand}) as on:
        on.start("@http", node="long", facts=call_of("a"))
        await turns()
        inputs = given(on, 1_000)
        await turns()
        assert len(inputs) == 1_000
        if way == "stop":
            for number in range(1_000):
                on.runner.stop(INSTANCE, "n", str(number), 1)
        else:
            on.runner.abandon(INSTANCE)
        await turns()
        gc.collect()
        assert len(inputs) == 0
        assert calls.made["a"] == 1


async def test_calls_that_are_stopped_before_the_loop_leave_their_turns_to_the_next() -> None:
    calls = Calls()
    stand = Stand(calls, queues=True, calls_of_tenant=AT_ONCE)
    async with stage(Registry(), executors={Http: stand}) as on:
        inputs = given(on, 3 * AT_ONCE)
        on.start("@http", node="last", facts=call_of("a"))
        for number in range(3 * AT_ONCE):
            on.runner._give_up(*given_up(on, str(number)))
        gc.collect()
        assert len(inputs) == 0
        assert on.runner.before_loop == (1, 1)
        await turns()
        assert calls.made["a"] == 1
        for number in range(2 * AT_ONCE):
            on.start("@http", node="more", iteration=str(number), facts=call_of("a"))
        await turns()
        assert calls.made["a"] == AT_ONCE


def given_up(on: Stage, iteration: str) -> tuple[Attempt, Outcome]:
    attempt = on.runner._attempts[INSTANCE, "n", iteration, 1]
    return attempt, attempt.failed(cancelled())


async def test_a_call_that_is_cancelled_leaves_its_turn_to_the_next() -> None:
    calls = Calls()
    stand = Stand(calls, queues=True, calls_of_tenant=1)
    async with stage(Registry(), executors={Http: stand}) as on:
        for number in range(2):
            on.start("@http", node="n", iteration=str(number), facts=call_of("a"))
        await turns()
        on.runner.stop(INSTANCE, "n", "0", 1)
        await turns()
        assert calls.made["a"] == 2
