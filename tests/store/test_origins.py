"""Instances that one origin has led to: those that have not ended are counted, up to a bound."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto.model.status import Status
from tenuto.store.protocol import Store
from tests.store.situations import begin, entry, event, step, turn, update

pytestmark = pytest.mark.asyncio


async def test_open_instances_of_an_origin_are_counted_up_to_a_bound(store: Store) -> None:
    await store.turns.commit(
        turn(
            "t1",
            begin("root"),
            *(begin(f"child-{number}", origin_id="root") for number in range(4)),
            replace(
                begin("ended", origin_id="root"),
                update=update(status=Status.COMPLETED),
            ),
            begin("of-another", origin_id="other"),
        )
    )
    count = store.instances.open_of_origin
    assert await count("root", 100) == 4
    assert await count("root", 3) == 3
    assert await count("other", 100) == 1
    assert await count("child-1", 100) == 0


async def test_an_end_takes_an_instance_out_of_the_count_and_a_retry_brings_it_back(
    store: Store,
) -> None:
    await store.turns.commit(turn("t1", begin("child", origin_id="root")))
    failed = update(status=Status.FAILED)
    await store.turns.commit(turn("t2", replace(step("child", 1, entry(2)), update=failed)))
    assert await store.instances.open_of_origin("root", 9) == 0
    again = update(status=Status.RUNNING, completed_at=None)
    await store.turns.commit(turn("t3", replace(step("child", 2, entry(3)), update=again)))
    assert await store.instances.open_of_origin("root", 9) == 1


async def test_an_event_keeps_its_origin(store: Store) -> None:
    await store.turns.commit(turn("t1", events=(event("e1", origin="root"), event("e2"))))
    first, second = [await store.inbox.get("default", id) for id in ("e1", "e2")]
    assert first is not None
    assert second is not None
    assert (first.event.origin, second.event.origin) == ("root", None)
    assert [each.origin for _, each in await store.inbox.unmatched(9)] == ["root", None]


async def test_what_has_ended_is_told_of_all_tenants_at_once(store: Store) -> None:
    await store.turns.commit(
        turn(
            "t1",
            begin("i1"),
            replace(begin("i2"), update=update(status=Status.COMPLETED)),
            begin("i3", tenant="other"),
        )
    )
    asked = ["i1", "i2", "i3", "nobody", "i1"]
    assert await store.instances.ended(asked) == {"i1": False, "i2": True, "i3": False}
    assert await store.instances.ended([]) == {}
