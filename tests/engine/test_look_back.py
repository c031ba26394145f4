"""Waits that look back: whatever clocks say, and at no more than is new to them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tenuto import Settings, Tenuto
from tenuto.engine.events.look_back import LookBack
from tenuto.engine.events.look_back_index import indexed_terms
from tenuto.engine.turns.intake import Intake
from tenuto.engine.turns.requests import Request
from tenuto.model.events import Event
from tenuto.model.json import Object
from tenuto.ports import SystemClock
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.parts.inbox import PastTerm
from tenuto.store.sqlite import SqliteStore
from tenuto.testing.wrapped_store import Call
from tests.core.drawing import draw, end, wait
from tests.engine.situations import until, until_waiting
from tests.kit.postgres_database import fresh_database
from tests.kit.scripted_store import ScriptedStore
from tests.store.situations import wait as wait_row

pytestmark = pytest.mark.asyncio

MINE = "event.payload.k === workflow.input.k"
GATED: Object = draw("g>w", g=wait("go.now"), w=wait("tick.came", eventCondition=MINE))
LOOP: Object = {
    "id": "loop",
    "steps": [
        {
            "stepId": "each",
            "type": "LOOP",
            "while": "ctx.index < ctx.input.n",
            "maxIterations": 100_000,
            "transitions": {"loop": "w"},
        },
        {
            "stepId": "w",
            "type": "EVENT_WAIT",
            "eventPattern": "tick.came",
            "eventCondition": MINE,
        },
    ],
}
STARTED: Object = draw("d", d=end()) | {"id": "started", "triggers": [{"eventPattern": "a.b"}]}
QUICK = Settings(mail_every=0.2, watch_every=0.05)


class Counting(ScriptedStore):
    """Counts the events that it shows to waits."""

    shown = 0
    looked_at = 0

    async def on_inbox_past(self, call: Call) -> object:
        after = call.kwargs.get("after", 0)
        page = await call()
        self.shown += len(page.items)
        self.looked_at += page.after - after
        return page


class Busy(ScriptedStore):
    """Once it has an event's targets, it takes nothing more before its gate is opened."""

    def __init__(self, path: Path) -> None:
        super().__init__(SqliteStore(path))
        self.gate = asyncio.Event()
        self.gate.set()

    async def on_turns_commit(self, call: Call) -> object:
        turn = call.turn
        assert turn is not None
        await self.gate.wait()
        result = await call()
        if turn.matches:
            self.gate.clear()
        return result


async def test_a_wait_in_a_loop_costs_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    offers = 0
    offer = LookBack._offer

    async def counted(self: LookBack, *args: Any) -> bool:  # noqa: ANN401
        nonlocal offers
        offers += 1
        return await offer(self, *args)

    monkeypatch.setattr(LookBack, "_offer", counted)
    count = 60
    store = Counting()
    async with Tenuto(store) as app:
        await app.deploy(LOOP)
        loop = await app.start("loop", {"n": count, "k": 1})
        ticks = (app.publish("tick.came", {"k": 1, "i": n}) for n in range(count))
        await asyncio.gather(*ticks)
        await loop.result(30)
    assert offers <= 2 * count


async def test_what_all_waits_have_taken_is_not_looked_at_again() -> None:
    count = 40
    store = Counting()
    async with Tenuto(store) as app:
        await app.deploy(LOOP)
        loop = await app.start("loop", {"n": count, "k": 1})
        for n in range(count):
            await until_waiting(app, 1, "w")
            await app.publish("tick.came", {"k": 1, "i": n})
        await loop.result(30)
    assert store.looked_at <= 3 * count


async def test_an_event_by_a_clock_that_is_behind_is_found() -> None:
    """`lookback` takes the oldest matching event that no wait of this instance has taken; default:
    since the instance was created; `"PT0S"` turns it off.
    """
    async with Tenuto() as app:
        await app.deploy(GATED | {"id": "gated"})
        before = Event(
            id="before", pattern="tick.came", payload={"k": 1}, received_at=app.engine.clock.now()
        )
        await app.engine.publish(before)
        gated = await app.start("gated", {"k": 1})
        created_at = (await app.engine.state_of(gated.id)).state.created_at
        behind = created_at - timedelta(milliseconds=80)
        await app.engine.publish(
            Event(id="e", pattern="tick.came", payload={"k": 1}, received_at=behind)
        )
        await app.publish("go.now", {})
        output = await gated.result(10)
    assert isinstance(output, dict)
    assert output["eventId"] == "e", "it was stored later, and what was stored before is not found"


async def test_a_wait_that_looks_back_at_nothing_finds_nothing() -> None:
    waits = wait("tick.came", lookback="PT0S")
    async with Tenuto(MemoryStore(shared=True)) as app:
        await app.deploy(draw("g>w", g=wait("go.now"), w=waits) | {"id": "gated"})
        gated = await app.start("gated", {})
        await app.publish("tick.came", {}, id="past")
        await app.publish("go.now", {})
        await until(app, lambda: opened(app, gated.id))
        await app.publish("tick.came", {}, id="now")
        output = await gated.result(10)
    assert isinstance(output, dict)
    assert output["eventId"] == "now"


async def opened(app: Tenuto, instance_id: str) -> bool:
    return [each.node for each in await app.engine.store.waits.of(instance_id)] == ["w"]


@pytest.mark.parametrize(
    ("paths", "values", "found"),
    [
        ("", "", ()),
        ('["payload.a.b"]', '["\\"x\\""]', (PastTerm("a.b", "x", None),)),
        ('["payload.a"]', '["7"]', (PastTerm("a", None, "7"),)),
        ('["payload.a"]', '["1e+23"]', (PastTerm("a", None, "1e+23"),)),
        ('["payload.a =="]', '["7"]', ()),
        ('["payload.a"]', '["null"]', ()),
        ('["payload.a"]', '["true"]', ()),
        ('["payload.a"]', '["object"]', ()),
        ('["payload.a"]', '["sha256:00"]', ()),
        ('["payload.a"]', '["inf"]', ()),
        ('["correlationId"]', '["\\"x\\""]', ()),
        ('["payload"]', '["\\"x\\""]', ()),
        ('["id","payload.a"]', '["\\"x\\"","1"]', (PastTerm("a", None, "1"),)),
    ],
)
async def test_a_database_is_asked_only_what_it_reads_as_an_expression_does(
    paths: str, values: str, found: tuple[PastTerm, ...]
) -> None:
    row = wait_row("i1", term_paths=paths, term_values=values)
    assert indexed_terms(row) == found


async def test_a_wait_that_opens_as_another_processs_event_comes_takes_it() -> None:
    """The other's clock is behind by what clocks may differ by; each start is acknowledged."""
    disk, count = MemoryDisk(), 40
    late = SystemClock(lambda: datetime.now(UTC) - timedelta(milliseconds=80))
    async with (
        Tenuto(MemoryStore(disk, shared=True), settings=QUICK) as first,
        Tenuto(MemoryStore(disk, shared=True), settings=QUICK, clock=late) as second,
    ):
        await first.deploy(GATED | {"id": "gated"})
        gated = [await first.start("gated", {"k": n}) for n in range(count)]
        await asyncio.gather(
            first.publish("go.now", {}),
            *(second.publish("tick.came", {"k": n}, id=f"e{n}") for n in range(count)),
        )
        outputs = await asyncio.gather(*(each.result(20) for each in gated))
    taken = [output["eventId"] for output in outputs if isinstance(output, dict)]
    assert taken == [f"e{n}" for n in range(count)]


async def test_letters_about_events_are_handed_over_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look into the mailbox knows of those that are on their way already."""
    reported: list[str | None] = []
    report = Intake.report

    def counted(self: Intake, request: Request) -> None:
        reported.append(request.mail_id)
        report(self, request)

    monkeypatch.setattr(Intake, "report", counted)
    store = Busy(tmp_path / "tenuto.db")
    async with Tenuto(store) as app:
        await app.deploy(GATED | {"id": "gated"})
        await app.start("gated", {"k": 1})
        await until_waiting(app, 1, "g")
        reported.clear()
        await app.publish("go.now", {})
        await app.engine.effects.mailbox.run_once()
        store.gate.set()
        await until_waiting(app, 1, "w")
    assert len([id for id in reported if id is not None]) == 1


@pytest.mark.slow
async def test_of_ten_thousand_events_a_wait_takes_the_first() -> None:
    async with Tenuto() as app:
        await app.deploy(GATED | {"id": "gated"})
        gated = await app.start("gated", {"k": 1})
        for first in range(0, 10_000, 1_000):
            await app.publish_all(
                [
                    {"id": f"e{n}", "pattern": "tick.came", "payload": {"k": 1}}
                    for n in range(first, first + 1_000)
                ]
            )
        await app.publish("go.now", {})
        output = await gated.result(30)
        assert isinstance(output, dict)
        assert output["eventId"] == "e0"
        assert await app.engine.store.waits.of(gated.id) == []
        assert await app.engine.store.mailbox.claim(10) == []


async def both_publish(first: Tenuto, second: Tenuto, count: int) -> None:
    """The same ids from two processes at once: each is stored, and starts an instance, once."""
    await first.deploy(STARTED)
    results = await asyncio.gather(
        *(app.publish("a.b", {"n": n}, id=f"e{n}") for n in range(count) for app in (first, second))
    )
    assert [each.started for each in results] == [1] * (2 * count)
    assert sum(not each.duplicate for each in results) == count
    await until(first, lambda: ended(first, count))
    assert len(await first.instances(limit=10 * count)) == count


async def ended(app: Tenuto, count: int) -> bool:
    return len(await app.instances(status="COMPLETED", limit=10 * count)) == count


async def test_one_id_from_two_processes_at_once_acts_once() -> None:
    disk = MemoryDisk()
    async with (
        Tenuto(MemoryStore(disk, shared=True), settings=QUICK) as first,
        Tenuto(MemoryStore(disk, shared=True), settings=QUICK) as second,
    ):
        await both_publish(first, second, 30)


@pytest.mark.slow
async def test_one_id_from_two_processes_on_a_database_acts_once() -> None:
    url = await fresh_database()
    async with Tenuto(url, settings=QUICK) as first, Tenuto(url, settings=QUICK) as second:
        await both_publish(first, second, 30)
