"""The audit log when its store is away, and when unauthenticated clients come in floods."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from tenuto.access.audit import AuditLog
from tenuto.access.chain import verify_chain
from tenuto.access.principal import LOCAL
from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.ports import SystemIds
from tenuto.store.parts.audit import AuditRow
from tenuto.testing.wrapped_store import Call
from tests.access.conftest import CountingStore
from tests.access.hand_clock import HandClock

pytestmark = pytest.mark.asyncio


@pytest.fixture
def audit(store: CountingStore, clock: HandClock) -> AuditLog:
    return AuditLog(store.audit, clock, SystemIds())


async def lines(store: CountingStore) -> list[AuditRow]:
    return await store.audit.lines("default", after=0, limit=10_000)


async def settle() -> None:
    """Let what the clock has begun come to its end: it waits for nothing outside."""
    for _ in range(20):
        await asyncio.sleep(0)


async def note(audit: AuditLog, target: str) -> None:
    await audit.record(principal=LOCAL, action="a", target=target, outcome="done")


async def refuse(audit: AuditLog, source: str, code: str = "TEN-5010") -> None:
    await audit.refuse_unauthenticated(
        code=code, action="list_instances", target="/x", source=source, request_id="r"
    )


async def test_a_line_that_could_not_be_written_is_told_and_written_later_once(
    audit: AuditLog, store: CountingStore, clock: HandClock
) -> None:
    store.is_away = True
    for target in ("one", "two"):
        with pytest.raises(StoreUnavailable) as refused:
            await note(audit, target)
        assert refused.value.code == "TEN-5030"
    clock.move(0.5)
    await settle()
    assert await lines(store) == []
    store.is_away = False
    clock.move(1)
    await settle()
    assert [row.entry.target for row in await lines(store)] == ["one", "two"]
    clock.move(100)
    await settle()
    await note(audit, "three")
    assert [row.entry.target for row in await lines(store)] == ["one", "two", "three"]
    assert (await verify_chain(store.audit, "default")).fault is None


async def test_what_was_asked_and_perhaps_recorded_is_not_done_and_may_be_asked_again(
    store: CountingStore, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def in_doubt(call: Call) -> None:
        raise may_be_written("the connection broke")

    store.on("audit.append", in_doubt)
    audit = AuditLog(store.audit, clock, SystemIds())
    with pytest.raises(StoreUnavailable) as refused:
        await audit.record(principal=LOCAL, action="a", target="t", outcome="asked")
    assert refused.value.code == "TEN-4001"


async def test_what_waits_is_written_when_the_log_is_closed_or_told_in_the_process_s_log(
    audit: AuditLog, store: CountingStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.is_away = True
    with pytest.raises(StoreUnavailable):
        await note(audit, "one")
    store.is_away = False
    await audit.close()
    assert [row.entry.target for row in await lines(store)] == ["one"]
    store.is_away = True
    with pytest.raises(StoreUnavailable):
        await note(audit, "two")
    with caplog.at_level(logging.ERROR):
        await audit.close()
    lost = "line lost tenant=default outcome=done action=a target=two kind=local actor='local'"
    assert lost in caplog.text


async def test_a_flood_of_unauthenticated_clients_is_a_line_and_then_a_number_a_minute(
    audit: AuditLog, store: CountingStore, clock: HandClock
) -> None:
    for _ in range(500):
        await refuse(audit, "10.0.0.1")
    await refuse(audit, "10.0.0.1", "TEN-5011")
    await refuse(audit, "10.0.0.2")
    assert [row.entry.source for row in await lines(store)] == ["10.0.0.1", "10.0.0.2"]
    clock.move(60)
    await settle()
    *_, more = await lines(store)
    assert (more.entry.action, more.entry.source, more.entry.outcome) == (
        *("refusals", "10.0.0.1", "refused"),
    )
    assert json.loads(more.entry.after or b"") == {
        "count": 500,
        "codes": {"TEN-5010": 499, "TEN-5011": 1},
    }
    await refuse(audit, "10.0.0.1")
    assert len(await lines(store)) == 4
    await refuse(audit, "10.0.0.1")
    await audit.close()
    assert len(await lines(store)) == 5


async def test_unauthenticated_clients_from_everywhere_are_counted_together(
    store: CountingStore, clock: HandClock
) -> None:
    audit = AuditLog(store.audit, clock, SystemIds(), most_sources=10)
    for at in range(100):
        await refuse(audit, f"10.0.0.{at}")
    await audit.close()
    found = await lines(store)
    assert len(found) == 12
    assert found[-1].entry.source == "others"
    assert json.loads(found[-1].entry.after or b"")["count"] == 89
