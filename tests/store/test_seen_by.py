"""A store as one tenant sees it: what is its own is all there, on every store."""

from __future__ import annotations

import pytest

from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.protocol import Store
from tests.store.situations import ME, begin, event, turn

pytestmark = pytest.mark.asyncio


async def test_a_tenant_sees_what_is_its_own(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), process_id=ME, events=(event("e1"),)))
    query = InstanceQuery(ids=("i1",), limit=1, tenant="default")
    seen = store.seen_by("default")
    assert await seen.instances.page(query) == await store.instances.page(query)
    assert await seen.instances.entries("i1") == await store.instances.entries("i1") != []
    assert (
        await seen.inbox.get("default", "e1") == await store.inbox.get("default", "e1") is not None
    )


async def test_only_a_wall_keeps_what_is_asked_for_without_a_tenant_from_another_one(
    store: Store,
) -> None:
    await store.turns.commit(turn("t1", begin("i1"), process_id=ME))
    wall = await store.upkeep.row_security()
    has_wall = wall is not None and wall.is_up
    seen = await store.seen_by("other").instances.entries("i1")
    assert bool(seen) is not has_wall
