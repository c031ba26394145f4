"""Workflows and programs that are watched."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from tenuto import Settings, Tenuto
from tenuto.live import Dropped, Feed, LiveHub, Message
from tenuto.model.json import Object
from tenuto.store.memory import MemoryDisk
from tenuto.store.protocol import Store
from tenuto.testing.wrapped_store import Call
from tests.engine.situations import steps
from tests.kit.scripted_store import ScriptedStore

PATIENCE = 20
FLOW = steps("a", "b", "c")
WAIT: Object = {
    "id": "waiting",
    "steps": [
        {
            "stepId": "wait",
            "type": "EVENT_WAIT",
            "eventPattern": "go",
            "transitions": {"default": "after"},
        },
        {"stepId": "after", "type": "TASK", "taskId": "work"},
    ],
}


class Counting(ScriptedStore):
    """Counts how often a log is read, and how often it is asked how long logs are."""

    def __init__(self, disk: MemoryDisk | None = None, *, shared: bool = False) -> None:
        super().__init__(disk, shared=shared)
        self.reads = 0
        self.looks: list[int] = []

    async def on_instances_entries(self, call: Call) -> object:
        self.reads += 1
        return await call()

    async def on_instances_newest_seqs(self, call: Call) -> object:
        instance_ids = call.args[0]
        self.looks.append(len(instance_ids))
        return await call()


def app_on(store: str | Store, **settings: float) -> Tenuto:
    """A program whose task gives back what it gets."""
    chosen: dict[str, Any] = {"watch_every": 0.01, "mail_every": 0.2, **settings}
    app = Tenuto(store, settings=Settings(**chosen))

    @app.task
    async def work(input: object) -> object:
        return input

    return app


def shown(told: Message | Dropped) -> Object:
    assert isinstance(told, Message), told
    value: Object = msgspec.json.decode(told.data)
    assert value["seq"] == told.seq
    return value


async def all_told(feed: Feed) -> list[Object]:
    """Everything in a feed that ends."""
    async with asyncio.timeout(PATIENCE):
        return [shown(told) async for told in feed]


async def some_told(feed: Feed, count: int) -> list[Object]:
    """So many messages of a feed."""
    async with asyncio.timeout(PATIENCE):
        return [shown(await anext(feed)) for _ in range(count)]


async def whole(hub: LiveHub, instance_id: str, since: int = 0) -> list[Object]:
    """All that is told of an instance, until it has ended."""
    async with hub.follow("default", instance_id, since, until_end=True) as feed:
        return await all_told(feed)
