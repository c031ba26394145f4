"""What one tenant does, says and hears is its own, however much another has of the same."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenuto.engine.upkeep.retention import Pruner
from tenuto.model.effects import SendMail
from tenuto.model.errors import Conflict, InvalidInput, NotFound, WorkflowCancelled
from tenuto.model.status import Status
from tenuto.store.memory import MemoryDisk, MemoryStore
from tests.engine.situations import at_rest, steps, until
from tests.kit.waits import every_wait_has_looked_back
from tests.tenants.town import (
    LEFT,
    PARENT,
    RECEIPT,
    RIGHT,
    Town,
    app_on,
)

pytestmark = pytest.mark.asyncio


async def test_an_event_wakes_nobody_of_another_tenant(town: Town) -> None:
    await town.deploy()
    mine, theirs = [await each.start("waiting", {"orderId": 1}) for each in (town.left, town.right)]
    await every_wait_has_looked_back(town.app)
    published = await town.left.publish("payment.received", {"orderId": 1}, id="e")
    assert published.resumed == 1
    await mine.result(10)
    assert await theirs.status() is Status.WAITING_FOR_EVENT
    [wait] = await theirs.waits()
    assert isinstance(wait, dict)
    assert wait["nearMisses"] == []
    dry = await town.right.publish("payment.received", {"orderId": 1}, id="e", dry_run=True)
    assert (dry.duplicate, dry.resumed) == (False, 1)


async def test_the_same_id_is_another_event_with_another_tenant(town: Town) -> None:
    await town.deploy()
    runs = [await each.start("waiting", {"orderId": 1}) for each in (town.left, town.right)]
    await every_wait_has_looked_back(town.app)
    first = await town.left.publish("payment.received", {"orderId": 1, "by": LEFT}, id="e")
    second = await town.right.publish("payment.received", {"orderId": 1, "by": RIGHT}, id="e")
    assert [(each.duplicate, each.resumed) for each in (first, second)] == [(False, 1)] * 2
    for run, workspace in zip(runs, (town.left, town.right), strict=True):
        output: Any = await run.result(10)
        assert output["payload"]["by"] == workspace.tenant
        shown: Any = await workspace.event("e")
        assert shown["payload"]["by"] == workspace.tenant
        assert [each["instanceId"] for each in shown["deliveries"]] == [run.id]
    with pytest.raises(NotFound):
        await town.app.event("e")
    with pytest.raises(Conflict):
        await town.left.publish("payment.received", {"orderId": 1, "by": RIGHT}, id="e")


async def test_a_wait_looks_back_at_its_own_tenants_events(town: Town) -> None:
    await town.deploy()
    theirs = await town.right.start("waiting", {"orderId": 1}, correlation_id="c")
    await theirs.pause()
    await town.left.publish("payment.received", {"orderId": 1})
    mine = await town.left.start("waiting", {"orderId": 1})
    await theirs.resume()
    await every_wait_has_looked_back(town.app)
    await at_rest(town.app)
    for run in (mine, theirs):
        assert await run.status() is Status.WAITING_FOR_EVENT


async def test_an_event_starts_and_cancels_what_is_its_own_tenants(town: Town) -> None:
    await town.deploy()
    mine, theirs = [await each.start("order", {"id": 1}) for each in (town.left, town.right)]
    started = await town.left.publish("order.paid", {"id": 7}, id="e1")
    cancelled = await town.left.publish("order.cancelled", {"id": 1}, id="e2")
    assert (started.started, cancelled.cancelled) == (1, 1)
    with pytest.raises(WorkflowCancelled):
        await mine.result(10)
    # The answer counts the messages that are durable; what they start is in lists a turn later.
    receipt = await town.only(town.left, "receipt")
    await receipt.result(10)
    assert await town.right.instances(workflow="receipt") == []
    assert (await theirs.details())["cancellation"] is None


async def test_what_an_instance_emits_is_its_tenants(town: Town) -> None:
    await town.deploy()
    telling = await town.left.start("telling", {"n": 1})
    await telling.result(10)
    await town.only(town.left, "receipt")
    shown = await town.left.event(f"{telling.id}:e")
    assert shown["pattern"] == "order.paid"
    with pytest.raises(NotFound):
        await town.right.event(f"{telling.id}:e")
    await at_rest(town.app)
    assert await town.right.instances(workflow="receipt") == []


async def test_a_workflow_hears_of_its_own_tenants_instances(town: Town) -> None:
    await town.deploy()
    mine, theirs = [
        await each.start("follower", {"order": "c1"}) for each in (town.left, town.right)
    ]
    await every_wait_has_looked_back(town.app)
    told_of = await town.left.start("parent", {}, correlation_id="c1")
    output: Any = await mine.result(30)
    [child] = await town.left.instances(workflow="flow")
    assert output["payload"]["instanceId"] in (told_of.id, child.id)
    assert (await (await town.left.instance(child.id)).details())["tenant"] == LEFT
    again = await told_of.rerun()
    assert (await again.details())["tenant"] == LEFT
    await town.settle()
    assert await theirs.status() is Status.WAITING_FOR_EVENT
    assert [each.id for each in await town.right.instances()] == [theirs.id]


async def test_a_step_starts_a_workflow_of_its_own_tenant(town: Town) -> None:
    await town.left.deploy(PARENT)
    await town.right.deploy(steps("a"))
    parent = await town.left.start("parent", {})
    await town.reach(parent, Status.FAILED)
    assert "UNKNOWN_WORKFLOW" in str(await parent.details())
    assert await town.right.instances() == []


async def test_a_key_is_ones_own(town: Town) -> None:
    await town.deploy()
    mine, theirs = [await each.start("flow", {}, key="k") for each in (town.left, town.right)]
    assert mine.id != theirs.id
    assert (await town.left.start("flow", {}, key="k")).id == mine.id
    with pytest.raises(Conflict) as refused:
        await town.right.start("flow", {"other": 1}, key="k")
    assert refused.value.instance_id == theirs.id


@pytest.mark.parametrize("name", ["", "a:b", "a b", "x" * 64, None])
async def test_a_name_that_no_tenant_can_have_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        app_on(None).workspace(name, "eve")
    assert [each.code for each in refused.value.problems] == ["TEN-3050"]


async def test_what_an_event_starts_is_its_tenants_after_a_crash() -> None:
    """The letter that starts it is found by a process that knows nothing of the event."""
    disk = MemoryDisk()
    store = MemoryStore(disk)
    app = app_on(store)
    await app.open()
    left = app.workspace(LEFT, "eve")
    await left.deploy(RECEIPT)
    sent: list[SendMail] = []

    def lost(message: SendMail, tenant: str, *, is_sealed: bool = False) -> None:
        """Nothing is handed over in this process."""
        del tenant, is_sealed
        sent.append(message)

    app.engine.effects.mailbox.send = lost  # type: ignore[method-assign]
    app.engine.events.router._send = lost
    published = await left.publish("order.paid", {"n": 1}, id="e")
    assert published.started == 1
    assert await left.instances() == []
    store.abandon()
    async with app_on(MemoryStore(disk)) as heir:
        its_own = heir.workspace(LEFT, "eve")

        async def is_there() -> bool:
            return bool(await its_own.instances())

        await until(heir, is_there)
        [found] = await its_own.instances()
        assert (await its_own.at(found.id).details())["tenant"] == LEFT
        assert await heir.instances() == []


async def test_every_tenants_old_events_are_forgotten_and_no_others(town: Town) -> None:
    await town.deploy()
    for workspace in (town.left, town.right):
        run = await workspace.start("waiting", {"orderId": 1})
        await every_wait_has_looked_back(town.app)
        await workspace.publish("payment.received", {"orderId": 1}, id="e")
        await run.result(10)
    await town.left.publish("last", {})
    await town.settle()
    store = town.app.engine.store
    assert await store.upkeep.tenants() == sorted([LEFT, RIGHT])
    later = town.app.engine.clock.now() + timedelta(seconds=1)
    assert (await store.inbox.prune(LEFT, later, 1)).gone == 1
    assert await store.inbox.get(LEFT, "e") is None
    assert await store.inbox.deliveries_of(LEFT, "e") == []
    assert len(await store.inbox.deliveries_of(RIGHT, "e")) == 1
    ago = timedelta(seconds=-1)
    clock = town.app.engine.clock
    pruner = Pruner(store=store, clock=clock, keep_events=ago, keep_bulks=ago)
    await pruner.run_once()
    assert await store.inbox.get(RIGHT, "e") is None
