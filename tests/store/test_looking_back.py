"""What a wait that looks back is shown: what came since its instance began, and it may take."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenuto.model.events import Event
from tenuto.model.json import JSON
from tenuto.store.parts.inbox import MOST_READ, Delivery, PastEvents, PastTerm
from tenuto.store.protocol import Store
from tests.store.situations import NOON, begin, event, moment, step, turn

pytestmark = pytest.mark.asyncio


def asked(instance_id: str = "i1", **fields: Any) -> PastEvents:  # noqa: ANN401
    return PastEvents(instance_id=instance_id, **{"pattern": "order.paid", "since": NOON, **fields})


async def seen(store: Store, question: PastEvents, limit: int = 100) -> list[str]:
    """The ids of what is shown, page after page."""
    found: list[str] = []
    after, is_last = 0, False
    while not is_last:
        page = await store.inbox.past(question, after=after, limit=limit)
        found += [each.id for _, each in page.items]
        assert page.after >= after
        after, is_last = page.after, page.is_last
    return found


async def test_what_was_stored_after_an_instance_is_seen_whatever_clocks_say(
    store: Store,
) -> None:
    before = event("before", received_at=moment(500))
    await store.turns.commit(turn("t1", events=(before,)))
    await store.turns.commit(turn("t2", begin("i1")))
    behind = event("behind", received_at=moment(-80))
    await store.turns.commit(turn("t3", events=(behind, event("after", received_at=moment(1)))))
    for limit in (1, 2, 100):
        assert await seen(store, asked(), limit) == ["behind", "after"]
        assert await seen(store, asked(pattern=None), limit) == ["behind", "after"]


async def test_where_a_moment_is_named_time_counts_with_some_leeway(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    given = [event(f"e{at}", received_at=moment(at)) for at in (-200, -80, 0, 10)]
    await store.turns.commit(turn("t2", events=tuple(given)))
    since = moment(5)
    assert await seen(store, asked(since=since)) == ["e10"]
    leeway = timedelta(milliseconds=100)
    assert await seen(store, asked(since=since, leeway=leeway)) == ["e-80", "e0", "e10"]
    assert await seen(store, asked("nobody")) == ["e0", "e10"]


async def test_what_a_wait_of_the_instance_took_is_not_seen_again(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    await store.turns.commit(turn("t2", events=(event("e1"), event("e2"), event("e3"))))
    taken = Delivery("e1", "i1", "w", "", "resumed")
    matched = Delivery("e2", "i1", "w", "", "matched")
    await store.turns.commit(turn("t3", step("i1", 1, deliveries=(taken, matched))))
    for limit in (1, 2, 100):
        assert await seen(store, asked(), limit) == ["e2", "e3"]
    assert await seen(store, asked("i2")) == ["e1", "e2", "e3"]


async def test_what_came_first_is_told_for_each_that_asks(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), events=(event("e1"),)))
    await store.turns.commit(turn("t2", begin("i2")))
    questions = [
        asked("i1"),
        asked("i2"),
        asked("i1", pattern="order.shipped"),
        asked("i2", since=moment(-1)),
        asked("i1", tenant="other"),
    ]
    assert await store.inbox.first_past(questions) == [1, None, None, 1, None]
    assert await store.inbox.first_past([]) == []


async def test_what_stands_at_a_path_of_events_is_told_in_their_order(store: Store) -> None:
    large: JSON = {"a": {"b": "x"}, "c": "y" * MOST_READ}
    payloads: list[JSON] = [{"a": {"b": "x"}}, {"a": {"b": 7}}, {"a": 1}, {"a": {"b": "y"}}, large]
    stored = [event(f"e{at}", payload=payload) for at, payload in enumerate(payloads)]
    other = event("other", pattern="order.shipped", payload={"a": {"b": "x"}})
    await store.turns.commit(turn("t1", events=(*stored, other)))

    async def texts(
        first: int, limit: int, tenant: str = "default"
    ) -> list[tuple[int, str | None]]:
        asked = ("order.paid", "a.b")
        return await store.inbox.past_texts(tenant, *asked, first=first, limit=limit)

    told = [(1, "x"), (2, "7"), (3, None), (4, "y"), (5, None)]
    assert await texts(0, 10) == told
    assert await texts(2, 2) == told[1:3]
    assert await texts(6, 10) == []
    assert await texts(0, 10, "other") == []


_HUGE = 9_007_199_254_740_993


@pytest.mark.parametrize(
    ("value", "term"),
    [
        ("o-1", PastTerm("a.b", "o-1", None)),
        ('"\\ü\n', PastTerm("a.b", '"\\ü\n', None)),
        ("", PastTerm("a.b", "", None)),
        (7, PastTerm("a.b", None, "7")),
        (7.0, PastTerm("a.b", None, "7")),
        (0, PastTerm("a.b", None, "0")),
        (-0.0, PastTerm("a.b", None, "0")),
        (0.1, PastTerm("a.b", None, "0.1")),
        (5e-324, PastTerm("a.b", None, "5e-324")),
        (1e23, PastTerm("a.b", None, str(int(1e23)))),
        (1.7976931348623157e308, PastTerm("a.b", None, "1.7976931348623157e+308")),
        (_HUGE, PastTerm("a.b", None, str(_HUGE))),
        (10**40 + 1, PastTerm("a.b", None, str(10**40 + 1))),
        (-(2**63), PastTerm("a.b", None, str(-(2**63)))),
    ],
)
async def test_no_term_hides_what_is_equal(store: Store, value: JSON, term: PastTerm) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    await store.turns.commit(turn("t2", events=(event("e1", payload={"a": {"b": value}}),)))
    assert await seen(store, asked(terms=(term,))) == ["e1"]


async def test_what_a_term_cannot_tell_is_left_to_the_condition(store: Store) -> None:
    """An array has a length that stands nowhere in it."""
    await store.turns.commit(turn("t1", begin("i1")))
    payloads: list[JSON] = [{"a": [1, 2, 3]}, {"a": None}, {}, None, "text", [1]]
    deep: JSON = 1
    for _ in range(900):
        deep = [deep]
    payloads.append({"b": deep})
    given = tuple(event(f"e{n}", payload=payload) for n, payload in enumerate(payloads))
    await store.turns.commit(turn("t2", events=given))
    terms = (PastTerm("a.length", None, "3"),)
    assert await seen(store, asked(terms=terms)) == [each.id for each in given]


def others(count: int) -> tuple[Event, ...]:
    return tuple(event(f"e{n}", payload={"k": n, "name": f"n{n}"}) for n in range(count))


async def test_terms_that_do_not_fit_are_found_out_by_the_store(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    await store.turns.commit(turn("t2", events=others(20)))
    for term in (PastTerm("k", None, "7"), PastTerm("name", "n7", None)):
        assert await seen(store, asked(terms=(term,)), 6) == ["e7"]
