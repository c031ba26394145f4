"""Instances are forgotten when they have ended long enough ago, and not before."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from tenuto import Tenuto
from tenuto.engine.upkeep.instance_retention import InstanceRetention
from tenuto.model.durations import parse_duration
from tenuto.model.errors import NotFound
from tenuto.model.json import Object
from tenuto.store.parts.instances import Erasure
from tests.engine.notification_world import DAY, QUIET, World, quiet
from tests.engine.situations import ONE_WAIT, steps

OFTEN = replace(QUIET, prune_every=DAY / 4)
BRIEF: Object = {**steps("a"), "id": "brief", "options": {"retention": "P2D"}}
PARENT: Object = {
    "id": "parent",
    "steps": [
        {
            "stepId": "first",
            "type": "SUB_WORKFLOW",
            "workflowId": "flow",
            "transitions": {"default": "then"},
        },
        {"stepId": "then", "type": "EVENT_WAIT", "eventPattern": "go"},
    ],
}


async def ids(app: Tenuto) -> set[str]:
    return {each.id for each in await app.instances(limit=1000)}


def test_an_instance_is_kept_as_long_as_its_definition_says() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        await app.deploy(BRIEF)
        await app.deploy(steps("a"))
        brief, other = await app.start("brief"), await app.start("flow")
        await quiet(app, 1 * DAY)
        assert await ids(app) == {brief.id, other.id}
        await quiet(app, 2 * DAY)
        assert await ids(app) == {other.id}
        with pytest.raises(NotFound):
            await app.instance(brief.id)
        assert not [key for key in world.disk.log if key[0] == brief.id]

    world.life(work, OFTEN)


def test_the_server_says_how_long_where_a_definition_does_not() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        await app.deploy({**BRIEF, "options": {"retention": "P30D"}})
        await app.deploy(steps("a"))
        await app.deploy(ONE_WAIT)
        long, short = await app.start("brief"), await app.start("flow")
        waiting = await app.start("waiting", {"orderId": 1})
        await quiet(app, 6 * DAY)
        assert await ids(app) == {long.id, waiting.id}, short.id

    world.life(work, replace(OFTEN, instance_retention=5 * DAY))


def test_prune_counts_first_and_forgets_then() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        await app.deploy(steps("a"))
        for _ in range(3):
            await app.start("flow")
        await quiet(app, 2 * DAY)
        young = await app.start("flow")
        await quiet(app, 1)
        forgetter, day = app.engine.upkeep.instances, parse_duration("P1D")
        assert await forgetter.prune(Erasure(dry_run=True), day) == 3
        assert len(await ids(app)) == 4
        assert await forgetter.prune(Erasure(), day) == 3
        assert await ids(app) == {young.id}
        assert await forgetter.prune(Erasure()) == 0, "no definition says anything"

    world.life(work, QUIET)


def test_children_are_kept_until_their_root_is_gone() -> None:
    """No instance is pruned before its root."""
    world = World()

    async def work(app: Tenuto) -> None:
        await app.deploy(steps("a"))
        await app.deploy(PARENT)
        root = await app.start("parent")
        await quiet(app, 3 * DAY)
        assert len(await ids(app)) == 2
        await app.publish("go")
        await quiet(app, DAY / 2)
        assert len(await ids(app)) == 2
        await quiet(app, 1 * DAY)
        assert await ids(app) == set(), root.id

    world.life(work, replace(OFTEN, instance_retention=DAY))


def test_every_tenant_has_its_old_instances_forgotten() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        for tenant in ("acme", "zoo"):
            space = app.workspace(tenant, "test")
            await space.deploy(BRIEF)
            await space.start("brief")
        await quiet(app, 3 * DAY)
        assert not world.disk.instances

    world.life(work, OFTEN)


def test_a_tenant_with_much_to_forget_holds_up_nobody() -> None:
    """Tenants take turns, a page each; the next pass goes on where one had to stop."""
    world = World()

    async def work(app: Tenuto) -> None:
        for tenant, count in (("large", 600), ("small", 3)):
            space = app.workspace(tenant, "test")
            await space.deploy(steps("a"))
            await asyncio.gather(*(space.start("flow") for _ in range(count)))
        await quiet(app, 2 * DAY)
        ours = app.engine
        forgetter = InstanceRetention(
            store=ours.store,
            plans=ours.plans,
            clock=ours.clock,
            keep=timedelta(days=1),
            pages=2,
        )
        assert await forgetter.run_once() == 503
        assert await forgetter.run_once() == 100
        assert await forgetter.run_once() == 0

    world.life(work, QUIET)
