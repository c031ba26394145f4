"""Workflows that start workflows: in one process, across restarts, and when letters come twice."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenuto import (
    Conflict,
    Context,
    Settings,
    Status,
    Tenuto,
    WorkflowFailed,
    child,
    workflow,
)
from tenuto.core import Plan
from tenuto.engine.definitions.input_checks import InputChecks
from tenuto.engine.upkeep.verification import verify
from tenuto.model.effects import SendMail
from tenuto.model.errors import Problem
from tenuto.model.failure import Failure
from tenuto.model.family import Parent, child_id
from tenuto.model.graph import Definition
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import CancelAsked, ChildReported, Started, TaskFailed
from tenuto.model.json import JSON, Object
from tenuto.model.policy import Limits
from tenuto.store.memory import MemoryStore
from tenuto.store.parts.instances import InstanceQuery, InstanceRow
from tenuto.store.parts.mailbox import Mail
from tests.engine.situations import Moody, at_rest, until
from tests.kit.scripted_store import ScriptedStore

pytestmark = pytest.mark.asyncio

ALONE = Settings(mail_every=3600, project_every=3600)
"""What goes on goes on without a look into the mailbox."""
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def step(id: str, type: str, **fields: JSON) -> Object:
    return {"stepId": id, "type": type, **fields}


def parent_of(workflow: str = "inner", **fields: JSON) -> Object:
    call = step("call", "SUB_WORKFLOW", workflowId=workflow, **fields)
    return {"id": "outer", "steps": [call]}


def inner(*steps: Object, **more: JSON) -> Object:
    return {"id": "inner", "steps": list(steps), **more}


WORK = inner(step("work", "TASK", taskId="work"))
WAIT = inner(step("wait", "EVENT_WAIT", eventPattern="go"))
ONCE: Object = {"maxAttempts": 1}


class Lanes(ScriptedStore):
    """Parent and child in different lanes."""

    lanes = 3


def tasks(app: Tenuto) -> list[Any]:
    """What the task `work` was given, by `app`."""
    given: list[Any] = []

    @app.task
    async def work(input: Any) -> Any:  # noqa: ANN401
        given.append(input)
        if isinstance(input, dict) and input.get("fail"):
            raise ValueError(input["fail"])
        return {"did": input}

    return given


async def rows(app: Tenuto, workflow: str = "inner") -> list[InstanceRow]:
    query = InstanceQuery(definition_id=workflow, limit=1_000)
    return (await app.engine.store.instances.page(query)).items


async def only_child(app: Tenuto) -> InstanceRow:
    (row,) = await rows(app)
    return row


async def until_child(app: Tenuto, *statuses: Status) -> InstanceRow:
    async def holds() -> bool:
        return any(row.status in statuses for row in await rows(app))

    await until(app, holds)
    return next(row for row in await rows(app) if row.status in statuses)


async def kinds(app: Tenuto, id: str) -> list[str]:
    return [str(item["eventType"]) for item in await (await app.instance(id)).history()]


async def assert_in_order(app: Tenuto) -> None:
    """No letter is left, and what is stored follows from the logs."""
    await at_rest(app)
    assert await app.engine.store.mailbox.claim(100) == []
    async for verdict in verify(app.engine.store, app.engine.plans):
        assert verdict.differences == ()


@pytest.mark.parametrize("store", [MemoryStore, Lanes])
async def test_a_parent_waits_for_the_output_of_its_child(store: type[MemoryStore]) -> None:
    """`SUB_WORKFLOW` / `subWorkflow` starts another workflow and waits for its output."""
    async with Tenuto(store(), settings=ALONE) as app:
        given = tasks(app)
        await app.deploy(WORK)
        await app.deploy(parent_of(input={"n": "{{ctx.input.n}}"}, outputVariable="v"))
        parents = [await app.start("outer", {"n": n}) for n in range(10)]
        for n, parent in enumerate(parents):
            assert await parent.result(10) == {"did": {"n": n}}
        assert sorted(each["n"] for each in given) == list(range(10))
        assert {row.parent_id for row in await rows(app)} == {parent.id for parent in parents}
        await assert_in_order(app)


async def test_a_childs_tasks_carry_the_childs_instance_id() -> None:
    """A child's tasks carry the child's `instanceId`."""
    async with Tenuto(settings=ALONE) as app:
        seen: list[str] = []

        @app.task
        async def work(ctx: Context) -> None:
            seen.append(ctx.instance_id)

        await app.deploy(WORK)
        await app.deploy(parent_of())
        await (await app.start("outer")).result(10)
        assert seen == [(await only_child(app)).id]


async def test_who_belongs_to_whom_is_shown() -> None:
    async with Tenuto(settings=ALONE) as app:
        tasks(app)
        await app.deploy(WORK)
        middle = step("call", "SUB_WORKFLOW", workflowId="inner")
        await app.deploy({"id": "middle", "steps": [middle]})
        await app.deploy(parent_of("middle"))
        root = await app.start("outer", correlation_id="o-1", priority=3)
        await root.result(10)
        (between,) = await rows(app, "middle")
        bottom = await only_child(app)
        shown = await (await app.instance(bottom.id)).details()
        assert (shown["parentId"], shown["rootId"]) == (between.id, root.id)
        assert (shown["correlationId"], shown["priority"]) == ("o-1", 3)
        assert (bottom.parent_id, bottom.root_id) == (between.id, root.id)
        top = await root.details()
        assert top["rootId"] == root.id
        assert "parentId" not in top
        (item,) = [i for i in await root.history() if i["eventType"] == "CHILD_STARTED"]
        assert item["payload"] == {"childId": between.id, "workflowId": "middle", "version": 1}


async def test_a_failed_child_is_tried_again_as_another_instance() -> None:
    """failure comes up"""
    async with Tenuto(settings=ALONE) as app:
        given = tasks(app)
        await app.deploy(inner(step("work", "TASK", taskId="work", retry=ONCE)))
        retry: Object = {"maxAttempts": 3, "initialDelay": "PT0.001S"}
        await app.deploy(parent_of(retry=retry))
        parent = await app.start("outer", {"fail": "no luck"})
        with pytest.raises(WorkflowFailed) as failed:
            await parent.result(10)
        assert failed.value.error.code == "CHILD_FAILED"
        assert failed.value.error.message == "inner failed: no luck"
        assert len(given) == 3
        children = await rows(app)
        assert len({row.id for row in children}) == 3
        assert {row.status for row in children} == {Status.FAILED}
        await assert_in_order(app)


async def test_the_version_is_kept_while_newer_ones_are_saved() -> None:
    """`subWorkflow {workflowId, version?, input}`: without `version` the newest when first
    dispatched, recorded, kept for all attempts; a child's id is a UUID whose time prefix is the
    `at` of the entry that dispatched it and whose rest is a hash of (parent, node, iteration,
    attempt); a cancelled child fails the node (`CHILD_CANCELLED`, not retryable); depth ≤ 20.
    """
    async with Tenuto(settings=ALONE) as app:

        @app.task
        async def work() -> None:
            await app.deploy(inner(step("other", "TASK", taskId="fine")))
            raise ValueError("once more")

        @app.task
        async def fine() -> str:
            return "newer"

        await app.deploy(inner(step("work", "TASK", taskId="work", retry=ONCE)))
        await app.deploy(parent_of(retry={"maxAttempts": 2, "initialDelay": "PT0.001S"}))
        with pytest.raises(WorkflowFailed):
            await (await app.start("outer")).result(10)
        assert {row.definition_version for row in await rows(app)} == {1}
        assert await (await app.start("outer")).result(10) == "newer"


async def test_a_version_can_be_named() -> None:
    async with Tenuto(settings=ALONE) as app:
        tasks(app)
        await app.deploy(inner(step("e", "DELAY", duration="PT0S")))
        await app.deploy(WORK)
        await app.deploy(parent_of(version=1))
        assert await (await app.start("outer", {"n": 1})).result(10) is None


@pytest.mark.parametrize(
    ("call", "child", "code"),
    [
        ({"workflow": "nowhere"}, WORK, "UNKNOWN_WORKFLOW"),
        ({"version": 9}, WORK, "UNKNOWN_WORKFLOW"),
        ({}, inner(step("w", "TASK", taskId="nobody")), "UNKNOWN_TASK"),
        ({}, {**WORK, "inputSchema": {"required": ["x"]}}, "INVALID_INPUT"),
        ({"input": "{{ctx.input.nope()}}"}, WORK, "EXPRESSION_ERROR"),
        ({"input": "x" * 1_000_001}, WORK, "TOO_LARGE"),
    ],
)
async def test_a_child_that_cannot_start_fails_the_step(
    call: dict[str, Any], child: Object, code: str
) -> None:
    """A `subWorkflow` may name its own definition, or one that is not there yet (a warning at save;
    `UNKNOWN_WORKFLOW` when dispatched)."""
    async with Tenuto(settings=ALONE) as app:
        tasks(app)
        await app.deploy(child)
        await app.deploy(parent_of(**call))
        parent = await app.start("outer", {"n": 1})
        with pytest.raises(WorkflowFailed) as failed:
            await parent.result(10)
        assert failed.value.error.code == code
        assert (await kinds(app, parent.id)).count("NODE_FAILED") == 1
        assert await rows(app) == []


async def test_a_workflow_that_is_not_there_yet_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A `subWorkflow` may name its own definition, or one that is not there yet (a warning at save;
    `UNKNOWN_WORKFLOW` when dispatched).
    """
    async with Tenuto(settings=ALONE) as app:
        tasks(app)
        await app.deploy(parent_of(version=2))
        [message] = caplog.messages
        assert message == "definition=outer starts inner version 2, which is not saved yet"
        caplog.clear()
        await app.deploy(parent_of("outer"))
        await app.deploy(WORK)
        await app.deploy(parent_of())
        assert caplog.messages == []


async def test_a_child_whose_start_is_refused_fails_the_step() -> None:
    async with Tenuto(settings=ALONE) as app:
        tasks(app)
        await app.deploy({**WORK, "options": {"deadline": "{{ctx.input.when}}"}})
        await app.deploy(parent_of())
        with pytest.raises(WorkflowFailed) as failed:
            await (await app.start("outer", {"when": "soon"})).result(10)
        assert failed.value.error.code == "CHILD_FAILED"
        details: Any = failed.value.error.details
        assert details["error"]["code"] == "INVALID_INPUT"
        assert await rows(app) == []
        await assert_in_order(app)


async def test_a_workflow_that_starts_itself_without_end_is_stopped() -> None:
    """`subWorkflow {workflowId, version?, input}`: without `version` the newest when first
    dispatched, recorded, kept for all attempts; a child's id is a UUID whose time prefix is the
    `at` of the entry that dispatched it and whose rest is a hash of (parent, node, iteration,
    attempt); a cancelled child fails the node (`CHILD_CANCELLED`, not retryable); depth ≤ 20.
    """
    async with Tenuto(settings=ALONE) as app:
        await app.deploy(parent_of("outer"))
        root = await app.start("outer")
        with pytest.raises(WorkflowFailed) as failed:
            await root.result(30)
        deepest: Any = {"details": failed.value.error.details}
        while "error" in (deepest.get("details") or {}):
            deepest = deepest["details"]["error"]
        assert deepest["code"] == "CHILD_DEPTH"
        found = await rows(app, "outer")
        assert len(found) == 21
        assert {row.status for row in found} == {Status.FAILED}
        await assert_in_order(app)


async def test_each_item_of_a_loop_may_be_a_workflow() -> None:
    async with Tenuto(settings=ALONE) as app:
        tasks(app)
        await app.deploy(WORK)
        each = step(
            "each",
            "LOOP",
            source="{{ctx.input}}",
            mode="parallel",
            concurrency=7,
            transitions={"loop": "call"},
        )
        call = step("call", "SUB_WORKFLOW", workflowId="inner", input="{{ctx.item}}")
        await app.deploy({"id": "outer", "steps": [each, call]})
        parent = await app.start("outer", list(range(30)))
        assert await parent.result(10) == [{"did": n} for n in range(30)]
        assert len(await rows(app)) == 30
        await assert_in_order(app)


async def test_a_workflow_function_is_a_step_of_another() -> None:
    async with Tenuto(settings=ALONE) as app:

        @app.task
        async def double(number: int) -> int:
            return number * 2

        @workflow
        def twice(number: int) -> int:
            return double(double(number))

        @workflow
        def whole(number: int) -> int:
            return double(child(twice, number))

        parent = await app.start(whole, 5)
        assert await parent.result(10) == 40
        (inside,) = await rows(app, "twice")
        assert (inside.parent_id, inside.status) == (parent.id, Status.COMPLETED)


async def test_a_failed_child_is_retried_through_its_parent() -> None:
    """A failed child is retried through its parent."""
    async with Tenuto(settings=ALONE) as app:
        broken = True

        @app.task
        async def work() -> str:
            if broken:
                raise ValueError("not yet")
            return "mended"

        await app.deploy(inner(step("work", "TASK", taskId="work", retry=ONCE)))
        await app.deploy(parent_of(retry=ONCE))
        parent = await app.start("outer")
        with pytest.raises(WorkflowFailed):
            await parent.result(10)
        first = await only_child(app)
        with pytest.raises(Conflict):
            await (await app.instance(first.id)).retry()
        broken = False
        await parent.retry()
        assert await parent.result(10) == "mended"
        assert len(await rows(app)) == 2
        await assert_in_order(app)


# -- down


async def test_cancelling_the_parent_cancels_the_child() -> None:
    """`cancellation` = `{reason, requestedBy, requestedAt, source, eventId?, shouldCompensate}`;
    `requestedBy` is `system` for EVENT and TIMEOUT, the parent's id for PARENT.
    """
    async with Tenuto(settings=ALONE) as app:
        await app.deploy(WAIT)
        await app.deploy(parent_of())
        parent = await app.start("outer")
        child = await until_child(app, Status.WAITING_FOR_EVENT)
        assert await parent.cancel("enough") is Status.CANCELLED
        await until_child(app, Status.CANCELLED)
        shown: Any = await (await app.instance(child.id)).details()
        assert shown["cancellation"]["source"] == "PARENT"
        assert shown["cancellation"]["requestedBy"] == parent.id
        assert shown["cancellation"]["reason"] == "enough"
        await assert_in_order(app)


async def test_cancelling_at_each_point_leaves_nothing_running() -> None:
    for turns in range(25):
        async with Tenuto(settings=ALONE) as app:
            tasks(app)
            await app.deploy(
                inner(
                    step("work", "TASK", taskId="work", transitions={"default": "w"}),
                    step("w", "EVENT_WAIT", eventPattern="go"),
                )
            )
            await app.deploy(parent_of())
            parent = await app.start("outer", {"n": 1})
            for _ in range(turns):
                await asyncio.sleep(0)
            await parent.cancel()
            await at_rest(app)

            async def are_cancelled(app: Tenuto = app) -> bool:
                return {row.status for row in await rows(app)} <= {Status.CANCELLED}

            await until(app, are_cancelled)
            assert await parent.status() is Status.CANCELLED
            await assert_in_order(app)


async def test_a_cancelled_child_fails_its_parent() -> None:
    """`subWorkflow {workflowId, version?, input}`: without `version` the newest when first
    dispatched, recorded, kept for all attempts; a child's id is a UUID whose time prefix is the
    `at` of the entry that dispatched it and whose rest is a hash of (parent, node, iteration,
    attempt); a cancelled child fails the node (`CHILD_CANCELLED`, not retryable); depth ≤ 20.
    """
    async with Tenuto(settings=ALONE) as app:
        await app.deploy(WAIT)
        await app.deploy(parent_of())
        parent = await app.start("outer")
        child = await until_child(app, Status.WAITING_FOR_EVENT)
        await (await app.instance(child.id)).cancel("not today")
        with pytest.raises(WorkflowFailed) as failed:
            await parent.result(10)
        assert failed.value.error.code == "CHILD_CANCELLED"
        await assert_in_order(app)


async def test_the_deadline_of_the_parent_bounds_the_child() -> None:
    """cancellation and deadline go down"""
    async with Tenuto(settings=ALONE) as app:
        await app.deploy(WAIT)
        await app.deploy(parent_of())
        deadline = app.engine.clock.now() + timedelta(days=1)
        await app.start("outer", deadline=deadline)
        assert (await until_child(app, Status.WAITING_FOR_EVENT)).deadline == deadline


async def test_the_timeout_of_the_step_ends_the_child() -> None:
    """on waits, approvals, delays, loops and children it bounds the whole node"""
    async with Tenuto(settings=ALONE) as app:
        await app.deploy(WAIT)
        await app.deploy(parent_of(timeout="PT0.02S"))
        with pytest.raises(WorkflowFailed) as failed:
            await (await app.start("outer")).result(10)
        assert failed.value.error.code == "TIMEOUT"
        await until_child(app, Status.CANCELLED)
        await assert_in_order(app)


async def test_pausing_the_parent_leaves_the_child_alone() -> None:
    async with Tenuto(settings=ALONE) as app:
        await app.deploy(WAIT)
        await app.deploy(parent_of())
        parent = await app.start("outer")
        await until_child(app, Status.WAITING_FOR_EVENT)
        await parent.pause()
        await app.publish("go", {"n": 1})
        await until_child(app, Status.COMPLETED)
        await at_rest(app)
        assert await parent.status() is Status.PAUSED
        await parent.resume()
        output: Any = await parent.result(10)
        assert output["payload"] == {"n": 1}


# -- letters


def letter(id: str, to: str, input: Any) -> Mail:  # noqa: ANN401
    return Mail(id=id, instance_id=to, input=msgspec.json.encode(input), created_at=NOON)


async def test_a_start_that_comes_twice_changes_nothing() -> None:
    async with Tenuto(settings=ALONE) as app:
        given = tasks(app)
        await app.deploy(WORK)
        await app.deploy(parent_of())
        parent = await app.start("outer", {"n": 1})
        await parent.result(10)
        child = await only_child(app)
        before = await kinds(app, child.id)
        again = Started(
            definition_id="inner",
            definition_version=1,
            input={"n": 2},
            parent=Parent(id=parent.id, node="call", root_id=parent.id, depth=1),
        )
        await app.engine.store.mailbox.send([letter("again", child.id, again)])
        assert await app.engine.effects.mailbox.run_once() == 1
        await assert_in_order(app)
        assert await kinds(app, child.id) == before
        assert given == [{"n": 1}]


async def test_a_late_report_and_a_letter_to_nobody_are_taken_off() -> None:
    async with Tenuto(settings=ALONE) as app:
        tasks(app)
        await app.deploy(WORK)
        await app.deploy(parent_of())
        parent = await app.start("outer", {"n": 1})
        await parent.result(10)
        before = await kinds(app, parent.id)
        late = ChildReported(node="call", attempt=1, child_id="x", status=Status.FAILED)
        nobody = child_id(NOON, "nobody", NodeKey("n"), 1)
        error = Failure(code="X", message="x")
        await app.engine.store.mailbox.send(
            [
                letter("late", parent.id, late),
                letter("cancel", nobody, CancelAsked(by="nobody", source="PARENT")),
                letter("report", nobody, TaskFailed(node="a", attempt=1, error=error)),
            ]
        )
        await app.engine.effects.mailbox.run_once()
        await assert_in_order(app)
        assert await kinds(app, parent.id) == before
        assert await app.engine.store.turns.load([nobody]) == {}


async def test_a_cancel_that_overtakes_the_start_is_kept() -> None:
    """Reordering: the child does not begin at all."""
    async with Tenuto(settings=ALONE) as app:
        await app.deploy(WAIT)
        id = child_id(NOON, "nobody", NodeKey("n"), 1)
        await app.deploy({**WAIT, "id": "other"})
        other = (await app.start("other")).id
        parent = Parent(id=other, node="n", root_id=other, depth=1)
        start = Started(definition_id="inner", definition_version=1, input=None, parent=parent)
        cancel = CancelAsked(by=other, source="PARENT")
        store, mailroom = app.engine.store, app.engine.effects.mailbox
        await store.mailbox.send([letter("start", id, start), letter("cancel", id, cancel)])
        # The cancel is handed over first, as a hint, and finds nobody.
        mailroom.send(SendMail(to=id, id="cancel", at=NOON, input=cancel), "default")
        await at_rest(app)
        assert isinstance(store, MemoryStore)
        assert len(store.disk.mail) == 2
        while await mailroom.run_once():
            await at_rest(app)
        assert await rows(app) == []
        # Its parent does not wait for it: what that is owed goes too.
        await mailroom.run_once()
        await assert_in_order(app)


@pytest.mark.parametrize("tie", ["parent", "rerun"])
async def test_what_a_letter_starts_belongs_to_whom_it_comes_from(tie: str) -> None:
    """The tenant is read off the instance that wrote the letter, never made up."""
    async with Tenuto(settings=ALONE) as app:
        engine = app.engine
        for tenant in ("acme", "default"):
            await engine.plans.save(tenant, WAIT)
        plan = (await engine.plans.get("acme", "inner")).plan
        begun = Started(definition_id="inner", definition_version=1, input=None)
        source = (await engine.start(plan, begun, tenant="acme")).instance_id
        parent = Parent(id=source, node="n", root_id=source, depth=1)
        start = (
            msgspec.structs.replace(begun, parent=parent)
            if tie == "parent"
            else msgspec.structs.replace(begun, rerun_of=source)
        )
        id = str(uuid.uuid4())
        await engine.store.mailbox.send([letter("start", id, start)])
        await engine.effects.mailbox.run_once()
        await at_rest(app)
        assert (await engine.store.turns.load([id]))[id].row.tenant == "acme"


@pytest.mark.parametrize("tie", ["parent", "rerun"])
async def test_what_comes_from_nobody_is_not_started_for_anybody(tie: str) -> None:
    async with Tenuto(settings=ALONE) as app:
        await app.deploy(WAIT)
        gone, id = str(uuid.uuid4()), str(uuid.uuid4())
        parent = Parent(id=gone, node="n", root_id=gone, depth=1) if tie == "parent" else None
        start = Started(
            definition_id="inner",
            definition_version=1,
            input=None,
            parent=parent,
            rerun_of=None if parent else gone,
        )
        store, mailroom = app.engine.store, app.engine.effects.mailbox
        await store.mailbox.send([letter("start", id, start)])
        while await mailroom.run_once():
            await at_rest(app)
        assert await rows(app) == []
        assert await store.mailbox.claim(10) == []


async def test_a_workflow_that_is_gone_when_the_letter_comes_fails_the_step() -> None:
    """Its version was deleted between its being found and its start."""
    async with Tenuto(settings=ALONE) as app:
        tasks(app)
        await app.deploy(WORK)
        await app.deploy(parent_of())

        plans = app.engine.plans
        plans.known = lambda *_: None  # type: ignore[method-assign]
        get = plans.get

        async def gone(tenant: str, id: str, version: int | None = None) -> Any:  # noqa: ANN401
            return await get(tenant, id if version is None else f"no {id}", version)

        parent = await app.start("outer", {"n": 1})
        plans.get = gone  # type: ignore[method-assign]
        with pytest.raises(WorkflowFailed) as failed:
            await parent.result(10)
        details: Any = failed.value.error.details
        assert details["error"]["code"] == "UNKNOWN_WORKFLOW"
        plans.get = get  # type: ignore[method-assign]
        await assert_in_order(app)


# -- restarts


async def test_a_child_goes_on_in_the_next_process_and_so_does_its_parent(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/family.db"
    async with Tenuto(url) as app:
        await app.deploy(WAIT)
        await app.deploy(parent_of())
        parent = await app.start("outer")
        await until_child(app, Status.WAITING_FOR_EVENT)
    async with Tenuto(url) as app:
        await app.publish("go", {"n": 1})
        output: Any = await (await app.instance(parent.id)).result(10)
        assert output["payload"] == {"n": 1}
        await assert_in_order(app)


async def test_a_store_that_is_away_delays_a_child_and_loses_none() -> None:
    for first_bad in range(12):
        store = Moody()
        async with Tenuto(store, settings=Settings(mail_every=0.05)) as app:
            tasks(app)
            await app.deploy(WORK)
            await app.deploy(parent_of())
            parent = await app.start("outer", {"n": 1})
            store.moods = ["well"] * first_bad + ["away", "unknown", "unknown-done"]
            assert await parent.result(10) == {"did": {"n": 1}}
            assert len(await rows(app)) == 1
            await assert_in_order(app)


@pytest.mark.slow
async def test_hundreds_of_children_of_one_parent(tmp_path: Path) -> None:
    async with Tenuto(f"sqlite:///{tmp_path}/many.db") as app:
        tasks(app)
        await app.deploy(WORK)
        call: Object = {"id": "c", "type": "subWorkflow", "config": {"workflowId": "inner"}}
        nodes: list[JSON] = [{**call, "id": f"c{n}"} for n in range(300)]
        await app.deploy({"id": "outer", "nodes": nodes, "edges": []})
        output: Any = await (await app.start("outer", {"n": 1})).result(60)
        assert len(output) == 300
        await assert_in_order(app)


async def test_an_input_that_all_children_of_a_loop_share_is_checked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A check takes as long as the input is large, and there may be thousands of children."""
    checked: list[JSON] = []
    check = InputChecks.problems

    async def counted(
        self: InputChecks, plan: Plan, input: JSON, limits: Limits, *, tenant: str
    ) -> list[Problem]:
        checked.append(input)
        return await check(self, plan, input, limits, tenant=tenant)

    monkeypatch.setattr(InputChecks, "problems", counted)
    async with Tenuto() as app:
        tasks(app)
        await app.deploy(WORK)
        call = step("call", "SUB_WORKFLOW", workflowId="inner")
        loop = step(
            *("all", "LOOP"),
            source="{{ctx.input.items}}",
            mode="parallel",
            transitions={"loop": "call"},
        )
        await app.deploy({"id": "outer", "steps": [loop, call]})
        instance = await app.start("outer", {"items": [1, 2, 3, 4, 5]})
        await instance.result()
        assert len(await rows(app)) == 5
    assert checked == [{"items": [1, 2, 3, 4, 5]}]


_NUMBERS: Object = {"type": "object", "properties": {"all": {"items": {"type": "integer"}}}}


@pytest.mark.parametrize("is_fit", [True, False])
async def test_costly_inputs_of_children_and_of_starts_by_events_leave_the_loop_to_others(
    *, is_fit: bool
) -> None:
    """A check of a million steps kept everything waiting for a part of a second."""
    problems: list[object] = []

    async with Tenuto() as app:
        tasks(app)
        trigger: Object = {"eventPattern": "go", "inputMapping": {"all": "{{event.payload.all}}"}}
        await app.deploy({**WORK, "inputSchema": _NUMBERS, "triggers": [trigger]})
        call = step("call", "SUB_WORKFLOW", workflowId="inner", input="{{ctx.input}}")
        await app.deploy({"id": "outer", "steps": [call]})
        inputs = app.engine.plans.inputs
        costly = inputs.costly

        async def aside(definition: Definition, input: JSON, tenant: str) -> tuple[Problem, ...]:
            assert tenant == "default"
            found = await costly(definition, input, tenant)
            problems.append(found)
            return found

        inputs.costly = aside
        many: list[JSON] = [*range(30_000)]
        given: Object = {"all": many if is_fit else [*many, "no number"]}
        outer = await app.start("outer", given)
        if is_fit:
            await outer.result(60)
        else:
            with pytest.raises(WorkflowFailed, match="does not fit inner"):
                await outer.result(60)
        published = await app.publish("go", given)
        assert published.started == (1 if is_fit else 0)
    assert len(problems) == 2
    assert [bool(each) for each in problems] == [not is_fit] * 2
