"""How much of a kind a tenant has stored, up to a bound."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.model.status import Status
from tenuto.store.protocol import Store
from tests.store.situations import begin, event, turn, update, wait

pytestmark = pytest.mark.asyncio


async def test_what_a_tenant_has_is_counted_up_to_a_bound(store: Store) -> None:
    waiting = replace(
        begin("i1", tenant="a"),
        waits_opened=(wait("i1", tenant="a"), wait("i1", "v", tenant="a")),
    )
    ended = replace(begin("i4", tenant="a"), update=update(status=Status.COMPLETED))
    paused = begin("i2", tenant="a", status=Status.PAUSED)
    of_another = replace(begin("i3", tenant="b"), waits_opened=(wait("i3", tenant="b"),))
    events = (*(event(f"e{n}", tenant="a") for n in range(3)), event("e9", tenant="b"))
    await store.turns.commit(turn("t1", waiting, paused, of_another, ended, events=events))
    stored = store.upkeep.stored
    assert [await stored(what, "a", 99) for what in ("instances", "waits", "events")] == [2, 2, 3]
    assert [await stored(what, "b", 99) for what in ("instances", "waits", "events")] == [1, 1, 1]
    assert [await stored(what, "c", 99) for what in ("instances", "waits", "events")] == [0, 0, 0]
    assert [await stored(what, "a", 1) for what in ("instances", "waits", "events")] == [1, 1, 1]
