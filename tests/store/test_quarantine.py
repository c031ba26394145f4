"""Suspects: recorded once for a process, quarantined by the second that died of the same."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.store.parts.quarantine import Suspect
from tenuto.store.protocol import Store
from tests.store.situations import begin, moment, turn

pytestmark = pytest.mark.asyncio

FIRST = Suspect(
    instance_id="i1", place="TimerDue a", process_id="p1", at=moment(5), reason="it died", version=7
)


async def test_the_second_death_at_the_same_place_quarantines_and_one_counts_once(
    store: Store,
) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    for _ in range(2):
        await store.quarantine.suspect(FIRST)
    there = replace(FIRST, tenant="default")
    assert await store.quarantine.suspects() == [there]
    second = replace(FIRST, process_id="p2", at=moment(9), version=8)
    for later in (second, replace(FIRST, process_id="p3")):
        await store.quarantine.suspect(later)
    quarantined = replace(second, tenant="default", is_quarantined=True, deaths=2)
    assert await store.quarantine.suspects() == [quarantined]


async def test_deaths_at_two_different_places_make_a_suspect_of_the_second(store: Store) -> None:
    await store.quarantine.suspect(FIRST)
    second = replace(FIRST, process_id="p2", place="CancelAsked")
    await store.quarantine.suspect(second)
    assert await store.quarantine.get("i1") == replace(second, deaths=2)


@pytest.mark.parametrize(("version", "is_quarantined"), [(7, True), (8, False)])
async def test_a_death_in_the_recovery_counts_if_nothing_was_logged_in_between(
    store: Store, version: int, is_quarantined: bool
) -> None:
    await store.quarantine.suspect(FIRST)
    second = replace(FIRST, process_id="p2", place="AttemptLost a", version=version)
    await store.quarantine.suspect(second, is_recovery=True)
    found = await store.quarantine.get("i1")
    assert found == replace(second, is_quarantined=is_quarantined, deaths=2)


async def test_the_third_death_quarantines_wherever_it_was(store: Store) -> None:
    for number, place in enumerate(("TimerDue a", "CancelAsked", "TaskSucceeded b")):
        await store.quarantine.suspect(replace(FIRST, process_id=f"p{number}", place=place))
    [found] = await store.quarantine.suspects()
    assert (found.is_quarantined, found.deaths) == (True, 3)


async def test_a_process_that_was_killed_for_it_quarantines_at_once(store: Store) -> None:
    await store.quarantine.suspect(FIRST)
    hung = replace(FIRST, process_id="p2", place="CancelAsked", is_quarantined=True)
    await store.quarantine.suspect(hung)
    assert await store.quarantine.get("i1") == replace(hung, deaths=2)


async def test_one_that_is_cleared_begins_anew(store: Store) -> None:
    await store.quarantine.suspect(replace(FIRST, is_quarantined=True))
    assert [each.tenant for each in await store.quarantine.suspects()] == [""]
    assert await store.quarantine.clear("i1")
    assert not await store.quarantine.clear("i1")
    assert await store.quarantine.get("i1") is None
    await store.quarantine.suspect(FIRST)
    assert await store.quarantine.suspects() == [FIRST]
