"""Limits and the queue: set, seen, and obeyed at once, over an engine and over HTTP."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tenuto.model.errors import Conflict, InvalidInput, NotFound, Overloaded
from tenuto.model.json import Object
from tenuto.model.status import Status
from tests.workspace.conftest import Place

pytestmark = pytest.mark.asyncio

HELD: Object = {
    "id": "held",
    "steps": [{"stepId": "go", "type": "EVENT_WAIT", "eventPattern": "go.on"}],
    "options": {"concurrency": {"limit": 100, "holdWhileWaiting": True}},
}
LATE = "019b76da-a80b-700b-8bfa-7f79677734d0"


async def started(place: Place, count: int) -> list[str]:
    await place.app.deploy(HELD)
    return [(await place.workspace.start("held", {"n": n})).id for n in range(count)]


async def test_instances_beyond_a_limit_wait_and_a_raised_one_admits_them(place: Place) -> None:
    limits = place.workspace.limits
    assert (await limits.get()).global_max_concurrent is None
    saved = await limits.set({"globalMaxConcurrent": 1})
    ids = await started(place, 3)
    await until(place, ids[0], Status.WAITING_FOR_EVENT)
    page = await limits.queue()
    assert [(each.instance_id, each.position) for each in page.items] == [(ids[1], 1), (ids[2], 2)]
    assert page.items[0].waiting_for[0].limit == "global"
    assert (page.items[0].waiting_for[0].held, page.items[0].waiting_for[0].max) == (1, 1)
    explained = await (await place.workspace.instance(ids[2])).explain()
    [cause, *_] = msgspec.convert(explained["causes"], list[Object])
    message = f"position 2 of 2; limit global 1 of 1, held by {ids[0]}"
    assert (cause["kind"], cause["message"]) == ("slot", message)
    raised = await limits.set({"globalMaxConcurrent": 2}, only_after=saved.version)
    assert raised.version > saved.version
    await until(place, ids[1], Status.WAITING_FOR_EVENT)
    assert await (await place.workspace.instance(ids[2])).status() is Status.CREATED
    await limits.set({})
    await until(place, ids[2], Status.WAITING_FOR_EVENT)


async def test_a_waiting_instance_is_promoted_kept_back_and_released(place: Place) -> None:
    limits = place.workspace.limits
    await limits.set({"workflowTypeLimits": {"*": 1}})
    ids = await started(place, 4)
    await until(place, ids[0], Status.WAITING_FOR_EVENT)
    await limits.hold(ids[1])
    await limits.promote(ids[3])
    page = await limits.queue(workflow="held", limit=2)
    assert [each.instance_id for each in page.items] == [ids[3], ids[1]]
    assert [each.held for each in page.items] == [False, True]
    rest = await limits.queue(cursor=page.next_cursor)
    assert [(each.instance_id, each.position) for each in rest.items] == [(ids[2], 3)]
    await (await place.workspace.instance(ids[0])).cancel()
    await until(place, ids[3], Status.WAITING_FOR_EVENT)
    await (await place.workspace.instance(ids[3])).cancel()
    await until(place, ids[2], Status.WAITING_FOR_EVENT)
    await limits.release(ids[1])
    await (await place.workspace.instance(ids[2])).cancel()
    await until(place, ids[1], Status.WAITING_FOR_EVENT)
    with pytest.raises(Conflict):
        await limits.promote(ids[1])
    with pytest.raises(NotFound):
        await limits.hold(LATE)


async def test_a_waiting_instance_is_cancelled_and_never_runs(place: Place) -> None:
    await place.workspace.limits.set({"globalMaxConcurrent": 0})
    [id] = await started(place, 1)
    await (await place.workspace.instance(id)).cancel("not needed")
    assert await (await place.workspace.instance(id)).status() is Status.CANCELLED
    assert (await place.workspace.limits.queue()).items == []


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"globalMaxConcurrent": -1}, "$.globalMaxConcurrent"),
        ({"globalMaxConcurrent": 10**9}, "$.globalMaxConcurrent"),
        ({"tenantLimits": {"a": "many"}}, "$.tenantLimits[...]"),
        ({"queue": {"order": "random"}}, "$.queue.order"),
        ({"queue": {"aging": "soon"}}, "$.queue.aging"),
        ({"globalLimit": 1}, "$"),
        ([], "$"),
    ],
)
async def test_limits_that_cannot_be_used_are_refused_with_their_place(
    place: Place, document: Object, path: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await place.workspace.limits.set(document)
    assert [(each.code, each.path) for each in refused.value.problems] == [("TEN-2835", path)]


async def test_limits_that_were_changed_meanwhile_are_not_overwritten(place: Place) -> None:
    saved = await place.workspace.limits.set({"userLimits": {"*": 5}})
    await place.workspace.limits.set({"userLimits": {"*": 6}})
    with pytest.raises(Conflict) as refused:
        await place.workspace.limits.set({"userLimits": {"*": 7}}, only_after=saved.version)
    assert refused.value.code == "TEN-3194"


async def test_starts_beyond_the_bound_of_the_queue_are_refused(place: Place) -> None:
    await place.workspace.limits.set({"globalMaxConcurrent": 0, "queue": {"bound": 2}})
    await started(place, 2)
    with pytest.raises(Overloaded) as refused:
        await place.workspace.start("held", {})
    assert refused.value.code == "TEN-2836"


async def until(place: Place, id: str, status: Status) -> None:
    """Wait for a status; looked at again after each durable change."""
    changed = asyncio.Event()
    stop = place.app.engine.listen(lambda _draft: changed.set())
    try:
        while await (await place.workspace.instance(id)).status() is not status:
            changed.clear()
            if await (await place.workspace.instance(id)).status() is status:
                return
            await changed.wait()
    finally:
        stop()
