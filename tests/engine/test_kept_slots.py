"""Slots of the service that are kept for tenants without one: these begin beside a long queue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from tenuto import Tenuto
from tenuto.engine.limits.free_slots import FreeSlots
from tenuto.engine.limits.slot_hints import SlotHints
from tenuto.engine.turns.sharing import Sharing
from tenuto.engine.turns.slot_rows import Counted
from tenuto.model.effects import AskSlot, ReleaseSlot
from tenuto.model.errors import StoreUnavailable
from tenuto.model.json import Object
from tenuto.store.parts.slot_rows import NO_LIMIT
from tenuto.testing.wrapped_store import Call
from tenuto.workspace.engine_workspace import EngineWorkspace
from tests.engine.situations import at_rest
from tests.engine.test_free_slots import STORES, slots_of
from tests.kit.scripted_store import ScriptedStore

LIMIT, QUEUED = 8, 20
ONE: Object = {"id": "one", "steps": [{"stepId": "work", "type": "TASK", "taskId": "work"}]}


async def held(app: Tenuto, tenant: str) -> int:
    return len(await app.engine.store.slots.held(tenant))


@pytest.mark.asyncio
@pytest.mark.parametrize("url", STORES)
async def test_another_tenant_begins_at_once_beside_a_long_queue(url: str, tmp_path: Path) -> None:
    ends = [asyncio.Event() for _ in range(QUEUED)]
    is_shared = True
    async with Tenuto(url.format(tmp_path)) as app:

        @app.task
        async def work(input: int) -> None:
            if input < QUEUED:
                await ends[input].wait()

        with patch.object(Sharing, "was_shared_lately", property(lambda _: is_shared)):
            await app.limits.set({"globalMaxConcurrent": LIMIT})
            long, small = (
                EngineWorkspace(app.engine, app.bulk_runner, tenant=name)
                for name in ("long", "small")
            )
            for tenant in (long, small):
                await tenant.deploy(ONE)
            queued = [await long.start("one", n) for n in range(QUEUED)]
            for n in range(4):
                ends[n].set()
                await queued[n].result(30)
            await at_rest(app)
            assert await held(app, "long") == LIMIT - 2

            one = await small.start("one", QUEUED)
            await one.result(30)
            assert await slots_of(one) == ["held"], "it took one, and asked for none"
            assert await held(app, "long") == LIMIT - 2
            explained = await queued[-1].explain()
            assert (
                "global 6 of 8 (free ones are kept for tenants with less than their share)"
                in str(explained)
            )

            # No other tenant is at work any more: a pass a little later keeps nothing.
            is_shared = False
            await until(app, lambda: held(app, "long"), LIMIT)
            for end in ends:
                end.set()
            for each in queued:
                await each.result(30)
        await at_rest(app)
        assert await app.engine.store.slots.held("long") == []


async def until(app: Tenuto, look: Callable[[], Awaitable[int]], wanted: int) -> None:
    changed = asyncio.Event()
    stop = app.engine.listen(lambda _: changed.set())
    while await look() != wanted:
        changed.clear()
        await changed.wait()
    stop()


def counted(tenant: str) -> Counted:
    return Counted((f"type:{tenant}/one", f"tenant:{tenant}", "global"))


@pytest.mark.asyncio
async def test_each_tenant_takes_one_kept_slot_until_the_next_pass() -> None:
    async with Tenuto() as app:
        await app.limits.set({"globalMaxConcurrent": LIMIT})
        free: FreeSlots = app.engine.turns.free
        free.counted({"global": NO_LIMIT})
        assert not free.take(counted("a")), "rows wait, and none is kept"
        free.keep(2, {"tenant:long"})
        took = [free.take(counted(tenant)) for tenant in ("long", "a", "a", "b", "c")]
        assert took == [False, True, False, True, False]
        free.keep(2, {"tenant:long"})
        assert free.take(counted("a"))
        free.refused([])
        assert not free.take(counted("b")), "the store has found none: a pass counts anew"


def test_slots_that_are_given_back_wait_while_passes_rest_and_requests_do_not() -> None:
    hints = SlotHints()
    given_back = ReleaseSlot()
    hints.follow(given_back)
    hints.rest(is_resting=True)
    hints.follow(given_back)
    assert not hints.event.is_set()
    hints.follow(AskSlot(number=1))
    assert hints.event.is_set()
    hints.rest(is_resting=True)
    assert hints.event.is_set(), "the request came while the pass was made"
    assert hints.take() == (True, 2)
    hints.rest(is_resting=False)
    hints.event.clear()
    hints.follow(given_back)
    assert hints.event.is_set()


def test_a_slot_that_is_given_back_during_the_pass_after_a_rest_has_another_pass() -> None:
    hints = SlotHints()
    hints.rest(is_resting=True)
    hints.take()
    hints.follow(ReleaseSlot())
    assert not hints.event.is_set()
    hints.rest(is_resting=False)
    assert hints.event.is_set()


@pytest.mark.asyncio
async def test_a_request_is_looked_at_again_after_a_pass_that_met_an_unavailable_store() -> None:
    """Also where the pass before has kept slots, and makes no other without a cause."""
    refused = 0

    class Away(ScriptedStore):
        async def on_slots_admit(self, call: Call) -> object:
            nonlocal refused
            if not refused:
                refused += 1
                raise StoreUnavailable("gone")
            return await call()

    async with Tenuto(Away()) as app:
        admissions = app.engine.admissions
        admissions._has_kept, admissions._is_more, refused = True, False, 0
        admissions.hint()
        with pytest.raises(StoreUnavailable):
            await admissions.run_once()
        passed = admissions._passed_at
        await admissions.run_once()
        assert admissions._passed_at > passed
