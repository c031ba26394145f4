"""Events find waits and waits find events, whichever came first."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto.store.parts.inbox import Delivery, EventPlace, InboxEvent
from tenuto.store.parts.turns import EventResult, MatchWrite, Outcome
from tenuto.store.parts.waits import LookedBack, WaitKey, WaitRow, WaitTerm
from tenuto.store.protocol import Store
from tests.store.situations import NOON, begin, event, inbox, mail, moment, step, turn, wait

pytestmark = pytest.mark.asyncio


async def open_waits(store: Store, *waits: WaitRow) -> None:
    ids = {each.instance_id for each in waits}
    await store.turns.commit(
        turn(
            "open",
            *[
                begin(id, tenant=next(each.tenant for each in waits if each.instance_id == id))
                for id in ids
            ],
        )
    )
    await store.turns.commit(
        turn(
            "wait",
            *[
                step(id, 1, waits_opened=tuple(w for w in waits if w.instance_id == id))
                for id in ids
            ],
        )
    )


async def test_a_stored_event_is_kept_as_it_was(store: Store) -> None:
    given = event(
        "e1",
        payload={"text": "žluťoučký 🐎 \u2028 '; --", "deep": [1, 2.5, None, {"x": True}]},
        timestamp=moment(-1234),
        correlation_id="c1",
    )
    result = await store.turns.commit(turn("t1", events=(given,)))
    assert result.events == {"e1": EventResult("stored", number=1)}
    assert await store.inbox.unmatched(10) == [(1, given)]


async def test_the_same_event_again_is_a_duplicate(store: Store) -> None:
    await store.turns.commit(turn("t1", events=(event("e1", payload={"a": 1, "b": 2}),)))
    later = event("e1", payload={"b": 2, "a": 1}, received_at=moment(500))
    result = await store.turns.commit(turn("t2", events=(later, event("e2"))))
    assert result.events == {
        "e1": EventResult("duplicate", number=1),
        "e2": EventResult("stored", number=2),
    }
    unmatched = await store.inbox.unmatched(10)
    assert [(number, each.id) for number, each in unmatched] == [(1, "e1"), (2, "e2")]
    assert unmatched[0][1].received_at == NOON


@pytest.mark.parametrize(
    "change",
    [
        {"payload": {"id": "other"}},
        {"pattern": "order.shipped"},
        {"correlation_id": "c"},
        {"timestamp": NOON},
    ],
)
async def test_the_same_id_with_other_content_is_a_conflict(
    store: Store, change: dict[str, object]
) -> None:
    await store.turns.commit(turn("t1", events=(event("e1"),)))
    result = await store.turns.commit(turn("t2", events=(event("e1", **change), event("e2"))))
    assert result.events == {"e1": EventResult("conflict"), "e2": EventResult("stored", number=2)}
    assert [each.pattern for _, each in await store.inbox.unmatched(1)] == ["order.paid"]


async def test_a_duplicate_of_a_matched_event_tells_what_it_did(store: Store) -> None:
    await store.turns.commit(turn("t1", events=(event("e1"),)))
    match = MatchWrite(
        event_id="e1",
        mail=(mail("m1", "i1"), mail("m2", "i2")),
        deliveries=(Delivery("e1", "i1", "w", "", "matched"),),
        resumed=2,
        matched_at=moment(1),
    )
    await store.turns.commit(turn("t2", matches=(match,)))
    assert await store.inbox.unmatched(10) == []
    assert [each.id for each in await store.mailbox.claim(10)] == ["m1", "m2"]
    again = await store.turns.commit(turn("t3", events=(event("e1"),)))
    assert again.events == {"e1": EventResult("duplicate", 2, matched=True, number=1)}


async def test_a_part_of_a_matching_leaves_its_event_unmatched(store: Store) -> None:
    await store.turns.commit(turn("t1", events=(event("e1"),)))
    part, last = (
        MatchWrite(
            event_id="e1",
            mail=(mail(f"m{n}", f"i{n}"),),
            deliveries=(Delivery("e1", f"i{n}", "w", "", "matched"),),
            resumed=2,
            matched_at=moment(1),
            is_done=n == 2,
        )
        for n in (1, 2)
    )
    await store.turns.commit(turn("t2", matches=(part,)))
    assert [each.id for _, each in await store.inbox.unmatched(10)] == ["e1"]
    assert [each.id for each in await store.mailbox.claim(10)] == ["m1"]
    assert (await store.inbox.prune("default", moment(9), 10)).gone == 0
    await store.turns.commit(turn("t3", matches=(part, last)))
    assert await store.inbox.unmatched(10) == []
    assert [each.id for each in await store.mailbox.claim(10)] == ["m1", "m2"]
    assert len(await store.inbox.deliveries_of("default", "e1")) == 2


async def test_matching_twice_delivers_once(store: Store) -> None:
    await store.turns.commit(turn("t1", events=(event("e1"),)))
    for number in (3, 4):
        match = MatchWrite(
            event_id="e1",
            mail=(mail("m1", "i1"),),
            deliveries=(Delivery("e1", "i1", "w", "", "matched"),),
            resumed=number,
            matched_at=moment(number),
        )
        await store.turns.commit(turn(f"t{number}", matches=(match,)))
    assert len(await store.mailbox.claim(10)) == 1
    assert await store.inbox.deliveries_to("i1") == [Delivery("e1", "i1", "w", "", "matched")]
    again = await store.turns.commit(turn("t9", events=(event("e1"),)))
    assert again.events["e1"].resumed == 3


async def test_what_came_of_a_delivery_is_settled_once(store: Store) -> None:
    """I26: "Of event / timeout / cancel on one wait exactly one wins"."""
    await store.turns.commit(turn("t0", begin("i1")))
    outcomes = ["matched", "resumed", "discarded", "matched"]
    for version, outcome in enumerate(outcomes, start=1):
        delivery = Delivery("e1", "i1", "w", "", outcome)  # type: ignore[arg-type]
        await store.turns.commit(turn(f"t{version}", step("i1", version, deliveries=(delivery,))))
    assert [each.outcome for each in await store.inbox.deliveries_to("i1")] == ["resumed"]


async def test_a_wait_is_read_as_it_was_written(store: Store) -> None:
    given = wait(
        "i1",
        attempt=2,
        condition="event.payload.id === orderId",
        captures='["č",1]'.encode(),
        term_paths="payload.id",
        term_values='["7"]',
        since=moment(-999),
        opened_at=moment(1),
        correlation_id="c1",
    )
    await open_waits(store, given, wait("i1", "other", iteration="3"))
    assert await store.waits.of("i1") == [wait("i1", "other", iteration="3"), given]
    assert await store.waits.of("i2") == []


async def test_a_wait_knows_which_events_were_there_before_it(store: Store) -> None:
    """Whatever the clocks say: the order of storing is what it goes by."""
    await open_waits(store, wait("i1"))
    late, early = event("e1", received_at=moment(9)), event("e2", received_at=moment(-9))
    await store.turns.commit(turn("t1", events=(late, early)))
    opened_again = step(
        "i1", 2, waits_closed=(WaitKey("i1", "x", ""),), waits_opened=(wait("i1", "x"),)
    )
    stored = await store.turns.commit(turn("t2", opened_again, events=(event("e3"),)))
    assert [(each.node, each.follows) for each in await store.waits.of("i1")] == [
        ("w", 0),
        ("x", 2),
    ]
    assert stored.events["e3"].number == 3
    again = await store.turns.commit(turn("t3", step("i1", 3, waits_opened=(wait("i1"),))))
    assert again.writes["i1"].outcome is Outcome.WON
    assert [each.follows for each in await store.waits.of("i1")] == [3, 2]


async def test_terms_are_distinct_and_wildcards_are_always_among_them(store: Store) -> None:
    await open_waits(
        store,
        *[
            wait(f"i{number:03}", term_paths="payload.id", term_values=str(number))
            for number in range(50)
        ],
        wait("j1", term_paths=""),
        wait("j2", pattern="order.shipped", term_paths="payload.id"),
        wait("k1", pattern="order.*", is_wildcard=True),
        wait("k2", pattern="order.*", is_wildcard=True),
        wait("k3", pattern="order.*", is_wildcard=True, term_paths="payload.x"),
        wait("k4", pattern="*", is_wildcard=True, term_paths="payload.x"),
        wait("z1", pattern="#", is_wildcard=True, tenant="other"),
    )
    wildcards = [
        WaitTerm("*", "payload.x"),
        WaitTerm("order.*", ""),
        WaitTerm("order.*", "payload.x"),
    ]
    assert await store.waits.terms("default", "order.paid") == [
        *wildcards,
        WaitTerm("order.paid", ""),
        WaitTerm("order.paid", "payload.id"),
    ]
    assert await store.waits.terms("default", "nothing") == wildcards
    assert await store.waits.terms("other", "order.paid") == [WaitTerm("#", "")]
    assert await store.waits.terms("nobody", "order.paid") == []


async def test_waits_are_found_by_term_in_pages_of_key_order(store: Store) -> None:
    await open_waits(
        store,
        *[
            wait(f"i{number:03}", term_paths="p", term_values=str(number % 2))
            for number in range(40)
        ],
        wait("i005", "second", term_paths="p", term_values="1"),
        wait("x", pattern="order.*", is_wildcard=True),
    )
    terms = [WaitTerm("order.paid", "p", "1"), WaitTerm("order.*", "", "")]
    found: list[WaitKey] = []
    after: WaitKey | None = None
    while page := await store.waits.matching("default", terms, limit=7, after=after):
        found += [WaitKey(each.instance_id, each.node, each.iteration) for each in page]
        after = found[-1]
    odd = [WaitKey(f"i{number:03}", "w", "") for number in range(1, 40, 2)]
    expected = sorted([*odd, WaitKey("i005", "second", ""), WaitKey("x", "w", "")])
    assert found == expected
    assert await store.waits.matching("other", terms, limit=7) == []
    assert await store.waits.matching("default", [], limit=7) == []


async def test_a_closed_wait_is_found_no_more(store: Store) -> None:
    await open_waits(store, wait("i1"), wait("i2"))
    await store.turns.commit(turn("t3", step("i1", 2, waits_closed=(WaitKey("i1", "w", ""),))))
    found = await store.waits.matching("default", [WaitTerm("order.paid", "", "")], limit=10)
    assert [each.instance_id for each in found] == ["i2"]


async def test_waits_that_have_not_looked_back_are_found(store: Store) -> None:
    await open_waits(store, wait("i1"), wait("i2"), wait("i3", looked_back=True))
    assert [each.instance_id for each in await store.waits.unlooked(10)] == ["i1", "i2"]
    seen = (
        LookedBack("i1", "w", "", 1),
        LookedBack("i2", "w", "", 7),
        LookedBack("gone", "w", "", 1),
    )
    await store.turns.commit(turn("t3", looked_back=seen))
    assert [each.instance_id for each in await store.waits.unlooked(10)] == ["i2"]
    assert (await store.waits.of("i1"))[0].looked_back


async def test_the_inbox_is_read_from_a_moment_in_the_order_of_storing(store: Store) -> None:
    events = [
        event("late", received_at=moment(30)),
        event("early", received_at=moment(10)),
        event("other", received_at=moment(20), pattern="order.shipped"),
        event("old", received_at=moment(9)),
        event("late too", received_at=moment(30)),
    ]
    await store.turns.commit(turn("t1", events=tuple(events)))

    async def read(pattern: str | None, limit: int) -> list[str]:
        found = await inbox(store, pattern, moment(10), limit=limit)
        return [each.id for _, each in found]

    for limit in (1, 2, 5, 100):
        assert await read("order.paid", limit) == ["late", "early", "late too"]
        assert await read(None, limit) == ["late", "early", "other", "late too"]
    assert await inbox(store, tenant="other") == []


async def test_the_latest_events_come_newest_first_and_are_bounded(store: Store) -> None:
    given = (
        event("late", received_at=moment(30)),
        event("early", received_at=moment(10)),
        event("other", received_at=moment(20), pattern="order.shipped"),
        event("old", received_at=moment(9)),
        event("late too", received_at=moment(30)),
    )
    await store.turns.commit(turn("t1", events=given))
    numbered = {each.id: (number, each) for number, each in enumerate(given, start=1)}

    async def latest(pattern: str | None, limit: int = 9, tenant: str = "default") -> list[str]:
        found = await store.inbox.latest(tenant, pattern, moment(10), limit=limit)
        assert all(numbered[each.event.id] == (each.number, each.event) for each in found)
        return [each.event.id for each in found]

    assert await latest(None) == ["late too", "late", "other", "early"]
    assert await latest(None, limit=2) == ["late too", "late"]
    assert await latest("order.paid") == ["late too", "late", "early"]
    assert await latest("order.paid", limit=1) == ["late too"]
    assert await latest("order.*") == await latest(None, tenant="other") == []


async def test_the_inbox_is_read_backwards_page_by_page_while_more_comes(store: Store) -> None:
    given = [event(f"e{number}", received_at=moment(10 + number // 2)) for number in range(7)]
    given[3] = event("other", received_at=moment(11), pattern="order.shipped")
    await store.turns.commit(turn("t1", events=given))
    for pattern in (None, "order.paid"):
        ids = [each.id for each in given if pattern in (None, each.pattern)]
        seen: list[str] = []
        below = None
        while page := await store.inbox.latest(
            "default", pattern, moment(10), limit=2, below=below
        ):
            seen += [each.event.id for each in page]
            below = EventPlace(page[-1].event.received_at, page[-1].number)
            new = event(f"new {pattern} {len(seen)}", received_at=moment(30))
            await store.turns.commit(turn(new.id, events=(new,)))
        assert [id for id in seen if not id.startswith("new")] == ids[::-1]


async def test_an_event_is_found_by_its_id_with_what_it_did(store: Store) -> None:
    given = event("e1", payload={"a": [1]}, timestamp=moment(-5), correlation_id="c", chain=3)
    await store.turns.commit(turn("t1", events=(event("e0"), given)))
    assert await store.inbox.get("default", "e1") == InboxEvent(
        2, given, matched=False, resumed=0, cancelled=0, started=0
    )
    match = MatchWrite(
        event_id="e1",
        mail=(),
        deliveries=(),
        resumed=2,
        cancelled=1,
        started=4,
        matched_at=NOON,
    )
    await store.turns.commit(turn("t2", matches=(match,)))
    assert await store.inbox.get("default", "e1") == InboxEvent(
        2, given, matched=True, resumed=2, cancelled=1, started=4
    )
    assert await store.inbox.get("default", "nobody") is None
    assert await store.inbox.get("other", "e1") is None


async def test_some_waits_of_each_term_are_found_whatever_their_values(store: Store) -> None:
    await open_waits(
        store,
        *[wait(f"i{n}", term_paths="p", term_values=str(9 - n)) for n in range(5)],
        wait("i1", "second", term_paths="p", term_values="8"),
        wait("i7", term_paths="q", term_values="1"),
        wait("x", pattern="order.*", is_wildcard=True),
        wait("y", tenant="other", term_paths="p"),
    )
    wild, term = WaitTerm("order.*", ""), WaitTerm("order.paid", "p", "values do not matter")

    async def near(*terms: WaitTerm, limit: int) -> list[tuple[str, str]]:
        found = await store.waits.near("default", terms, limit=limit)
        return [(each.instance_id, each.node) for each in found]

    assert await near(wild, term, term._replace(term_values=""), limit=3) == [
        ("x", "w"),
        ("i4", "w"),
        ("i3", "w"),
        ("i2", "w"),
    ]
    assert (await near(term, limit=5))[-2:] == [("i1", "second"), ("i1", "w")]
    assert await near(limit=5) == []


async def test_a_moment_is_exact_to_the_millisecond(store: Store) -> None:
    await store.turns.commit(turn("t1", events=(event("e1", received_at=moment(1)),)))
    one_after = moment(1) + timedelta(milliseconds=1)
    assert len(await inbox(store, "order.paid", moment(1))) == 1
    assert await inbox(store, "order.paid", one_after) == []


async def test_the_arms_of_a_wait_are_rows_of_their_own(store: Store) -> None:
    arms = tuple(wait("i1", arm=name, position=place) for place, name in enumerate(("b", "a")))
    await open_waits(store, *arms)
    assert [(each.arm, each.position) for each in await store.waits.of("i1")] == [
        ("a", 1),
        ("b", 0),
    ]
    term = WaitTerm("order.paid", "")
    [first] = await store.waits.matching("default", [term], limit=1)
    after = WaitKey("i1", "w", "", first.arm)
    [second] = await store.waits.matching("default", [term], limit=9, after=after)
    assert (first.arm, second.arm) == ("a", "b")
    assert [each.arm for each in await store.waits.unlooked(9)] == ["a", "b"]


async def test_a_wait_looks_back_and_is_closed_with_all_its_arms(store: Store) -> None:
    arms = tuple(wait("i1", arm=name) for name in ("a", "b"))
    await open_waits(store, *arms, wait("i1", "v"))
    await store.turns.commit(turn("t2", looked_back=(LookedBack("i1", "w", "", 1),)))
    assert [each.node for each in await store.waits.unlooked(9)] == ["v"]
    await store.turns.commit(turn("t3", step("i1", 2, waits_closed=(WaitKey("i1", "w", ""),))))
    assert [each.node for each in await store.waits.of("i1")] == ["v"]


async def test_a_wait_that_opens_anew_has_the_arms_that_it_has_then(store: Store) -> None:
    arms = tuple(wait("i1", arm=name) for name in ("a", "b"))
    await open_waits(store, *arms)
    again = (wait("i1", arm="b", attempt=2), wait("i1", arm="c", attempt=2))
    closed = (WaitKey("i1", "w", ""),)
    await store.turns.commit(turn("t2", step("i1", 2, waits_closed=closed, waits_opened=again)))
    assert [(each.arm, each.attempt) for each in await store.waits.of("i1")] == [("b", 2), ("c", 2)]


async def test_what_came_of_an_event_is_kept_by_arm_and_found_by_event(store: Store) -> None:
    found = (
        Delivery("e1", "i1", "", "", "cancelled", "0"),
        Delivery("e1", "i1", "w", "", "matched", "a"),
        Delivery("e1", "i2", "order", "", "refused", "1", "it does not fit"),
    )
    other = Delivery("e2", "i1", "w", "", "resumed", "a")
    match = MatchWrite(
        event_id="e1", mail=(), deliveries=(*found, other), resumed=0, matched_at=NOON
    )
    await store.turns.commit(turn("t1", matches=(match,)))
    assert await store.inbox.deliveries_of("default", "e1") == list(found)
    assert await store.inbox.deliveries_of("default", "nobody") == []
    assert await store.inbox.deliveries_to("i1") == [found[0], found[1], other]


@pytest.mark.parametrize("outcome", ["resumed", "cancelled", "started", "discarded", "refused"])
async def test_what_came_of_an_event_is_settled_once(store: Store, outcome: str) -> None:
    said = ("matched", outcome, "matched", "refused", "discarded")
    for number, each in enumerate(said):
        delivery = Delivery("e1", "i1", "w", "", each, "a")  # type: ignore[arg-type]
        match = MatchWrite(
            event_id="e1", mail=(), deliveries=(delivery,), resumed=0, matched_at=NOON
        )
        await store.turns.commit(turn(f"t{number}", matches=(match,)))
    assert [each.outcome for each in await store.inbox.deliveries_to("i1")] == [outcome]


async def test_a_duplicate_hears_whom_its_first_copy_was_for(store: Store) -> None:
    await store.turns.commit(turn("t1", events=(event("e1", chain=3),)))
    match = MatchWrite(
        event_id="e1",
        mail=(),
        deliveries=(),
        resumed=1,
        cancelled=2,
        started=3,
        matched_at=NOON,
    )
    await store.turns.commit(turn("t2", matches=(match,)))
    again = await store.turns.commit(turn("t3", events=(event("e1"),)))
    told = EventResult("duplicate", 1, matched=True, number=1, cancelled=2, started=3)
    assert again.events == {"e1": told}
    [(_, stored)] = await inbox(store)
    assert stored.chain == 3


async def test_what_a_winner_publishes_is_in_the_inbox_and_what_a_loser_does_is_not(
    store: Store,
) -> None:
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    won = step("i1", 1, events=(event("i1:e"),))
    lost = step("i2", 7, events=(event("i2:e"),))
    result = await store.turns.commit(turn("t2", won, lost, events=(event("e"),)))
    assert result.writes["i2"].outcome is Outcome.LOST
    assert {id: each.outcome for id, each in result.events.items()} == {
        "e": "stored",
        "i1:e": "stored",
    }
    numbers = {id: each.number for id, each in result.events.items()}
    unmatched = await store.inbox.unmatched(9)
    assert {each.id: number for number, each in unmatched} == numbers
    again = await store.turns.commit(turn("t2", won, lost, events=(event("e"),)))
    assert {id: each.number for id, each in again.events.items()} == numbers


async def test_the_triggers_of_a_newer_version_take_the_place_of_the_others(
    store: Store,
) -> None:
    def trigger(number: int, pattern: str) -> WaitRow:
        return wait(
            "",
            "order",
            iteration="default",
            arm=str(number),
            position=number,
            pattern=pattern,
            looked_back=True,
        )

    async def there() -> list[tuple[str, str, int, int]]:
        found = await store.waits.of("")
        return [(each.pattern, each.arm, each.attempt, each.follows) for each in found]

    await store.turns.commit(turn("t1", events=(event("e1"),)))
    two = [trigger(0, "a"), trigger(1, "b")]
    await store.definitions.save("default", "order", b"1", b"1", NOON, triggers=two)
    assert await there() == [("a", "0", 1, 1), ("b", "1", 1, 1)]
    other = [trigger(0, "x")]
    await store.definitions.save("default", "order", b"1", b"1", NOON, triggers=other)
    assert await there() == [("a", "0", 1, 1), ("b", "1", 1, 1)], "nothing new was saved"
    await store.definitions.save("default", "order", b"2", b"2", NOON, triggers=[trigger(0, "c")])
    assert await there() == [("c", "0", 2, 1)]
    [found] = await store.waits.matching("default", [WaitTerm("c", "")], limit=9)
    assert found.is_trigger
    assert await store.waits.terms("default", "c") == [WaitTerm("c", "")]
    assert await store.waits.unlooked(9) == []
    await store.definitions.save("default", "order", b"3", b"3", NOON)
    assert await there() == []
