"""A workspace does the same over an engine in this process and over HTTP."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
import pytest

from tenuto import (
    Client,
    Conflict,
    InvalidInput,
    NotFound,
    Status,
    TaskError,
    Tenuto,
    WorkflowFailed,
)
from tenuto.model.edited import EditedInput
from tenuto.model.json import Object
from tenuto.model.task_definition import TaskDefinition, TaskLimits
from tenuto.model.test_run import Mock
from tenuto.store.parts.bulk import BulkRow
from tenuto.testing.wrapped_store import Call
from tenuto.workspace.protocol import Instance, Workspace
from tenuto.workspace.values import BulkOperation, DeadLetterFilter, InstanceFilter, Published
from tests.api.conftest import DOUBLE, REFUSE, WAIT
from tests.engine.situations import until, until_waiting
from tests.kit.scripted_store import ScriptedStore
from tests.workspace.conftest import Place

pytestmark = pytest.mark.asyncio

PAY: Object = {
    "id": "pay",
    "steps": [
        {
            "stepId": "charge",
            "type": "TASK",
            "taskId": "double",
            "transitions": {"default": "wait"},
        },
        {"stepId": "wait", "type": "EVENT_WAIT", "eventPattern": "never"},
    ],
    "compensationSteps": [
        {
            "stepId": "refund",
            "compensationFor": "charge",
            "type": "TASK",
            "taskId": "refund",
            "input": {"why": "{{workflow.instance.cancellation.reason}}"},
        }
    ],
}


async def failed(workspace: Workspace) -> Instance:
    instance = await workspace.start("refuse", {})
    with pytest.raises(WorkflowFailed):
        await instance.result(timeout=30)
    return instance


async def test_definitions_are_saved_read_and_removed(place: Place) -> None:
    workspace = place.workspace
    saved = await workspace.save({**WAIT, "id": "waits"})
    assert (saved.id, saved.version) == ("waits", 1)
    found = await workspace.definition("waits")
    assert (found.id, found.version, found.definition) == ("waits", 1, {**WAIT, "id": "waits"})
    assert "waits" in await workspace.definition_ids()
    instance = await workspace.start("waits", {"orderId": 1})
    with pytest.raises(Conflict):
        await workspace.remove_definition("waits")
    await workspace.remove_definition("waits", force=True)
    assert "waits" not in await workspace.definition_ids()

    async def is_cancelled() -> bool:
        return await instance.status() is Status.CANCELLED

    await until(place.app, is_cancelled)
    with pytest.raises(NotFound):
        await workspace.definition("waits")


async def test_definitions_are_listed_with_their_documents(place: Place) -> None:
    """`GET /workflows?include=definition` lists the newest version of each with its document."""
    workspace = place.workspace
    assert [each.definition for each in await workspace.newest_definitions()] == [
        DOUBLE,
        REFUSE,
        WAIT,
    ]
    [first] = await workspace.newest_definitions(limit=1)
    assert first == await workspace.definition("double")


async def test_many_events_have_a_result_each_in_the_order_asked(place: Place) -> None:
    """Answers over many are `{results: [...]}` in the order asked (batch starts, arrays of events,
    reports; the bare array of `report` stays until 1.0).
    """
    refused, taken, again = await place.workspace.publish_all(
        [{"pattern": "workflow.x"}, {"pattern": "a.b", "id": "e"}, {"pattern": "a.b", "id": "e"}]
    )
    assert isinstance(refused, InvalidInput)
    assert isinstance(taken, Published)
    assert isinstance(again, Published)
    assert (taken.duplicate, again.duplicate) == (False, True)


async def test_instances_are_listed_page_by_page(place: Place) -> None:
    workspace = place.workspace
    started = [await workspace.start("double", {"number": number}) for number in range(3)]
    for each in started:
        await each.result(timeout=30)
    first = await workspace.page(InstanceFilter(workflow="double"), limit=2)
    rest = await workspace.page(
        InstanceFilter(workflow="double"), limit=2, cursor=first.next_cursor
    )
    assert rest.next_cursor is None
    listed = [*first.items, *rest.items]
    assert [each.id for each in listed] == [each.id for each in reversed(started)]
    newest = listed[0]
    assert (newest.output, newest.tenant, newest.root_id) == (4, "default", newest.id)
    assert newest.completed_at is not None
    named = await workspace.page(InstanceFilter(ids=(started[1].id,)))
    assert [each.id for each in named.items] == [started[1].id]
    assert not (await workspace.page(InstanceFilter(status=(Status.FAILED,)))).items


CALL: Object = {
    "id": "call",
    "steps": [{"stepId": "call", "type": "SUB_WORKFLOW", "workflowId": "wait"}],
}


async def test_instances_are_listed_by_family_by_awaited_event_and_by_time_of_change(
    place: Place,
) -> None:
    """`GET /instances` also takes `updatedFrom, updatedBefore, waitingFor=<pattern>, roots=true`
    (no children), `parentId`, and `full=true` with `ids` (whole instances, one read); all by an
    index. With `updatedFrom` or `updatedBefore`, and without `ids`, the list is in the order of
    change, the latest first.
    """
    workspace = place.workspace
    await workspace.save(CALL)
    parent = await workspace.start("call", {"orderId": 1})
    other = await workspace.start("wait", {"orderId": 2})
    await until_waiting(place.app, 2, "paid")
    [child] = await workspace.instances(parent_id=parent.id)
    assert (child.workflow, child.parent_id) == ("wait", parent.id)
    roots = await workspace.instances(roots=True)
    assert [each.id for each in roots] == [other.id, parent.id]
    waits = await workspace.instances(waiting_for="payment.received", roots=True)
    assert [each.id for each in waits] == [other.id]
    done = await workspace.start("double", {"number": 1})
    await done.result(timeout=30)
    await parent.cancel()
    changed = (await workspace.instances(workflow="double"))[0].updated_at
    latest = await workspace.instances(updated_from=changed, status=["CANCELLED", "COMPLETED"])
    assert done.id in {each.id for each in latest}
    assert [each.updated_at for each in latest] == sorted(
        (each.updated_at for each in latest), reverse=True
    )
    before = await workspace.instances(updated_before=changed)
    assert done.id not in {each.id for each in before}
    assert all(each.updated_at < changed for each in before)
    whole = await workspace.details([done.id, "missing", other.id, done.id])
    assert [each["id"] for each in whole] == [done.id, other.id]
    assert whole[0] == {**await done.details(), "currentSteps": []}
    assert whole[1] == {**await other.details(), "currentSteps": ["paid"]}


async def test_an_instance_is_found_by_the_key_that_it_was_started_with(place: Place) -> None:
    workspace = place.workspace
    keyed = await workspace.start("wait", {"orderId": 1}, key="order 1")
    other = await workspace.start("wait", {"orderId": 2}, key="order 2")
    assert [each.id for each in await workspace.instances(key="order 1")] == [keyed.id]
    assert await workspace.instances(key="order 1", workflow="double") == []
    assert await workspace.instances(key="order") == []
    for which in (InstanceFilter(key="order 2", ids=(keyed.id,)), InstanceFilter(key="")):
        with suppress(InvalidInput):
            assert (await workspace.page(which)).items == []
    assert (await workspace.page(InstanceFilter(key="order 2", ids=(other.id,)))).items


@pytest.mark.parametrize(
    "which",
    [
        InstanceFilter(key="order 1"),
        InstanceFilter(workflow="wait", updated_from=datetime(2026, 1, 1, tzinfo=UTC)),
        InstanceFilter(roots=True),
    ],
)
async def test_a_bulk_operation_refuses_a_filter_by_change_and_one_that_finds_everything(
    place: Place, which: InstanceFilter
) -> None:
    with pytest.raises(InvalidInput):
        await place.workspace.bulk.start("cancel", which)


async def test_a_bulk_operation_finds_what_a_list_with_the_same_filter_shows(place: Place) -> None:
    workspace = place.workspace
    await workspace.save(CALL)
    parent = await workspace.start("call", {"orderId": 1})
    await workspace.start("wait", {"orderId": 2})
    await until_waiting(place.app, 2, "paid")
    cases = {
        InstanceFilter(waiting_for="payment.received"): 2,
        InstanceFilter(waiting_for="payment.received", roots=True): 1,
        InstanceFilter(waiting_for="another.event"): 0,
        InstanceFilter(parent_id=parent.id): 1,
        InstanceFilter(parent_id=parent.id, roots=True): 0,
    }
    for which, count in cases.items():
        found = await workspace.bulk.start("cancel", which, dry_run=True)
        assert found.matched == count, which


async def test_a_path_of_a_widget_is_rooted_at_ctx_and_a_cancelled_instance_is_undone(
    place: Place,
) -> None:
    """Widget `path` is rooted at `ctx`, with or without writing it. `cancel` without
    `shouldCompensate` compensates.
    """
    workspace = place.workspace
    await workspace.save(PAY)
    paid = await workspace.start("pay", {"number": 4})
    await until_waiting(place.app, 1)
    for path in ("input.number", "ctx.input.number"):
        shown = await paid.widget("number", {"path": path})
        assert (shown["ready"], shown["data"]) == (True, {"value": 4}), path
    assert (await paid.widget("number", {"path": "ctx.nothing"}))["ready"] is False
    await paid.cancel("why")
    undone = (await paid.details())["compensationState"]
    assert isinstance(undone, dict)
    assert undone["plan"] == ["refund"]


async def test_a_log_is_read_and_followed_from_an_entry_on(place: Place) -> None:
    workspace = place.workspace
    instance = await workspace.start("wait", {"orderId": 1})

    async def is_waiting() -> bool:
        return bool(await instance.waits())

    await until(place.app, is_waiting)
    history = await instance.history()
    last = int(str(history[-1]["seq"]))
    assert await instance.history(after=last) == []
    assert await instance.history(after=last - 1) == history[-1:]
    assert await instance.history(last=2) == history[-2:]
    assert await instance.history(last=last + 7) == history
    assert await instance.history(after=last - 1, last=3) == history[-1:]
    assert await instance.history(last=0) == []
    async with asyncio.timeout(30), aclosing(instance.changes(last)) as changes:
        await workspace.publish("payment.received", {"orderId": 1})
        async for _ in changes:
            if await instance.status() is Status.COMPLETED:
                break
    assert len(await instance.history(after=last)) > 0


async def test_a_failed_task_is_given_another_input(place: Place) -> None:
    instance = await failed(place.workspace)
    edited = EditedInput(step_id="reserve", input="mended")
    assert await instance.retry(edited=edited) is Status.RUNNING
    assert await instance.result(timeout=30) == "done"


async def test_a_failed_compensation_is_given_another_input(place: Place) -> None:
    given = []

    @place.app.task
    async def refund(**input: Any) -> str:  # noqa: ANN401
        given.append(input)
        if "amount" not in input:
            raise TaskError("NO_AMOUNT", "how much?", retryable=False)
        return "done"

    await place.workspace.deploy(PAY)
    instance = await place.workspace.start("pay", {"number": 4})

    async def is_waiting() -> bool:
        return bool(await instance.waits())

    await until(place.app, is_waiting)
    plan: Any = await instance.undo_plan("too late")
    assert plan["plan"][0]["stepId"] == "refund"
    assert plan["plan"][0]["input"] == {"why": "too late"}
    await instance.cancel("too late")

    async def has_failed() -> bool:
        return bool(await place.workspace.dead_letters.list())

    await until(place.app, has_failed)
    status = await instance.retry_compensation("refund", input={"amount": 4})
    assert status is Status.CANCELLED

    async def is_undone() -> bool:
        return given[-1] == {"amount": 4}

    await until(place.app, is_undone)


async def test_dead_letters_are_listed_run_again_and_discarded(place: Place) -> None:
    workspace = place.workspace
    one, other = await failed(workspace), await failed(workspace)
    letters = {str(each["instanceId"]): each for each in await workspace.dead_letters.list()}
    assert set(letters) == {one.id, other.id}
    assert len(await workspace.dead_letters.list(1)) == 1
    error = letters[one.id]["error"]
    assert isinstance(error, dict)
    page = workspace.dead_letters.page
    assert len((await page(code=str(error["code"]), kind="task-failed")).items) == len(letters)
    for none in (page(code="OTHER"), page(workflow="other"), page(task_id="other")):
        assert (await none).items == []
    [group] = (await workspace.dead_letters.groups()).items
    assert (group.code, group.count, group.kind) == (error["code"], 2, "task-failed")
    assert (await workspace.dead_letters.groups(DeadLetterFilter(workflow="other"))).items == []
    letter = await workspace.dead_letters.get(str(letters[one.id]["id"]))
    assert letters[one.id].items() <= letter.items()
    assert letter["history"]
    status = await workspace.dead_letters.retry(str(letter["id"]), input="mended")
    assert status is Status.RUNNING
    assert await one.result(timeout=30) == "done"
    await workspace.dead_letters.discard(str(letters[other.id]["id"]))
    assert await workspace.dead_letters.list() == []
    with pytest.raises(NotFound):
        await workspace.dead_letters.get(str(letter["id"]))


async def test_bulk_operations_are_started_followed_and_listed(place: Place) -> None:
    workspace = place.workspace
    waiting = [await workspace.start("wait", {"orderId": number}) for number in range(3)]
    which = InstanceFilter(workflow="wait")
    counted = await workspace.bulk.start("cancel", which, dry_run=True)
    assert (counted.id, counted.status, counted.matched) == (None, "dry-run", 3)
    with pytest.raises(InvalidInput):
        await workspace.bulk.start("cancel", InstanceFilter())
    started = await workspace.bulk.start("cancel", which, reason="enough", key="k")
    again = await workspace.bulk.start("cancel", which, reason="enough", key="k")
    assert started.id == again.id
    ended = await _ended(place, str(started.id))
    assert (ended.target, ended.action, ended.done, ended.failed) == ("instances", "cancel", 3, 0)
    assert {await each.status() for each in waiting} == {Status.CANCELLED}
    await failed(workspace)
    letters = await workspace.bulk.start_on_dead_letters(
        "discard", DeadLetterFilter(task_id="refuse")
    )
    await _ended(place, str(letters.id))
    assert await workspace.dead_letters.list() == []
    assert [each.id for each in await workspace.bulk.list()] == [letters.id, started.id]
    assert (await workspace.bulk.cancel(str(started.id))).status == "done"
    with pytest.raises(NotFound):
        await workspace.bulk.get("nothing")


async def _ended(place: Place, id: str) -> BulkOperation:
    async with asyncio.timeout(30):
        while (found := await place.workspace.bulk.get(id)).ended_at is None:
            await place.app.bulk_runner.run_once()
    return found


async def test_tasks_are_declared_and_executed(place: Place) -> None:
    tasks = place.workspace.task_definitions
    declared = await tasks.add(TaskDefinition(id="double", kind="pull", description="twice"))
    assert (declared.id, declared.version, declared.description) == ("double", 1, "twice")
    with pytest.raises(Conflict):
        await tasks.add(TaskDefinition(id="double", kind="pull"))
    changed = await tasks.put(TaskDefinition(id="double", kind="pull"))
    assert (changed.version, (await tasks.get("double")).version) == (2, 2)
    assert [each.id for each in await tasks.list()] == ["double"]
    assert list(await tasks.list(after="double")) == []
    ran = await tasks.execute("double", {"number": 4}, key="k")
    assert (await tasks.execute("double", {"number": 4}, key="k")).id == ran.id
    assert await ran.result(timeout=30) == 8
    await tasks.remove("double")
    with pytest.raises(NotFound):
        await tasks.get("double")
    with pytest.raises(NotFound):
        await tasks.execute("nothing")


async def test_definitions_run_with_mocks_before_they_are_saved(place: Place) -> None:
    workspace = place.workspace
    twice: Any = DOUBLE["steps"]
    paid: Any = WAIT["steps"]
    steps = [{**twice[0], "transitions": {"default": "paid"}}, *paid]
    document: Object = {"id": "tried", "steps": steps}
    run = await workspace.test_runs.start(
        document, {"number": 4, "orderId": 1}, mocks={"twice": Mock(output=9)}
    )
    assert (run.not_run, await workspace.definition_ids()) == ([], ["double", "refuse", "wait"])
    instance = workspace.at(run.instance_id)

    async def is_waiting() -> bool:
        return bool(await instance.waits())

    await until(place.app, is_waiting)
    event = {"pattern": "payment.received", "payload": {"orderId": 1}}
    [published] = await workspace.test_runs.publish(run.instance_id, event)
    assert getattr(published, "resumed", 0) == 1
    await instance.result(timeout=30)
    assert await workspace.instances() == []
    await workspace.test_runs.stop(run.instance_id)
    with pytest.raises(NotFound):
        await instance.status()
    with pytest.raises(NotFound):
        await workspace.test_runs.stop(run.instance_id)


async def test_events_are_listed_newest_first(place: Place) -> None:
    workspace = place.workspace
    for number in (1, 2):
        await workspace.publish("payment.received", {"n": number}, id=f"e{number}")
    assert [each["eventId"] for each in await workspace.events()] == ["e2", "e1"]
    assert await workspace.events(pattern="other") == []
    later = place.app.engine.clock.now() + timedelta(hours=1)
    assert await workspace.events(since=later) == []


async def test_keys_are_made_and_revoked_and_the_audit_log_tells_of_it(place: Place) -> None:
    workspace = place.workspace
    made = await workspace.keys.create("deploys", role="operator", scopes=["workflows:read"])
    assert str(made["key"]).startswith("tnt_")
    [listed] = await place.app.keys.list()
    assert listed == {name: value for name, value in made.items() if name != "key"}
    with pytest.raises(InvalidInput):
        await place.app.keys.create("none", role="emperor")
    with pytest.raises(NotFound):
        await place.app.keys.revoke("nothing")
    await place.app.keys.revoke(str(made["id"]))
    assert [each["state"] for each in await place.app.keys.list()] == ["revoked"]
    page = await place.app.audit.page(action="revoke_key", limit=2)
    assert [each["outcome"] for each in page.items] == ["done", "asked"]
    rest = await place.app.audit.page(action="revoke_key", cursor=page.next_cursor)
    assert [each["outcome"] for each in rest.items] == ["failed", "asked"]


async def test_the_audit_log_is_read_exported_and_verified(place: Place) -> None:
    workspace = place.workspace
    for id in ("a", "b"):
        with pytest.raises(NotFound):
            await place.app.keys.revoke(id)
    first = await workspace.audit.page(limit=3)
    rest = await workspace.audit.page(limit=3, cursor=first.next_cursor)
    lines = [each["number"] for each in (*first.items, *rest.items)]
    assert (lines, rest.next_cursor) == ([4, 3, 2, 1], None)
    exported = [line async for line in workspace.audit.export()]
    assert len(exported) == 4
    verdict = await workspace.audit.verify()
    assert (verdict["tenant"], verdict["lines"], verdict["problem"]) == ("default", 4, None)
    assert await workspace.audit.verify(f"4:{verdict['hash']}") == verdict


async def test_statistics_count_instances(place: Place) -> None:
    await (await place.workspace.start("double", {"number": 1})).result(timeout=30)
    stats = await place.workspace.stats(hours=1)
    assert (stats["total"], stats["byStatus"]) == (1, {"COMPLETED": 1})


async def test_a_decision_is_in_the_name_of_the_principal_unless_another_is_named(
    place: Place,
) -> None:
    step: Object = {
        "stepId": "review",
        "type": "APPROVAL",
        "assignees": {"users": ["ann", "app", "local"]},
    }
    await place.workspace.deploy({"id": "approve", "steps": [step]})
    instance = await place.workspace.start("approve")
    await instance.decide("review", "approved")
    output: Any = await instance.result(timeout=30)
    assert output["by"] == ("local" if isinstance(place.workspace, Client) else "app")


@pytest.mark.parametrize(
    ("action", "which"),
    [
        ("explode", InstanceFilter(workflow="wait")),
        ("discard", InstanceFilter(workflow="wait")),
        ("cancel", InstanceFilter(status=cast("Any", ("SLEEPING",)))),
        ("cancel", InstanceFilter(status=cast("Any", "RUNNING"))),
        ("cancel", InstanceFilter(ids=cast("Any", "i-1"))),
        ("cancel", InstanceFilter(created_from=cast("Any", "yesterday"))),
        ("cancel", DeadLetterFilter(task_id="double")),
        ("retry", DeadLetterFilter(ids=cast("Any", "i-1"))),
    ],
)
async def test_a_bulk_operation_that_cannot_be_is_refused(
    action: str, which: InstanceFilter | DeadLetterFilter
) -> None:
    async with Tenuto() as app:
        bulk: Any = app.bulk
        is_of_letters = isinstance(which, DeadLetterFilter)
        start = bulk.start_on_dead_letters if is_of_letters else bulk.start
        with pytest.raises(InvalidInput) as refused:
            await start(action, which)
        assert [each.code for each in refused.value.problems] == ["TEN-2031"]
        assert await app.bulk.list() == []


@pytest.mark.parametrize("action", ["explode", "discard"])
async def test_a_bulk_operation_that_cannot_be_read_stops_no_other(
    action: str, caplog: pytest.LogCaptureFixture
) -> None:
    content = {"target": "instances", "action": action, "which": {}, "by": "app"}
    store, saved = ScriptedStore(), asyncio.Event()

    async def noted(call: Call) -> object:
        try:
            return await call()
        finally:
            saved.set()

    store.on("bulk.save", noted)
    async with Tenuto(store) as app:
        await app.deploy(WAIT)
        waiting = await app.start("wait", {"orderId": 1})
        row = BulkRow(
            tenant="default",
            id="bad",
            content=msgspec.json.encode(content),
            progress=b"{}",
            created_at=app.engine.clock.now() + timedelta(hours=1),
        )
        await app.engine.store.bulk.put(row)
        started = await app.bulk.start("cancel", InstanceFilter(workflow="wait"))
        for limit in (1, 100):
            assert [each.id for each in await app.bulk.list(limit)] == [started.id]
        with pytest.raises(NotFound):
            await app.bulk.get("bad")

        async def are_over() -> bool:
            rows = await store.bulk.page("default", 9)
            return not any(row.is_open for row in rows)

        while not await are_over():
            await saved.wait()
            saved.clear()
        assert await waiting.status() is Status.CANCELLED
        assert "cannot be read" in caplog.text


@pytest.mark.parametrize("tenant", ["default", "shop"])
@pytest.mark.parametrize("is_removed", [False, True])
async def test_a_program_without_a_service_runs_its_own_bulk_operations(
    tenant: str, *, is_removed: bool
) -> None:
    async with Tenuto() as app:
        mine = app if tenant == "default" else app.workspace(tenant, "ann")
        await mine.deploy(WAIT)
        waiting = await mine.start("wait", {"orderId": 1})
        if is_removed:
            await mine.remove_definition("wait", force=True)
        else:
            await mine.bulk.start("cancel", InstanceFilter(workflow="wait"))

        async def is_cancelled() -> bool:
            return await waiting.status() is Status.CANCELLED

        await until(app, is_cancelled)


def runs_bulk_operations() -> bool:
    return any("BulkRunner" in repr(each.get_coro()) for each in asyncio.all_tasks())


async def test_reading_bulk_operations_starts_nothing() -> None:
    app = Tenuto()
    await asyncio.to_thread(lambda: app.bulk)  # No event loop is needed.
    async with app:
        assert await app.bulk.list() == []
        with pytest.raises(NotFound):
            await app.bulk.get("nothing")
        assert not runs_bulk_operations()
        await app.bulk.start("cancel", InstanceFilter(workflow="wait"))
        assert runs_bulk_operations()
    assert not runs_bulk_operations()


async def test_a_bulk_operation_after_the_close_is_not_run() -> None:
    async with Tenuto() as app:
        await app.bulk_runner.stop()
        await app.bulk.start("cancel", InstanceFilter(workflow="wait"))
        assert not runs_bulk_operations()


async def test_numbers_out_of_range_are_refused(place: Place) -> None:
    space = place.workspace
    for limit in (0, -1, 1_001):
        with pytest.raises(InvalidInput) as refused:
            await space.audit.page(limit=limit)
        assert [(each.code, each.path) for each in refused.value.problems] == [
            ("TEN-2031", "$.limit")
        ]
    for hours in (0, -1, 169, 10**9):
        with pytest.raises(InvalidInput) as refused:
            await space.stats(hours)
        assert [(each.code, each.path) for each in refused.value.problems] == [
            ("TEN-2031", "$.hours")
        ]


async def test_a_list_takes_any_limit_and_a_page_one_of_up_to_a_thousand(place: Place) -> None:
    space = place.workspace
    await space.start("wait", {"id": 7})
    await space.publish("noise")
    await space.task_definitions.add(TaskDefinition(id="charge", kind="pull"))
    for listed, expected in (
        (space.instances(limit=5_000), 1),
        (space.events(limit=5_000), 1),
        (space.task_definitions.list(limit=5_000), 1),
        (space.task_definitions.list(after="charge", limit=5_000), 0),
        (space.dead_letters.list(5_000), 0),
        (space.bulk.list(5_000), 0),
    ):
        assert len(await listed) == expected
    for page in (space.page, space.audit.page):
        await page(limit=1_000)
        with pytest.raises(InvalidInput) as caught:
            await page(limit=1_001)
        assert [each.path for each in caught.value.problems] == ["$.limit"]


async def test_ids_of_definitions_are_those_that_are_there_and_no_document_is_read() -> None:
    async with Tenuto() as app:
        for document in (DOUBLE, WAIT):
            await app.deploy(document)
        await app.test_runs.start(DOUBLE, {"number": 1})
        await app.remove_definition("double")
        app.engine.store.definitions.newest = None  # type: ignore[assignment,method-assign]
        assert await app.definition_ids() == ["wait"]


async def test_a_key_of_wrong_values_is_refused(place: Place) -> None:
    keys: Any = place.workspace.keys
    for name, role, scopes in ((None, "viewer", None), ("k", 7, None), ("k", "viewer", "abc")):
        with pytest.raises(InvalidInput):
            await keys.create(name, role=role, scopes=scopes)
    assert await keys.list() == []


async def test_the_audit_log_has_a_key_that_failed_for_any_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("no disk")

    async with Tenuto() as app:
        monkeypatch.setattr(type(app.engine.store.access), "put_key", broken)
        with pytest.raises(RuntimeError):
            await app.keys.create("k", role="viewer")
        lines = (await app.audit.page()).items
        assert [(each["outcome"], each["after"]) for each in lines] == [
            ("failed", {"code": "TEN-4000"}),
            ("asked", None),
        ]


@pytest.mark.parametrize(
    "wrong", [{"kind": "zzz"}, {"url": 7}, {"limits": TaskLimits(concurrency=0)}]
)
async def test_a_task_of_wrong_values_is_not_declared(place: Place, wrong: Any) -> None:  # noqa: ANN401
    tasks, task = place.workspace.task_definitions, TaskDefinition(id="t", kind="pull")
    for declare in (tasks.add, tasks.put):
        with pytest.raises(InvalidInput):
            await declare(msgspec.structs.replace(task, **wrong))
    assert await tasks.list() == []
