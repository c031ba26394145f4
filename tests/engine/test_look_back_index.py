"""Waits that look back together: one look at what came finds where each has to begin."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from tenuto import Tenuto
from tenuto.engine.events.look_back_index import MOST_EACH, first_matches
from tenuto.model.json import JSON, Object
from tenuto.store.memory import MemoryStore
from tenuto.store.parts.inbox import PastEvents, PastTerm
from tenuto.testing.wrapped_store import Call
from tests.core.drawing import draw, wait
from tests.engine.situations import until_waiting
from tests.kit.scripted_store import ScriptedStore
from tests.store.situations import NOON, event, turn

VALUES: list[JSON] = [
    "",
    "a",
    "7",
    7,
    7.0,
    7.000000001,
    0,
    -0.0,
    0.1,
    5e-324,
    1.5e308,
    10**40,
    None,
]
TERMS = [
    PastTerm("k", "a", None),
    PastTerm("k", "7", None),
    PastTerm("k", "", None),
    PastTerm("k", None, "7"),
    PastTerm("k", None, "0"),
    PastTerm("k", None, "0.1"),
    PastTerm("k", None, "5e-324"),
    PastTerm("k", None, str(10**40)),
    PastTerm("k", None, "9e400"),
]


def asked(*terms: PastTerm) -> PastEvents:
    return PastEvents(pattern="order.paid", since=NOON, terms=terms)


def may_fit(term: PastTerm, value: JSON) -> bool:
    if value is None:
        return True
    if term.number is None:
        return value == term.text
    is_number = isinstance(value, int | float)
    return is_number and value == float(term.number)


async def stored(values: Sequence[JSON]) -> MemoryStore:
    store = MemoryStore()
    events = tuple(event(f"e{at}", payload={"k": value}) for at, value in enumerate(values))
    await store.open("process-1", NOON)
    await store.turns.commit(turn("t1", events=events))
    return store


@given(
    st.lists(st.sampled_from(VALUES), max_size=60),
    st.lists(st.sampled_from(TERMS), min_size=1, max_size=8),
)
def test_nothing_that_fits_lies_before_what_is_told(
    values: list[JSON], terms: list[PastTerm]
) -> None:
    async def told() -> list[int | None]:
        return await first_matches(await stored(values), [asked(term) for term in terms])

    for term, first in zip(terms, asyncio.run(told()), strict=True):
        fits = [at + 1 for at, value in enumerate(values) if may_fit(term, value)]
        assert not fits or (first is not None and first <= fits[0])


@pytest.mark.asyncio
async def test_each_of_many_begins_where_its_own_event_is() -> None:
    count = 20
    questions = [asked(PastTerm("k", None, str(n))) for n in range(count)]
    store = await stored(range(count))
    assert await first_matches(store, questions) == [n + 1 for n in range(count)]
    others = [asked(PastTerm("k", f"o{n}", None)) for n in range(count)]
    assert await first_matches(store, others) == [None] * count


@pytest.mark.asyncio
async def test_what_is_read_is_read_in_pages_until_everybody_has_found_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tenuto.engine.events.look_back_index.PAGE", 3)
    pages: list[tuple[int, int]] = []

    class Paged(ScriptedStore):
        async def on_inbox_past_texts(self, call: Call) -> object:
            first = call.kwargs["first"]
            limit = call.kwargs["limit"]
            pages.append((first, limit))
            return await call()

    store = Paged((await stored(range(20))).disk)
    questions = [asked(PastTerm("k", None, str(n))) for n in (0, 1, 2, 7)]
    assert await first_matches(store, questions) == [1, 2, 3, 8]
    assert pages == [(1, 3), (4, 3), (7, 3)]
    assert await first_matches(store, [*questions, asked(PastTerm("k", "x", None))]) == [
        *(1, 2, 3, 8),
        None,
    ]


@pytest.mark.asyncio
async def test_no_more_is_read_than_is_worth_it() -> None:
    count = 4
    store = await stored(["x"] * (MOST_EACH * count + 10))
    questions = [asked(PastTerm("k", f"o{n}", None)) for n in range(count)]
    assert await first_matches(store, questions) == [MOST_EACH * count + 1] * count


class Counting(ScriptedStore):
    """Counts how many events waits had shown, one by one."""

    looked_at = 0

    async def on_inbox_past(self, call: Call) -> object:
        after = call.kwargs.get("after", 0)
        page = await call()
        self.looked_at += page.after - after
        return page


@pytest.mark.asyncio
async def test_a_burst_that_meets_new_waits_costs_what_it_holds() -> None:
    """An event costs what it matches, whichever of the two was there first."""
    count = 200
    mine = "event.payload.k === workflow.input.k"
    gated: Object = draw("g>w", g=wait("go.now"), w=wait("tick.came", eventCondition=mine))
    store = Counting()
    async with Tenuto(store) as app:
        await app.deploy(gated | {"id": "gated"})
        instances = [await app.start("gated", {"k": n}) for n in range(count)]
        await until_waiting(app, count, "g")
        await asyncio.gather(*(app.publish("tick.came", {"k": n}) for n in range(count)))
        await app.publish("go.now", {})
        for instance in instances:
            await instance.result(30)
    assert store.looked_at <= 40 * count
