"""Who listens no more is forgotten, and nobody sooner."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenuto import NotFound, Tenuto
from tenuto.engine.bounds import Bounds
from tenuto.model.json import Object
from tenuto.store.errors import DataRefused
from tests.engine.notification_world import DAY, QUIET, World, quiet
from tests.engine.situations import steps

LISTENS: Object = {
    "id": "listens",
    "steps": [
        {
            "stepId": "w",
            "type": "EVENT_WAIT",
            "eventPattern": "workflow.completed",
            "eventCondition": "event.payload.correlationId === workflow.input.wanted",
        }
    ],
}


def test_old_versions_stop_listening_once_none_of_their_instances_goes_on() -> None:
    world = World()

    async def listening(app: Tenuto) -> int:
        return len(await app.engine.store.listeners.of("default"))

    async def work(app: Tenuto) -> None:
        first = await app.deploy(LISTENS)
        await app.deploy(steps("a"))
        waiting = await app.start("listens", {"wanted": "x"})
        await app.deploy({**LISTENS, "name": "another"})
        assert await listening(app) == 2
        await quiet(app, 2 * DAY)
        assert await listening(app) == 2
        await app.start("flow", correlation_id="x")
        await quiet(app, 2 * DAY)
        assert await waiting.status() == "COMPLETED"
        assert await listening(app) == 1
        again = await app.start("listens", {"wanted": "y"}, version=first)
        await quiet(app, 2 * DAY)
        assert await listening(app) == 2
        await app.start("flow", correlation_id="y")
        await quiet(app, 2 * DAY)
        assert await again.status() == "COMPLETED"
        assert await listening(app) == 1

    world.life(work)


def test_however_many_instances_there_are_they_are_looked_through_in_the_end() -> None:
    """One pass looks at some of them; the next goes on where it had come to."""
    world = World()

    async def work(app: Tenuto) -> None:
        await app.deploy(LISTENS)
        await app.deploy({**LISTENS, "name": "another"})
        for number in range(45):
            await app.start("listens", {"wanted": number})
        await quiet(app, 2 * DAY)
        assert len(await app.engine.store.listeners.of("default")) == 2
        await quiet(app, 2 * DAY)
        assert len(await app.engine.store.listeners.of("default")) == 1

    world.life(work, replace(QUIET, bounds=Bounds(retention_batch=2)))


def test_a_definition_that_was_not_saved_does_not_listen() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        async def refusing(*_: object, **__: object) -> object:
            raise DataRefused("simulated")

        app.engine.store.definitions.save = refusing  # type: ignore[method-assign,assignment]
        with pytest.raises(DataRefused):
            await app.deploy(LISTENS)
        assert await app.engine.store.listeners.of("default") == []

    world.life(work)


def test_one_that_is_removed_while_it_is_enabled_stays_removed() -> None:
    world = World()

    async def work(app: Tenuto) -> None:
        world.hook.answer = lambda _: 500
        hook = await app.webhooks.add("https://example.com", "paid")
        await app.publish("paid")
        await quiet(app, 7 * DAY)
        [shown] = await app.webhooks.list()
        assert shown.state == "disabled"
        store = app.engine.store
        read = store.listeners.of

        async def overtaken(tenant: str) -> list[object]:
            found = await read(tenant)
            store.listeners.of = read  # type: ignore[method-assign]
            await app.webhooks.remove(hook.id)
            return list(found)

        store.listeners.of = overtaken  # type: ignore[method-assign,assignment]
        with pytest.raises(NotFound):
            await app.webhooks.enable(hook.id)
        assert await app.webhooks.list() == []

    world.life(work)
