"""A tenant with thousands of declared tasks: a change costs as much as with a few."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from time import process_time

import msgspec
import pytest

from tenuto.engine.definitions.declared_tasks import DeclaredTasks
from tenuto.model.task_definition import TaskDefinition, TaskLimits
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.parts.tasks import TaskRow
from tenuto.tasks import Registry

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def row(number: int, version: int, concurrency: int | None = None) -> TaskRow:
    limits = TaskLimits(concurrency=concurrency)
    task = TaskDefinition(id=f"t{number}", kind="pull", limits=limits)
    return TaskRow(
        tenant="acme",
        id=task.id,
        version=version,
        document=msgspec.json.encode(task),
        is_pushed=False,
        created_at=NOW,
        updated_at=NOW,
    )


@pytest.mark.asyncio
@pytest.mark.parametrize("fails_unknown", [True, False])
async def test_who_hears_of_each_change_knows_what_another_reads(*, fails_unknown: bool) -> None:
    registry, drawn = Registry(), Random(1)

    @registry.task(name="t1", limits=TaskLimits(concurrency=3))
    def limited() -> None: ...

    store = MemoryStore(MemoryDisk())
    await store.open("p", NOW)
    heard = DeclaredTasks(store, registry, fails_unknown=fails_unknown)
    versions: dict[int, int] = {}
    for _ in range(300):
        number = drawn.randrange(6)
        if number in versions and drawn.random() < 0.3:
            del versions[number]
            await store.tasks.remove("acme", f"t{number}")
            heard.remove("acme", f"t{number}")
        else:
            versions[number] = versions.get(number, 0) + 1
            put = row(number, versions[number], drawn.choice([None, 1, 2]))
            assert await store.tasks.put(put)
            heard.put(put)
        read = DeclaredTasks(store, registry, fails_unknown=fails_unknown)
        await read.read()
        assert heard.of("acme").limited == read.of("acme").limited
        assert dict(heard.of("acme").tasks) == dict(read.of("acme").tasks)
        assert heard.of("acme").version == read.of("acme").version
        assert heard.bytes_of("acme") == read.bytes_of("acme")
    await store.close(NOW, clean=True)


def test_thousands_of_tasks_are_declared_in_seconds() -> None:
    declared = DeclaredTasks(MemoryStore(MemoryDisk()), Registry())
    begun = process_time()
    for number in range(10_000):
        declared.put(row(number, 1, 1))
    assert process_time() - begun < 6
