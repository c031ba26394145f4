"""Two processes on one database tell together: everything, in order, and each thing by one."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from tenuto import Settings, Tenuto
from tests.engine.situations import steps
from tests.kit.hooks import Pretended, Received
from tests.kit.postgres_database import connected, fresh_database

pytestmark = pytest.mark.asyncio

INSTANCES = 30


def app_on(url: str, hook: Pretended) -> Tenuto:
    settings = Settings(outbox_every=0.05, watch_every=0.05, mail_every=0.2)
    app = Tenuto(url, settings=settings, sender=hook)

    @app.task
    async def work(input: object) -> object:
        return input

    return app


def entries(received: list[Received]) -> dict[str, list[int]]:
    """Of each instance the entries that were told, in the order in which they were."""
    told: dict[str, list[int]] = {}
    for each in received:
        instance, _, seq = each.id.rpartition(":")
        told.setdefault(instance, []).append(int(seq))
    return told


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
async def test_two_processes_tell_everything_in_order(fails: bool) -> None:
    url = await fresh_database()
    hook = Pretended()
    accepted: list[Received] = []

    def answer(each: Received) -> int:
        # The first try to tell of a start fails; what follows it waits.
        if fails and each.value["type"] == "workflow.started" and hook.ids.count(each.id) == 1:
            return 500
        accepted.append(each)
        return 200

    hook.answer = answer
    async with AsyncExitStack() as stack:
        apps = [await stack.enter_async_context(app_on(url, hook)) for _ in range(2)]
        await apps[0].webhooks.add("https://example.com/a", "workflow.**")
        await apps[0].deploy(steps("a", "b"))
        started = await asyncio.gather(
            *(apps[n % 2].start("flow", {"n": n}) for n in range(INSTANCES))
        )
        await hook.until(lambda: _ends(accepted) == INSTANCES)
    told = entries(accepted)
    assert told.keys() == {each.id for each in started}
    assert all(seqs == sorted(seqs) for seqs in told.values())
    assert all(len(seqs) == len(set(seqs)) == 6 for seqs in told.values())
    async with connected(url) as connection:
        for table in ("outbox", "webhook_deliveries"):
            [(left,)] = await connection.fetch(f"SELECT count(*) FROM tenuto.{table}")
            assert left == 0


def _ends(received: list[Received]) -> int:
    return sum(each.value["type"] == "workflow.completed" for each in received)


@pytest.mark.slow
async def test_what_a_process_left_untold_another_tells() -> None:
    url = await fresh_database()
    silent, hook = Pretended(), Pretended()
    silent.answer = lambda _: None
    async with app_on(url, silent) as app:
        await app.webhooks.add("https://example.com/a", "workflow.*")
        await app.deploy(steps("a"))
        instance = await app.start("flow")
        await silent.until(lambda: len(silent.received) > 0)
    async with app_on(url, hook):
        await hook.until(lambda: _ends(hook.received) == 1)
    assert {each.id.rpartition(":")[0] for each in hook.received} == {instance.id}
