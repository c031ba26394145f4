"""Suspects: recorded once for a process, quarantined by the second, gone with their instance."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.store.parts.quarantine import Suspect
from tenuto.store.protocol import Store
from tests.store.situations import begin, moment, turn

pytestmark = pytest.mark.asyncio

FIRST = Suspect(
    instance_id="i1", place="TimerDue a", process_id="p1", at=moment(5), reason="it died"
)


async def test_the_death_of_a_second_process_quarantines_and_one_counts_once(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    for _ in range(2):
        await store.quarantine.suspect(FIRST)
    there = replace(FIRST, tenant="default")
    assert await store.quarantine.suspects() == [there]
    second = replace(FIRST, process_id="p2", place="AttemptLost a", at=moment(9))
    for later in (second, replace(FIRST, process_id="p3")):
        await store.quarantine.suspect(later)
    quarantined = replace(second, tenant="default", is_quarantined=True)
    assert await store.quarantine.suspects() == [quarantined]


async def test_one_that_is_cleared_begins_anew(store: Store) -> None:
    await store.quarantine.suspect(replace(FIRST, is_quarantined=True))
    assert [each.tenant for each in await store.quarantine.suspects()] == [""]
    assert await store.quarantine.clear("i1")
    assert not await store.quarantine.clear("i1")
    await store.quarantine.suspect(FIRST)
    assert await store.quarantine.suspects() == [FIRST]
