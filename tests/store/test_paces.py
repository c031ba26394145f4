"""Debounced requests become one, and rates are never exceeded, on every store."""

# ruff: noqa: ANN401 - what a test names is handed on as it is

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from tenuto.model.inputs import Admitted, CancelAsked
from tenuto.model.slots import Debounced, Paced
from tenuto.store.parts.paces import MOST_MOMENTS, Pace, Rates
from tenuto.store.parts.slot_rows import Admission, SlotRow
from tenuto.store.protocol import Store
from tests.store.conftest import Place
from tests.store.situations import NOON, moment
from tests.store.test_slots import ask, asked, give_back, holders, limit, messages, take

pytestmark = pytest.mark.asyncio


def debounced(
    id: str, at: int, *, period: int = 10, most: int | None = None, key: str = "k"
) -> SlotRow:
    """A start, so many seconds after noon."""
    latest = None if most is None else most * 1_000
    settling = Debounced(key=f"debounce:default/order/{key}", period=period * 1_000, max=latest)
    return _paced(id, at, Pace(debounce=settling), state="settling")


def rated(id: str, at: int = 0, *, limit: int = 2, per: int = 60, key: str = "k") -> SlotRow:
    rate = Paced(key=f"rate:default/order/{key}", limit=limit, per=per * 1_000)
    return _paced(id, at, Pace(rate=rate))


def _paced(id: str, at: int, pace: Pace, state: Any = "waiting") -> SlotRow:
    text = msgspec.json.encode(pace).decode()
    return asked(id, rank=at, asked_at=seconds(at), pace=text, state=state)


def seconds(at: float) -> datetime:
    return NOON + timedelta(seconds=at)


async def admit(store: Store, at: float) -> Admission:
    """Pass until all is done, so many seconds after noon."""
    while not (found := await store.slots.admit(NOON + timedelta(seconds=at))).is_done:
        pass
    return found


def ms(at: float) -> int:
    return int((NOON.timestamp() + at) * 1_000)


async def ended(store: Store) -> dict[str, str]:
    found = await messages(store)
    return {id: each.source for id, each in found.items() if isinstance(each, CancelAsked)}


async def test_only_the_newest_of_debounced_starts_begins_once_none_has_followed(
    store: Store,
) -> None:
    for n, at in enumerate((0, 4, 9)):
        await ask(store, debounced(f"i{n}", at))
        found = await admit(store, at)
        assert found.next_at == ms(at + 10)
    assert await ended(store) == {"i0": "COLLAPSED", "i1": "COLLAPSED"}
    assert (await admit(store, 18.9)).granted == 0
    found = await admit(store, 19)
    assert (found.granted, found.next_at) == (1, None)
    assert await holders(store) == ["i2"]
    await ask(store, debounced("i3", 20))
    await admit(store, 20)
    assert await holders(store) == ["i2"], "the next one is debounced anew"
    await admit(store, 30)
    assert await holders(store) == ["i2", "i3"]


async def test_a_debounced_start_begins_at_the_latest_so_long_after_the_first(
    store: Store,
) -> None:
    for n in range(4):
        await ask(store, debounced(f"i{n}", 8 * n, most=25))
        await admit(store, 8 * n)
    assert (await store.slots.mark()).next_at == ms(25)
    await admit(store, 25)
    assert await holders(store) == ["i3"]


async def test_the_moments_of_the_starts_decide_however_late_a_pass_looks(store: Store) -> None:
    for id, at in (("i0", 0), ("i1", 5), ("i2", 20), ("i3", 40), ("i4", 41)):
        await ask(store, debounced(id, at))
    await admit(store, 45)
    assert await holders(store) == ["i1", "i2"]
    assert await ended(store) == {"i0": "COLLAPSED", "i3": "COLLAPSED"}
    await admit(store, 60)
    assert await holders(store) == ["i1", "i2", "i4"]


async def test_a_start_that_is_written_late_does_not_take_the_place_of_a_newer_one(
    store: Store,
) -> None:
    await ask(store, debounced("new", 5))
    await admit(store, 5)
    await ask(store, debounced("old", 3, most=8))
    await admit(store, 6)
    assert await ended(store) == {"old": "COLLAPSED"}
    await admit(store, 15)
    assert await holders(store) == ["new"]


async def test_a_debounced_start_waits_for_limits_once_its_time_has_come(store: Store) -> None:
    await limit(store, globalMaxConcurrent=1)
    await ask(store, asked("first"))
    await admit(store, 0)
    await ask(store, debounced("i0", 1))
    await admit(store, 11)
    [waiting] = await store.slots.waiting("default")
    assert (waiting.state, waiting.blocked_on) == ("waiting", "global")
    await ask(store, debounced("i1", 12))
    await limit(store, version=2, globalMaxConcurrent=1)
    await admit(store, 13)
    assert await ended(store) == {}, "its time had come before"
    await give_back(store, "first")
    await admit(store, 14)
    assert await holders(store) == ["i0"]


async def test_one_pass_settles_so_many_keys_as_it_may(store: Store) -> None:
    await ask(store, *(debounced(f"i{n}", 0, key=str(n)) for n in range(5)))
    await admit(store, 0)
    found = await store.slots.admit(seconds(10), most=2)
    assert not found.is_done
    rows = await store.slots.waiting("default")
    assert sum(row.state == "settling" for row in rows) == 3
    await admit(store, 10)
    assert len(await holders(store)) == 5


async def test_a_debounced_start_that_is_withdrawn_leaves_nothing(store: Store) -> None:
    await ask(store, debounced("i0", 0))
    await admit(store, 0)
    await give_back(store, "i0")
    assert (await admit(store, 10)).next_at is None
    assert await holders(store) == []
    mark = await store.slots.mark()
    assert (mark.has_work, mark.next_at) == (False, None)


async def test_so_many_begin_in_a_time_as_may_and_the_others_in_order(store: Store) -> None:
    await ask(store, *(rated(f"i{n}", n) for n in range(5)))
    found = await admit(store, 10)
    assert await holders(store) == ["i0", "i1"]
    assert found.next_at == ms(70)
    sent = await messages(store)
    assert sent["i0"] == Admitted(number=1, at=NOON + timedelta(seconds=10))
    await give_back(store, "i0", "i1")
    assert (await admit(store, 69.9)).granted == 0, "an end gives nothing back"
    found = await admit(store, 70)
    assert (found.granted, found.next_at) == (2, ms(130))
    assert await holders(store) == ["i2", "i3"]
    found = await admit(store, 140)
    assert (found.granted, found.next_at) == (1, None)


async def test_the_window_of_a_rate_slides(store: Store) -> None:
    for n, at in enumerate((0, 50, 55, 58)):
        await ask(store, rated(f"i{n}", at))
        await admit(store, at)
    assert await holders(store) == ["i0", "i1"]
    assert (await admit(store, 60)).next_at == ms(110)
    assert await holders(store) == ["i0", "i1", "i2"], (
        "the first is a minute ago, the second is not"
    )


async def test_keys_have_rates_of_their_own_and_a_rate_holds_beside_limits(store: Store) -> None:
    await limit(store, globalMaxConcurrent=3)
    many = [rated(f"{key}{n}", n, key=key) for key in "ab" for n in range(3)]
    await ask(store, *many)
    await admit(store, 0)
    assert await holders(store) == ["a0", "a1", "b0"]
    await give_back(store, "a0", "a1")
    await admit(store, 1)
    assert await holders(store) == ["b0", "b1"]
    await admit(store, 60)
    assert await holders(store) == ["a2", "b0", "b1"]


def begun_by(rate: Paced, moments: range) -> list[int]:
    """When one begins that is asked for at each of these moments."""
    known: list[tuple[int, int]] = []
    begun = []
    for at in moments:
        rates = Rates(at)
        script = rates.script([rate])
        next(script)
        with suppress(StopIteration):
            script.send([(rate.key, None, msgspec.json.encode(known).decode())])
        if not rates.is_full(rate):
            rates.begin(rate)
            begun.append(at)
        known = rates.known(rate)
        assert len(known) <= MOST_MOMENTS
    return begun


async def test_what_is_kept_of_a_rate_has_a_bound_and_never_lets_more_begin() -> None:
    rate = Paced(key="rate:t/w/", limit=200, per=6_400)
    begun = begun_by(rate, range(0, 40_000, 7))
    for place, at in enumerate(begun):
        assert len([each for each in begun[:place] if each > at - rate.per]) < rate.limit
    most = 40_000 // rate.per * rate.limit
    assert len(begun) >= most * 9 // 10, "what is kept in less detail costs few"


async def test_rows_of_rates_without_meaning_are_deleted(store: Store) -> None:
    await ask(store, rated("i0", 0, key="a"))
    await admit(store, 0)
    await ask(store, rated("i1", 100, key="b"))
    await admit(store, 100)
    await ask(store, rated("i2", 101, key="a", limit=1))
    await admit(store, 101)
    assert await holders(store) == ["i0", "i1", "i2"]


async def test_a_request_that_is_withdrawn_while_it_waits_for_a_rate_leaves_nothing(
    store: Store,
) -> None:
    await ask(store, *(rated(f"i{n}", n) for n in range(3)))
    await admit(store, 3)
    await give_back(store, "i2")
    assert (await admit(store, 70)).next_at is None


async def test_a_turn_that_takes_a_slot_leaves_what_a_pass_has_to_look_at_again(
    store: Store,
) -> None:
    await ask(store, *(rated(f"i{n}") for n in range(4)))
    await take(store, asked("j0", limit=1))
    await admit(store, 0)
    assert not (await store.slots.admit(seconds(61), most=1)).is_done
    await give_back(store, "j0")
    await take(store, asked("j1", limit=1))  # it may be refused, and ask
    await admit(store, 61)
    assert (await holders(store))[:4] == ["i0", "i1", "i2", "i3"]


async def test_limits_that_change_while_rows_wait_for_a_rate_hold_up_no_pass(
    store: Store,
) -> None:
    await ask(store, *(rated(f"i{n}", n) for n in range(3)))
    await admit(store, 3)
    await limit(store, globalMaxConcurrent=3)
    found = await admit(store, 70)
    assert (found.granted, found.next_at) == (1, None)
    assert await holders(store) == ["i0", "i1", "i2"]


async def test_a_rate_whose_moment_came_in_a_pass_that_did_not_reach_it_is_looked_at_next(
    store: Store,
) -> None:
    await ask(store, *(rated(f"i{n}", n) for n in range(3)))
    await admit(store, 3)
    await ask(store, asked("first", rank=-1))
    found = await store.slots.admit(seconds(70), most=1)
    assert (found.granted, found.is_done) == (1, False)
    assert (await admit(store, 70)).granted == 1
    assert await holders(store) == ["first", "i0", "i1", "i2"]


async def test_one_that_waits_for_its_rate_begins_where_a_later_version_has_a_higher_one(
    store: Store,
) -> None:
    await ask(store, rated("i0", 0, limit=1), rated("i1", 1, limit=1))
    assert (await admit(store, 1)).next_at == ms(61)
    await ask(store, rated("i2", 2, limit=9))
    assert (await admit(store, 2)).next_at == ms(61)
    assert await holders(store) == ["i0", "i2"]
    await admit(store, 61)
    found = await admit(store, 62)
    assert (found.granted, found.next_at) == (1, None)


async def test_processes_that_admit_at_once_never_exceed_a_rate(shared_place: Place) -> None:
    first, second = [await shared_place.opened(name, shared=True) for name in ("p1", "p2")]
    for n in range(0, 8, 2):
        await asyncio.gather(
            ask(first, rated(f"i{n}", n, limit=3), process_id="p1"),
            ask(second, rated(f"i{n + 1}", n + 1, limit=3), process_id="p2"),
        )
        await asyncio.gather(*(each.slots.admit(moment(n)) for each in (first, second)))
    assert len(await holders(first)) == 3
