"""Events that are kept beyond their time: of instances under way, and for waits that look back."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from tenuto.engine.upkeep.retention import Pruner
from tenuto.model.status import Status
from tenuto.ports import SystemClock
from tenuto.store.parts.inbox import PrunedUpTo
from tenuto.store.parts.turns import InstanceUpdate, MatchWrite
from tenuto.store.parts.waits import LookedBack
from tenuto.store.protocol import Store
from tests.store.situations import NOON, begin, event, inbox, moment, step, turn, wait

pytestmark = pytest.mark.asyncio

ID = "0b2e6f0a-0d6e-4a3c-9c5e-6b1f0d9f7a11"


async def put(store: Store, *ids: str, pattern: str = "order.paid") -> None:
    """Matched events, and a newest one, which always stays."""
    events = (*(event(id, pattern=pattern) for id in ids), event("newest"))
    matches = tuple(
        MatchWrite(event_id=id, mail=(), deliveries=(), resumed=0, matched_at=NOON) for id in ids
    )
    await store.turns.commit(turn("events", events=events))
    await store.turns.commit(turn("matches", matches=matches))


async def left(store: Store) -> list[str]:
    """The events that are left after all that may go have gone."""
    await store.inbox.prune("default", moment(9), 100)
    return [each.id for _, each in await inbox(store)]


async def test_an_event_of_an_instance_is_kept_until_that_has_ended(store: Store) -> None:
    """Events are kept for 7 days, and longer while the instance that emitted them has not ended, or
    while an open wait has still to look back at them.
    """
    await store.turns.commit(turn("t1", begin(ID)))
    await put(store, f"{ID}:told", "other")
    assert await left(store) == [f"{ID}:told", "newest"]
    over = InstanceUpdate(
        status=Status.COMPLETED,
        updated_at=NOON,
        started_at=NOON,
        completed_at=NOON,
        current_steps=(),
    )
    await store.turns.commit(turn("t2", msgspec.structs.replace(step(ID, 1), update=over)))
    assert await left(store) == ["newest"]


async def test_what_tells_of_an_instance_is_not_kept_for_it(store: Store) -> None:
    await store.turns.commit(turn("t1", begin(ID)))
    await put(store, f"{ID}:3", pattern="workflow.node.completed")
    assert await left(store) == ["newest"]


async def test_events_that_are_kept_are_looked_at_once_in_a_pass(store: Store) -> None:
    await store.turns.commit(turn("t1", begin(ID)))
    kept = [f"{ID}:a:{number}" for number in range(4)]
    await put(store, *kept, "z1", "z2")
    after: PrunedUpTo | None = None
    seen: list[int] = []
    while True:
        pruned = await store.inbox.prune("default", moment(9), 2, after)
        seen.append(pruned.gone)
        if (after := pruned.after) is None:
            break
    assert seen == [0, 0, 2, 0]
    assert [each.id for _, each in await inbox(store)] == [*kept, "newest"]


@pytest.mark.parametrize(("since", "kept"), [(0, ["early", "newest"]), (5, ["newest"])])
async def test_an_event_is_kept_until_open_waits_have_looked_back(
    store: Store, since: int, kept: list[str]
) -> None:
    opened = wait("i1", since=moment(since))
    writes = msgspec.structs.replace(begin("i1"), waits_opened=(opened,))
    await store.turns.commit(turn("t1", writes))
    await put(store, "early")
    day = timedelta(days=1)
    # Kept until a moment in the future, so that all of them are old whatever the clock says.
    pruner = Pruner(store=store, clock=SystemClock(), keep_events=-day, keep_bulks=day)
    await pruner.run_once()
    assert [each.id for _, each in await inbox(store)] == kept
    await store.turns.commit(turn("t2", looked_back=(LookedBack("i1", "w", "", 1),)))
    await pruner.run_once()
    assert [each.id for _, each in await inbox(store)] == ["newest"]
