"""What goes in comes out: large, strange and hostile values, and nothing shared with the caller."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.status import Status
from tenuto.store.errors import DataRefused
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.timers import TimerRow
from tenuto.store.parts.turns import Outcome, Snapshot, WriteResult
from tenuto.store.parts.waits import LookedBack, WaitKey, WaitTerm
from tenuto.store.protocol import Store
from tests.store.situations import (
    NOON,
    begin,
    dead_letter,
    entry,
    event,
    inbox,
    mail,
    moment,
    node_entry,
    step,
    turn,
    update,
    wait,
)

pytestmark = pytest.mark.asyncio

HOSTILE = [
    "'; DROP TABLE workflow_instances; --",
    '"); DELETE FROM events; --',
    "status = 'FAILED' --",
    "%s %(x)s {0} ? :id $1 @v",
    "\\",
    "null",
    "[]",
    "123",
    "1e5",
    " leading and trailing ",
    "Ünïcødé 🐎 \u202e \u2028 ﷽",
    "x" * 5000,
]


@pytest.mark.parametrize("text", HOSTILE)
async def test_text_is_only_ever_a_value(store: Store, text: str) -> None:
    """Z8: "column names joined from object keys … SQL injection if keys come from a caller …
    hostile keys".
    """
    bystander = begin("bystander")
    start = begin(
        text,
        entry(1, text),
        node_entry(
            2, "NODE_FAILED", text, iteration=text, error_message=text, output_variable=text
        ),
        tenant=text,
        definition_id=text,
        correlation_id=text,
        current_steps=(text,),
        key=text,
        content_hash=text.encode(),
    )
    assert (await store.turns.commit(turn(text, bystander, start))).writes[
        text
    ].outcome is Outcome.WON
    await store.turns.commit(
        turn(
            text + "2",
            step(
                text,
                2,
                timers_set=(
                    TimerRow(
                        instance_id=text, key=TimerKey(TimerKind.DELAY, text, text), due=moment(1)
                    ),
                ),
                waits_opened=(
                    wait(
                        text,
                        text,
                        iteration=text,
                        tenant=text,
                        pattern=text,
                        condition=text,
                        term_paths=text,
                        term_values=text,
                    ),
                ),
                dead_letters=(dead_letter(text, text, tenant=text, kind=text),),
                deliveries=(Delivery(text, text, text, text, "matched"),),
            ),
            events=(event(text, pattern=text, payload={text: text}, correlation_id=text),),
        )
    )
    await store.mailbox.send([mail(text, text)])
    await store.definitions.save(text, text, msgspec.json.encode(text), b"h", NOON)

    stored = (await store.turns.load([text]))[text]
    assert stored.row.current_steps == (text,)
    assert [row.seq for row in stored.tail] == [1, 2, 3]
    assert stored.tail[1].node_id == stored.tail[1].error_message == text
    query = InstanceQuery(tenant=text, definition_id=text, correlation_id=text, current_step=text)
    assert [row.id for row in (await store.instances.page(query)).items] == [text]
    by_id = InstanceQuery(tenant=text, ids=(text,))
    assert [row.id for row in (await store.instances.page(by_id)).items] == [text]
    assert await store.waits.terms(text, text) == [WaitTerm(text, text)]
    assert len(await store.waits.matching(text, [WaitTerm(text, text, text)], limit=5)) == 1
    assert [each.id for _, each in await inbox(store, text)] == [text]
    assert (await store.inbox.unmatched(5))[0][1].payload == {text: text}
    assert (await store.timers.due(moment(2), 5))[0][0].key.node == text
    assert [each.id for each in await store.mailbox.claim(5)] == [text]
    assert await store.definitions.ids(text) == [text]
    assert [each.id for each in await store.dead_letters.page(text)] == [text]
    assert await store.inbox.deliveries_to(text) == [Delivery(text, text, text, text, "matched")]
    again = begin("again", tenant=text, key=text, content_hash=text.encode())
    duplicate = await store.turns.commit(turn(text + "3", again))
    assert duplicate.writes["again"] == WriteResult(Outcome.DUPLICATE, text)

    await store.turns.commit(
        turn(
            text + "4",
            step(
                text,
                3,
                waits_closed=(WaitKey(text, text, text),),
                timers_cleared=(TimerKey(TimerKind.DELAY, text, text),),
                mail_taken=(text,),
            ),
            looked_back=(LookedBack(text, text, text, 1),),
        )
    )
    assert await store.waits.of(text) == []
    assert await store.mailbox.claim(5) == []
    assert await store.timers.due(moment(2), 5) == ([], None)
    assert set(await store.turns.load(["bystander"])) == {"bystander"}


@pytest.mark.parametrize("text", ["a\x00b", "\x00"])
async def test_text_with_a_nul_is_kept_or_refused(store: Store, text: str) -> None:
    """S24: "`\\u0000` … same verdict": not every database keeps it, and none may mangle it."""
    start = begin("i1", entry(1, error_message=text), correlation_id=text, key=text)
    try:
        await store.turns.commit(turn("t1", begin("i0"), start))
    except DataRefused:
        assert await store.turns.load(["i0", "i1"]) == {}
    else:
        assert (await store.turns.load(["i1"]))["i1"].tail[0].error_message == text
    assert (await store.turns.commit(turn("t2", begin("i2")))).writes["i2"].outcome is Outcome.WON


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
async def test_who_looks_for_what_cannot_be_kept_finds_nothing(store: Store, text: str) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    assert set(await store.turns.load([text, "i1"])) == {"i1"}
    assert await store.turns.load([text]) == {}
    assert await store.instances.entries(text) == []
    assert await store.definitions.get("default", text) is None
    assert await store.definitions.get("default", text, 1) is None
    assert await store.waits.of(text) == []
    assert await store.inbox.deliveries_to(text) == []
    for query in (
        InstanceQuery(definition_id=text),
        InstanceQuery(correlation_id=text),
        InstanceQuery(current_step=text),
        InstanceQuery(ids=(text,)),
    ):
        assert (await store.instances.page(query)).items == []


async def test_bytes_are_kept_exactly(store: Store) -> None:
    every_byte = bytes(range(256))
    await store.turns.commit(
        turn("t1", begin("i1", entry(1, payload=every_byte), entry(2, payload=b"")))
    )
    await store.turns.commit(
        turn(
            "t2",
            step(
                "i1",
                2,
                entry(3, payload=None),
                update=update(output=every_byte, last_error=b"", cancellation=None),
                snapshot=Snapshot(version=1, state=every_byte),
                waits_opened=(wait("i1", captures=every_byte),),
                dead_letters=(dead_letter("d", "i1", input=every_byte, error=b"", output=None),),
            ),
        )
    )
    await store.mailbox.send([mail("m", "i1", input=every_byte)])
    stored = (await store.turns.load(["i1"]))["i1"]
    assert stored.state == every_byte
    assert [row.payload for row in await store.instances.entries("i1")] == [every_byte, b"", None]
    assert (stored.row.output, stored.row.last_error, stored.row.cancellation) == (
        every_byte,
        b"",
        None,
    )
    assert (await store.waits.of("i1"))[0].captures == every_byte
    assert (await store.mailbox.claim(1))[0].input == every_byte
    letter = (await store.dead_letters.page("default"))[0]
    assert (letter.input, letter.error, letter.output) == (every_byte, b"", None)


async def test_large_values_are_kept(store: Store) -> None:
    large = b'"' + b"x" * 3_000_000 + b'"'
    await store.turns.commit(
        turn("t1", begin("i1", entry(1, payload=large), entry(2, payload=large)))
    )
    await store.turns.commit(
        turn("t2", step("i1", 2, snapshot=Snapshot(version=2, state=large * 3)))
    )
    stored = (await store.turns.load(["i1"]))["i1"]
    assert stored.state == large * 3
    assert [row.payload for row in await store.instances.entries_at("i1", [1, 2])] == [large, large]
    given = event("e", payload={"text": "y" * 900_000})
    await store.turns.commit(turn("t3", events=(given,)))
    assert await store.inbox.unmatched(1) == [(1, given)]


@pytest.mark.parametrize(
    "created",
    [
        datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2026, 3, 29, 2, 30, 0, 123_000, tzinfo=timezone(timedelta(hours=2))),
        datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=UTC),
    ],
)
async def test_moments_are_exact_to_the_millisecond(store: Store, created: datetime) -> None:
    await store.turns.commit(turn("t1", begin("i1", created_at=created, deadline=created)))
    row = (await store.turns.load(["i1"]))["i1"].row
    assert (row.created_at, row.deadline) == (created, created)
    assert row.created_at.tzinfo is UTC
    page = await store.instances.page(InstanceQuery(created_from=created, limit=1))
    assert [each.id for each in page.items] == ["i1"]
    assert (await store.instances.page(InstanceQuery(created_before=created))).items == []


async def test_less_than_a_millisecond_is_cut_off(store: Store) -> None:
    precise = NOON + timedelta(microseconds=1999)
    await store.turns.commit(turn("t1", begin("i1", created_at=precise)))
    assert (await store.turns.load(["i1"]))["i1"].row.created_at == moment(1)


@pytest.mark.parametrize(
    "bad",
    [
        {"event_type": "\ud800"},
        {"error_message": "a\udfffb"},
        {"node_id": "\ud83d"},
        {"at_ms": 2**64},
        {"attempt": -(2**63) - 1},
    ],
)
async def test_what_no_database_can_keep_is_refused(store: Store, bad: dict[str, Any]) -> None:
    await store.turns.commit(turn("t1", begin("i1")))
    for rows in ((entry(2, **bad),), (entry(2), entry(3, **bad))):
        with pytest.raises(DataRefused):
            await store.turns.commit(turn("t2", step("i1", 1, *rows), begin("i2")))
    assert len(await store.instances.entries("i1")) == 1
    assert (await store.turns.commit(turn("t3", begin("i2")))).writes["i2"].outcome is Outcome.WON


async def test_an_event_that_is_not_unicode_is_refused(store: Store) -> None:
    for bad in (event("e1", payload="\ud800"), event("e\ud800"), event("e2", pattern="\ud800")):
        with pytest.raises(DataRefused):
            await store.turns.commit(turn("t1", begin("i1"), events=(bad,)))
    assert await store.turns.load(["i1"]) == {}


async def test_nothing_is_shared_with_the_caller(store: Store) -> None:
    payload: dict[str, Any] = {"list": [1]}
    await store.turns.commit(turn("t1", events=(event("e1", payload=payload),)))
    payload["list"].append(2)
    first = (await store.inbox.unmatched(1))[0][1]
    assert first.payload == {"list": [1]}
    assert isinstance(first.payload, dict)
    first.payload["list"] = "changed"
    assert (await store.inbox.unmatched(1))[0][1].payload == {"list": [1]}


async def test_status_is_read_back_as_status(store: Store) -> None:
    await store.turns.commit(
        turn("t1", *[begin(f"i{n}", status=each) for n, each in enumerate(Status)])
    )
    rows = (await store.instances.page(InstanceQuery())).items
    assert {row.status for row in rows} == set(Status)
    assert all(isinstance(row.status, Status) for row in rows)
