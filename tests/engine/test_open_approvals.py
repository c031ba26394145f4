"""The inbox of approvals: found by an index of those who may decide, whatever else there is."""

from __future__ import annotations

import pytest

from tenuto import Tenuto
from tenuto.model.json import JSON, Object
from tenuto.store.memory import MemoryStore
from tenuto.workspace.approvals import TenantApprovals
from tenuto.workspace.values import ApprovalFilter, OpenApproval
from tests.engine.situations import at_rest
from tests.engine.test_reindexer import reindexed

pytestmark = pytest.mark.asyncio

ASK: Object = {"stepId": "ask", "type": "APPROVAL", "assignees": {"users": ["ann"]}}
NEWER: Object = {"id": "asks", "steps": [{"stepId": "nap", "type": "DELAY", "duration": "PT1S"}]}
EACH: Object = {
    "id": "each",
    "steps": [
        {
            "stepId": "all",
            "type": "LOOP",
            "source": "{{ctx.input}}",
            "mode": "parallel",
            "concurrency": 200,
            "transitions": {"loop": "ask"},
        },
        {**ASK, "assignees": {"users": ["{{ctx.item}}"]}},
    ],
}


def of(app: Tenuto, user: str, *roles: str) -> TenantApprovals:
    return TenantApprovals(app.engine, "default", user, roles)


async def all_pages(
    found: TenantApprovals, which: ApprovalFilter, limit: int
) -> list[OpenApproval]:
    items: list[OpenApproval] = []
    cursor: str | None = None
    while True:
        page = await found.page(which, limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            return items


MINE = ApprovalFilter(is_mine=True)


async def test_an_approval_of_an_old_version_is_found_among_many_definitions_of_which_none_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Tenuto(MemoryStore()) as app:
        await app.deploy({"id": "asks", "steps": [ASK]})
        old = await app.start("asks")
        for seconds in range(1, 25):
            step: JSON = {"stepId": "nap", "type": "DELAY", "duration": f"PT{seconds}S"}
            await app.deploy({"id": "asks", "steps": [step]})
            await app.deploy({"id": f"other-{seconds}", "steps": [ASK]})
        newer = [await app.start(f"other-{each}") for each in (1, 2)]
        await at_rest(app)
        monkeypatch.setattr(type(app.engine.store.definitions), "newest", None)
        for limit in (1, 2, 100):
            found = await all_pages(of(app, "ann"), MINE, limit)
            assert [each.instance_id for each in found] == [newer[1].id, newer[0].id, old.id]
        assert await all_pages(of(app, "bob", "boss"), MINE, 100) == []
        await old.decide("ask", "approved", by="ann")
        assert len(await all_pages(of(app, "ann"), ApprovalFilter(), 1)) == 2


async def test_of_an_instance_with_very_many_open_approvals_each_is_listed_once() -> None:
    async with Tenuto(MemoryStore()) as app:
        await app.deploy(EACH)
        names: list[JSON] = [f"user-{number % 2}" for number in range(150)]
        instance = await app.start("each", names)
        await app.deploy({"id": "asks", "steps": [ASK]})
        await app.start("asks")
        await at_rest(app)
        found = await all_pages(of(app, "user-1"), MINE, 40)
        assert {each.instance_id for each in found} == {instance.id}
        assert len({each.iteration for each in found}) == len(found) == 75
        every = await all_pages(of(app, "zoe"), ApprovalFilter(), 40)
        assert len({(each.instance_id, each.iteration) for each in every}) == len(every) == 151
        assert len(await all_pages(of(app, "zoe"), ApprovalFilter(user="ann"), 40)) == 1


async def test_open_approvals_of_older_programs_are_found_once_they_are_indexed_again() -> None:
    store = MemoryStore()
    async with Tenuto(store) as app:
        await app.deploy({"id": "asks", "steps": [ASK]})
        waits = await app.start("asks")
        await app.deploy(NEWER)
        await at_rest(app)
        store.disk.searchable.clear()
        assert await all_pages(of(app, "ann"), MINE, 10) == []
    async with Tenuto(store) as app:
        assert (await reindexed(app))[-1] == 1
        [found] = await all_pages(of(app, "ann"), MINE, 10)
        assert found.instance_id == waits.id
