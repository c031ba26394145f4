"""Reports of load: the lowest of living processes is in force, and admission obeys it."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from tenuto.model.durations import epoch_ms
from tenuto.model.json import Object
from tenuto.model.load import LoadReport
from tenuto.store.parts.load_reports import KEPT_FOR
from tenuto.store.parts.slot_rows import KINDS, SERVICE, ConcurrencyRow
from tenuto.store.protocol import Store
from tests.store.situations import NOON
from tests.store.test_slots import ask, asked, give_back

pytestmark = pytest.mark.asyncio

RULES: Object = {"enabled": True, "min": 2, "max": 5}


def report(process_id: str, limit: int, *, seconds: float = 0) -> LoadReport:
    return LoadReport(
        process_id=process_id,
        asked=limit,
        loop_lag_ms=1,
        commit_ms=2,
        memory_percent=3,
        reason="kept",
        at_ms=epoch_ms(NOON + timedelta(seconds=seconds)),
    )


async def put(store: Store, document: Object) -> None:
    row = ConcurrencyRow(
        tenant=SERVICE, document=msgspec.json.encode(document), version=1, changed_at=NOON
    )
    assert await store.slots.put_configs([row], {SERVICE: 0})


async def test_the_lowest_limit_of_a_living_process_is_in_force(store: Store) -> None:
    assert await store.load_reports.report(report("a", 40), before=None) == 40
    assert await store.load_reports.report(report("b", 20, seconds=1), before=40) == 20
    assert await store.load_reports.report(report("a", 50, seconds=2), before=20) == 20
    assert [each.process_id for each in await store.load_reports.living(NOON)] == ["b", "a"]
    late = KEPT_FOR.total_seconds() + 1.5
    assert await store.load_reports.report(report("a", 60, seconds=late), before=20) == 60
    assert [each.asked for each in await store.load_reports.living(NOON)] == [60]  # b is forgotten
    await store.load_reports.forget("a")
    await store.load_reports.forget("a")
    assert await store.load_reports.living(NOON) == []


async def test_admission_grants_up_to_the_adaptive_limit_and_goes_on_when_it_rises(
    store: Store,
) -> None:
    await put(store, {"globalMaxConcurrent": 4, "resourceBasedLimits": RULES})
    await ask(store, *[asked(f"i{n}", at=n) for n in range(8)])
    assert (await store.slots.admit(NOON)).granted == 2, "as long as no process has reported"
    assert await store.load_reports.report(report("a", 3), before=None) == 3
    assert (await store.slots.admit(NOON)).granted == 1
    assert await store.load_reports.report(report("a", 5), before=3) == 5
    admission = await store.slots.admit(NOON + timedelta(seconds=7))
    assert admission.granted == 1, "globalMaxConcurrent is lower"
    assert admission.waits == (("global", 6_997),)
    assert await store.load_reports.report(report("a", 1), before=5) == 1
    await give_back(store, "i0")
    assert (await store.slots.admit(NOON)).granted == 0
    depths = await store.slots.depths()
    assert depths == {**dict.fromkeys(KINDS, 0), "global": 4}


async def test_a_dead_process_holds_up_nothing(store: Store) -> None:
    await put(store, {"resourceBasedLimits": RULES})
    await ask(store, *[asked(f"i{n}", at=n) for n in range(6)])
    await store.load_reports.report(report("dead", 2), before=None)
    await store.load_reports.report(report("alive", 5), before=None)
    assert (await store.slots.admit(NOON)).granted == 2
    later = KEPT_FOR.total_seconds() + 1
    await store.load_reports.report(report("alive", 5, seconds=later), before=2)
    assert (await store.slots.admit(NOON + timedelta(seconds=later))).granted == 3
