"""Addresses outside are told of what is their tenant's, and of nothing else."""

from __future__ import annotations

from tenuto import Tenuto
from tests.engine.notification_world import World
from tests.engine.situations import steps
from tests.tenants.town import LEFT, RIGHT


def test_addresses_are_told_of_what_is_their_tenants() -> None:
    world = World()

    async def work(app: Tenuto) -> dict[str, str]:
        names: dict[str, str] = {}
        for tenant in (LEFT, RIGHT):
            mine = app.workspace(tenant, "eve")
            await mine.webhooks.add(f"https://{tenant}.example/", ("workflow.*", "order.paid"))
            await mine.deploy(steps("a"))
            await mine.publish("order.paid", {"by": tenant}, id="e")
            run = await mine.start("flow", {})
            await run.result(10)
            names[tenant] = run.id
        await app.engine.outbox.run_once()
        await world.hook.until(lambda: len(world.hook.received) >= 6)
        return names

    ids = world.life(work)
    for tenant in (LEFT, RIGHT):
        got = [each for each in world.hook.received if tenant in each.path]
        assert [each.value["type"] for each in got] == [
            "order.paid",
            "workflow.started",
            "workflow.completed",
        ]
        assert got[0].value["data"] == {"by": tenant}
        assert {each.value["data"].get("instanceId") for each in got[1:]} == {ids[tenant]}
