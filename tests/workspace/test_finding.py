"""Instances found by a text, and decisions that are waited for: the same on every back end."""

from __future__ import annotations

import pytest

from tenuto import ApprovalFilter, InstanceFilter, InvalidInput
from tenuto.model.json import Object
from tenuto.workspace import instance_lists
from tests.engine.situations import until_waiting
from tests.workspace.conftest import Place

pytestmark = pytest.mark.asyncio

ASKS: Object = {
    "id": "asks",
    "steps": [
        {"stepId": "ok", "type": "APPROVAL", "assignees": {"users": ["ann"], "roles": ["board"]}}
    ],
}


async def test_a_text_is_found_in_names_steps_errors_and_cancellations(place: Place) -> None:
    space = place.workspace
    failed = await space.start("refuse", {}, correlation_id="Ord-17")
    with pytest.raises(Exception, match="the workflow failed"):
        await failed.result(timeout=60)
    waiting = await space.start("wait", {"id": 1})
    await until_waiting(place.app, 1, "paid")
    cancelled = await space.start("wait", {"id": 2})
    await cancelled.cancel("ordered twice")
    error = str(
        ((await space.page(InstanceFilter(ids=(failed.id,)))).items[0].last_error or {})["code"]
    )

    async def found(text: str, correlation_id: str | None = None) -> set[str]:
        page = await space.page(InstanceFilter(text=text, correlation_id=correlation_id))
        return {each.id for each in page.items}

    assert await found("ORD-17") == {failed.id}
    assert await found(error.lower()) == {failed.id}
    assert await found("ordered TWICE") == {cancelled.id}
    assert await found("wait") == {waiting.id, cancelled.id}
    assert await found("wait", correlation_id="none") == set()
    assert await found("nothing like that") == set()
    with pytest.raises(InvalidInput):
        await space.bulk.start("pause", InstanceFilter(text="wait"))


async def test_a_page_that_is_searched_ends_at_its_bound_and_its_cursor_goes_on(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance_lists, "MOST_SEARCHED", 2)
    space = place.workspace
    first = await space.start("wait", {"id": 0}, correlation_id="the-first")
    for number in range(1, 25):
        await space.start("wait", {"id": number})
    cursor, pages, found = None, 0, list[str]()
    while True:
        which = InstanceFilter(text="the-first")
        page = await space.page(which, limit=10, cursor=cursor)
        found += [each.id for each in page.items]
        pages += 1
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == [first.id]
    assert pages > 1


async def test_open_approvals_are_listed_by_whom_they_name(place: Place) -> None:
    space = place.workspace
    await space.save(ASKS)
    one, two = [await space.start("asks", {"id": number}) for number in range(2)]
    await until_waiting(place.app, 2, "ok")
    page = await space.approvals.page(limit=1)
    assert [each.instance_id for each in page.items] == [two.id]
    [rest] = (await space.approvals.page(limit=1, cursor=page.next_cursor)).items
    assert (rest.instance_id, rest.step_id, rest.users) == (one.id, "ok", ["ann"])
    assert rest.may_decide
    for which, count in (
        (ApprovalFilter(user="ann"), 2),
        (ApprovalFilter(role="board", is_mine=True), 2),
        (ApprovalFilter(user="bob"), 0),
        (ApprovalFilter(is_overdue=True), 0),
    ):
        assert len((await space.approvals.page(which)).items) == count, which
    await one.decide("ok", "approved", by="ann")
    assert [each.instance_id for each in (await space.approvals.page()).items] == [two.id]
