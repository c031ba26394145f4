"""Of one instance everything comes in the order in which it happened."""

from __future__ import annotations

from tenuto import Tenuto
from tenuto.model.events import Event
from tenuto.model.json import Object
from tests.engine.notification_world import DAY, World, quiet
from tests.engine.situations import steps
from tests.kit.hooks import Received


def said(number: int) -> Object:
    return {
        "stepId": f"say{number}",
        "type": "EMIT",
        "pattern": "said.it",
        "payload": {"n": number},
        "transitions": {"default": f"say{number + 1}"} if number < 5 else {},
    }


def test_what_an_instance_emits_comes_in_order_and_before_its_end() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        failed: set[str] = set()

        def answer(each: Received) -> int:
            """The first try of each fails: those that follow it wait."""
            is_again = each.id in failed
            failed.add(each.id)
            return 200 if is_again else 500

        world.hook.answer = answer
        await app.webhooks.add("https://example.com", ["said.*", "workflow.completed"])
        await app.deploy({"id": "em", "steps": [said(n) for n in range(1, 6)]})
        await app.start("em")
        await quiet(app, DAY)

    world.life(work)
    told = [each.value for each in world.hook.received[1::2]]
    assert [each["data"].get("n") for each in told] == [1, 2, 3, 4, 5, None]
    assert told[-1]["type"] == "workflow.completed"


def test_what_is_told_of_an_instance_goes_into_the_inbox_in_order() -> None:
    world = World()
    stored: list[str] = []

    async def work(app: Tenuto) -> None:
        listens: Object = {
            "id": "hears",
            "steps": [{"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "workflow.node.*"}],
        }
        await app.deploy(listens)
        await app.deploy(steps("a", "b"))
        publish = app.engine.events.router.publish
        under_way = 0

        async def slow(event: Event) -> object:
            nonlocal under_way
            if event.id.startswith(first.id):
                under_way += 1
                assert under_way == 1
                # The later, the sooner it would be there.
                await app.engine.clock.sleep(10 - int(event.id.rpartition(":")[2]))
                stored.append(event.id)
                under_way -= 1
            return await publish(event)

        app.engine.outbox.drainer._publish = slow
        first = await app.start("flow")
        await quiet(app, 600)
        assert stored == sorted(stored, key=lambda id: int(id.rpartition(":")[2]))
        assert len(stored) == 4

    world.life(work)
