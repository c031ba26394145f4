"""Requests to one target, over processes that share a store: none beyond its limits is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.model.task_definition import BreakerPolicy, TaskLimits
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.targets import gate as gates
from tenuto.targets.gate import Gate, NotAdmitted, Passage
from tenuto.targets.names import target_key
from tenuto.targets.state import TargetPolicy
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.kit.breadth import breadth

HOST = target_key("acme", "http", "api.example.com")
PLACE = ("i1", "call", "", 1)


class World:
    """Gates of several processes on one store, in virtual time."""

    def __init__(self, *, shared: bool = True, seed: int = 1) -> None:
        self.loop = VirtualLoop(Random(seed))
        self.clock = VirtualClock(self.loop, Wall())
        self.ids = SeededIds(Random(seed))
        self.disk = MemoryDisk()
        self._shared = shared
        self.under_way = self.most = self.sent = 0
        self.stores: list[MemoryStore] = []

    async def gate(self) -> Gate:
        store = MemoryStore(self.disk, shared=self._shared)
        self.stores.append(store)
        await store.open(self.ids.short(), self.clock.now())
        return Gate(store, self.clock, self.ids)

    async def request(
        self,
        gate: Gate,
        policy: TargetPolicy,
        seconds: float = 1.0,
        *,
        is_well: bool | None = True,
    ) -> None:
        passage = await gate.enter(HOST, policy)
        assert isinstance(passage, Passage)
        self.under_way += 1
        self.sent += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.clock.sleep(seconds)
        finally:
            self.under_way -= 1
            gate.leave(passage, is_well=is_well)

    async def rows(self) -> bytes | None:
        row = await self.stores[0].tasks.target(*HOST)
        return None if row is None else row.state


def played(
    story: Callable[[World], Coroutine[Any, Any, None]], *, shared: bool = True, seed: int = 1
) -> None:
    world = World(shared=shared, seed=seed)
    try:
        world.loop.run_until_complete(story(world))
    finally:
        world.loop.discard_tasks()


def policy(
    concurrency: int = 200, rate: float | None = None, failures: int = 3, open_for: float = 10_000
) -> TargetPolicy:
    return TargetPolicy(
        TaskLimits(concurrency=concurrency, rate_per_second=rate),
        BreakerPolicy(failures=failures, open_for=open_for),
    )


@pytest.mark.parametrize("concurrency", [1, 3, 40])
def test_the_processes_together_keep_the_concurrency_of_a_target(concurrency: int) -> None:
    async def story(world: World) -> None:
        gates = [await world.gate() for _ in range(3)]
        limited = policy(concurrency)
        requests = (
            world.request(gates[number % 3], limited, 0.05 * (1 + number % 7))
            for number in range(150)
        )
        await asyncio.gather(*requests)
        assert world.sent == 150
        assert world.most <= concurrency
        assert world.most >= concurrency / 2

    played(story)


def test_requests_of_one_target_are_admitted_in_order_of_arrival() -> None:
    async def story(world: World) -> None:
        gate, order = await world.gate(), list[int]()

        async def one(number: int) -> None:
            await world.request(gate, policy(1), 0.01)
            order.append(number)

        waiting = list[asyncio.Future[None]]()
        for number in range(20):
            waiting.append(asyncio.ensure_future(one(number)))
            await world.clock.sleep(0.0001)
        await asyncio.gather(*waiting)
        assert order == list(range(20))

    played(story)


@pytest.mark.parametrize("concurrency", [1, 2, 5])
def test_a_busy_process_leaves_others_their_part(concurrency: int) -> None:
    async def story(world: World) -> None:
        busy, other = await world.gate(), await world.gate()
        limited = policy(concurrency)
        crowd = [
            asyncio.ensure_future(world.request(busy, limited, 0.1))
            for _ in range(concurrency * 100)
        ]
        await world.clock.sleep(2)
        async with asyncio.timeout(10):
            await asyncio.gather(
                *(world.request(other, limited, 0.1) for _ in range(concurrency * 5))
            )
        assert not all(each.done() for each in crowd)
        assert world.most <= concurrency
        await asyncio.gather(*crowd)

    played(story)


def test_the_processes_together_keep_the_rate_of_a_target() -> None:
    async def story(world: World) -> None:
        gates = [await world.gate() for _ in range(2)]
        began = world.clock.now()
        await asyncio.gather(
            *(world.request(gates[number % 2], policy(rate=10), 0.0) for number in range(60))
        )
        seconds = (world.clock.now() - began).total_seconds()
        assert 5.0 <= seconds <= 7.0

    played(story)


def test_a_breaker_that_one_process_opened_holds_the_others_within_a_second() -> None:
    async def story(world: World) -> None:
        one, other = await world.gate(), await world.gate()
        await world.request(other, policy(), 0.0)  # it has a share, and admits on it
        for _ in range(3):
            await world.request(one, policy(), 0.0, is_well=False)
        await world.clock.sleep(1.1)
        sent = world.sent
        waiting = asyncio.ensure_future(world.request(other, policy(), 0.0))
        await world.clock.sleep(5)
        assert world.sent == sent
        assert other.waiting() == {("http", "breaker"): 1}
        await waiting  # the probe
        await world.clock.sleep(6)
        assert one.open_breakers("acme") == {}

    played(story)


def test_one_probe_is_sent_for_all_processes() -> None:
    async def story(world: World) -> None:
        gates = [await world.gate() for _ in range(3)]
        for _ in range(3):
            await world.request(gates[0], policy(), 0.0, is_well=False)
        await world.clock.sleep(0.1)
        waiting = [
            asyncio.ensure_future(world.request(gates[number % 3], policy(), 5.0, is_well=False))
            for number in range(9)
        ]
        await world.clock.sleep(12)
        assert world.sent == 4
        await world.clock.sleep(15)
        assert world.sent == 5
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    played(story)


def test_a_cancelled_probe_makes_room_for_another() -> None:
    async def story(world: World) -> None:
        gate = await world.gate()
        for _ in range(3):
            await world.request(gate, policy(), 0.0, is_well=False)
        probe = asyncio.ensure_future(world.request(gate, policy(), 60.0, is_well=None))
        await world.clock.sleep(11)
        assert world.sent == 4
        probe.cancel()
        await asyncio.gather(probe, return_exceptions=True)
        await world.request(gate, policy(), 0.0)
        assert world.sent == 5

    played(story)


def test_a_request_without_the_time_for_it_does_not_wait_for_a_breaker() -> None:
    async def story(world: World) -> None:
        gate = await world.gate()
        for _ in range(3):
            await world.request(gate, policy(), 0.0, is_well=False)
        refused = await gate.enter(HOST, policy(), seconds=5)
        assert isinstance(refused, NotAdmitted)
        assert 9 < refused.seconds <= 10
        admitted = await gate.enter(HOST, policy(), seconds=11)
        assert isinstance(admitted, Passage)

    played(story)


def test_waiting_requests_say_what_they_wait_for() -> None:
    async def story(world: World) -> None:
        gate = await world.gate()
        for limited, obstacle in (
            (policy(1), "concurrency"),
            (policy(rate=0.5), "rate"),
            (policy(failures=1), "breaker"),
        ):
            key = target_key("acme", "http", f"{obstacle}.example.com")
            first = await gate.enter(key, limited)
            assert isinstance(first, Passage)
            if obstacle == "breaker":
                gate.leave(first, is_well=False)
            second = asyncio.ensure_future(gate.enter(key, limited, place=PLACE))
            await world.clock.sleep(0.5)
            [wait] = gate.waits("i1").values()
            assert (wait.obstacle, wait.target) == (obstacle, f"{obstacle}.example.com")
            assert (wait.until is None) == (obstacle == "concurrency")
            assert gate.waits("i2") == {}
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)
            assert gate.waits("i1") == {}

    played(story)


def test_a_cancelled_waiter_takes_no_place() -> None:
    async def story(world: World) -> None:
        gate = await world.gate()
        first = await gate.enter(HOST, policy(1))
        waiting = [asyncio.ensure_future(gate.enter(HOST, policy(1))) for _ in range(3)]
        await world.clock.sleep(0.5)
        assert isinstance(first, Passage)
        waiting[0].cancel()
        gate.leave(first, is_well=True)
        waiting[1].cancel()  # admitted, or about to be
        await asyncio.gather(*waiting[:2], return_exceptions=True)
        assert isinstance(await waiting[2], Passage)

    played(story)


def test_waiters_that_are_cancelled_while_others_are_admitted_take_no_place() -> None:
    async def story(world: World) -> None:
        gate = await world.gate()
        for _ in range(30):
            first = await gate.enter(HOST, policy(1, failures=1, open_for=50))
            assert isinstance(first, Passage)
            waiting = [
                asyncio.ensure_future(gate.enter(HOST, policy(1, failures=1, open_for=50)))
                for _ in range(6)
            ]
            await world.clock.sleep(0.01)
            gate.leave(first, is_well=False)
            for number, each in enumerate(waiting[:5]):
                world.loop.call_later(0.01 * (number + 1), each.cancel)
            found = await asyncio.gather(*waiting, return_exceptions=True)
            for ended in found:
                if isinstance(ended, Passage):
                    gate.leave(ended, is_well=True)
            assert not any(isinstance(ended, ValueError) for ended in found)
        assert gate.under_way() == {("http",): 0}

    played(story)


def test_the_share_of_a_dead_process_is_free_after_a_while() -> None:
    async def story(world: World) -> None:
        dead, alive = await world.gate(), await world.gate()
        assert isinstance(await dead.enter(HOST, policy(1)), Passage)
        for target in dead._targets.values():
            assert target.server is not None
            target.server.cancel()
        waiting = asyncio.ensure_future(alive.enter(HOST, policy(1)))
        await world.clock.sleep(10)
        assert not waiting.done()
        await world.clock.sleep(10)
        assert waiting.done()

    played(story)


@pytest.mark.parametrize("shared", [True, False])
def test_a_target_that_is_not_used_leaves_no_row(*, shared: bool) -> None:
    async def story(world: World) -> None:
        gate = await world.gate()
        for is_well in (True, False):
            await world.request(gate, policy(), 0.0, is_well=is_well)
        await world.clock.sleep(200)
        assert await world.rows() is None
        assert gate.breakers() == {}

    played(story, shared=shared)


def test_a_gate_that_closes_gives_its_share_back() -> None:
    async def story(world: World) -> None:
        gate = await world.gate()
        await world.request(gate, policy(), 0.0)
        assert await world.rows() is not None
        await gate.close()
        assert await world.rows() is None

    played(story)


def test_alone_only_the_breaker_is_written_and_the_next_process_knows_it() -> None:
    async def story(world: World) -> None:
        gate = await world.gate()
        await world.request(gate, policy(), 0.0)
        assert await world.rows() is None
        for _ in range(3):
            await world.request(gate, policy(open_for=600_000), 0.0, is_well=False)
        await world.clock.sleep(0.1)
        assert await world.rows() is not None
        await world.stores[0].close(world.clock.now(), clean=False)
        again = await world.gate()
        assert isinstance(await again.enter(HOST, policy(), seconds=60), NotAdmitted)

    played(story, shared=False)


def test_many_requests_cost_few_writes() -> None:
    async def story(world: World) -> None:
        gate = await world.gate()
        put, writes = world.stores[0].tasks.put_target, 0

        async def counted(*given: Any) -> bool:  # noqa: ANN401 - as the store has it
            nonlocal writes
            writes += 1
            return await put(*given)

        world.stores[0].tasks.put_target = counted  # type: ignore[method-assign,assignment]
        for _ in range(20):
            await asyncio.gather(*(world.request(gate, policy(), 0.05) for _ in range(50)))
        assert world.sent == 1_000
        assert writes <= 10

    played(story)


def test_a_store_that_stumbles_delays_requests_and_loses_no_outcome() -> None:
    async def story(world: World) -> None:
        gate = await world.gate()
        tasks = world.stores[0].tasks
        put, left = tasks.put_target, 3

        async def stumbles(*given: Any) -> bool:  # noqa: ANN401 - as the store has it
            nonlocal left
            left -= 1
            if left >= 0:
                raise StoreUnavailable("away for a moment")
            return await put(*given)

        tasks.put_target = stumbles  # type: ignore[method-assign,assignment]
        await world.request(gate, policy(), 0.0)
        assert left < 0
        left = 3
        for _ in range(3):
            await world.request(gate, policy(), 0.0, is_well=False)
        await world.clock.sleep(30)
        assert gate.open_breakers("acme").keys() == {HOST[1]}

    played(story)


@pytest.mark.parametrize("seed", range(breadth(12, 400)))
def test_whatever_requests_do_limits_hold_and_every_one_of_them_ends(seed: int) -> None:
    """Requests succeed, fail and are cancelled, in processes whose store stumbles."""
    random = Random(seed)
    concurrency = random.choice([1, 2, 7, 60])
    limited = policy(concurrency, random.choice([None, None, 40.0]), 4, open_for=300)

    async def story(world: World) -> None:
        gates = [await world.gate() for _ in range(random.choice([1, 2, 3]))]
        for store in world.stores:
            _stumbling(store, random)
        requests = list[asyncio.Task[None]]()
        for _ in range(120):
            is_well = random.choice([True, True, True, False, None])
            request = world.request(
                random.choice(gates), limited, random.random() / 10, is_well=is_well
            )
            requests.append(asyncio.ensure_future(request))
            if random.random() < 0.3:
                world.loop.call_later(random.random() / 5, requests[-1].cancel)
            if random.random() < 0.5:
                await world.clock.sleep(random.random() / 20)
        # A probe that was lost is repeated after a minute.
        async with asyncio.timeout(3_600):
            await asyncio.gather(*requests, return_exceptions=True)
        assert world.most <= concurrency
        assert world.under_way == 0
        assert all(gate.under_way()["http",] == 0 for gate in gates)
        for gate in gates:
            await gate.close()

    played(story, seed=seed)


def _stumbling(store: MemoryStore, random: Random) -> None:
    put = store.tasks.put_target

    async def stumbles(*given: Any) -> bool:  # noqa: ANN401 - as the store has it
        if random.random() < 0.1:
            raise StoreUnavailable("away for a moment")
        is_put = await put(*given)
        if random.random() < 0.05:
            raise StoreUnavailable("the answer is lost")
        return is_put

    store.tasks.put_target = stumbles  # type: ignore[method-assign,assignment]


def test_thousands_of_waiters_leave_in_any_order_without_a_look_at_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stop cancels all of them."""
    looks = 0

    class Watched(gates._Waiter, frozen=True, eq=False):
        __hash__ = object.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal looks
            looks += 1
            return self is other

    monkeypatch.setattr(gates, "_Waiter", Watched)

    async def story(world: World) -> None:
        gate, limited = await world.gate(), policy(1)
        holding = asyncio.ensure_future(world.request(gate, limited, 1_000))
        await world.clock.sleep(1)
        waiting = [asyncio.ensure_future(gate.enter(HOST, limited)) for _ in range(1_000)]
        await world.clock.sleep(1)
        for each in reversed(waiting):
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert looks < 1_000
        assert not gate.waiting()
        await holding

    played(story)
