"""A store beside an engine is a whole workspace: also what no command does with it works."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio

import tenuto.cli
from tenuto import Conflict, InvalidInput, NotFound, Status, TenutoError
from tenuto.cli.backends import opened
from tenuto.cli.backends.backend import Backend
from tenuto.cli.backends.place import ServerUrl, StoreUrl
from tenuto.model.durations import iso
from tenuto.model.edited import EditedInput
from tenuto.model.json import Object
from tenuto.model.policy import DEFAULT_LIMITS
from tenuto.model.task_definition import TaskDefinition
from tenuto.model.test_run import Mock
from tenuto.workspace.values import InstanceFilter, Start
from tests.cli.conftest import DOUBLE, WAIT

SOURCES = Path(tenuto.cli.__file__).parent


@pytest_asyncio.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    async with opened(f"sqlite:///{tmp_path / 'store.db'}") as backend:
        for name, document in (("double", DOUBLE), ("wait", WAIT)):
            await backend.space.save({"id": name, **document})
        yield backend


@pytest.mark.asyncio
async def test_definitions_are_read_and_removed(backend: Backend) -> None:
    space = backend.space
    assert await space.definition_ids() == ["double", "wait"]
    assert (await space.definition("wait")).version == 1
    await space.remove_definition("double")
    with pytest.raises(NotFound):
        await space.definition("double")
    started = await space.start("wait", {"id": 7})
    with pytest.raises(Conflict):
        await space.remove_definition("wait")
    assert await started.status() is Status.WAITING_FOR_EVENT


@pytest.mark.asyncio
async def test_an_instance_is_read_beside_the_engine(backend: Backend) -> None:
    space = backend.space
    started = await space.start("wait", {"id": 7})
    assert not backend.is_worked_on, "its steps are left to others"
    assert (await started.state())["input"] == {"id": 7}
    assert (await started.details())["id"] == started.id
    context = (await started.context())["ctx"]
    assert isinstance(context, dict)
    assert context["input"] == {"id": 7}
    [wait] = await started.waits()
    assert isinstance(wait, dict)
    assert (wait["eventPattern"], wait["nearMisses"]) == ("paid", [])
    assert (await started.undo_plan("why"))["plan"] == []
    text = await started.widget("text", {"path": "input.id"})
    assert text["data"] == {"text": "7"}
    async with aclosing(started.changes()) as changes:
        await anext(changes)
    [found] = await space.instances(status="WAITING_FOR_EVENT", workflow="wait")
    assert found.id == started.id == (await space.instance(started.id)).id
    with pytest.raises(NotFound):
        await space.instance("019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b")
    assert await started.cancel() is Status.CANCELLED
    with pytest.raises(TenutoError, match="cancelled"):
        await started.result(timeout=10)


@pytest.mark.asyncio
async def test_what_needs_an_engine_has_one_for_that_moment(backend: Backend) -> None:
    space = backend.space
    first, wrong = await space.start_many(
        [Start(workflow="wait", input={"id": 1}), Start(workflow="none")]
    )
    assert not isinstance(first, TenutoError)
    assert isinstance(wrong, NotFound)
    again = await first.rerun(key="once")
    assert (await first.rerun(key="once")).id == again.id
    task = await space.task_definitions.add(TaskDefinition(id="charge", kind="pull"))
    assert (task.id, task.version) == ("charge", 1)
    counted = await space.bulk.start("cancel", InstanceFilter(workflow="wait"), dry_run=True)
    assert counted.matched == 2
    run = await space.test_runs.start(
        {"id": "tried", **DOUBLE}, 21, mocks={"twice": Mock(output=42)}
    )
    await space.test_runs.stop(run.instance_id)
    statistics = await space.stats()
    assert statistics["byStatus"]
    published = await space.publish("noise", {"a": 1}, id="e-1")
    assert (published.event_id, published.duplicate) == ("e-1", False)
    assert [each["eventId"] for each in await space.events()] == ["e-1"]
    dry = await space.publish("paid", {"id": 1}, dry_run=True)
    assert (dry.is_dry, dry.resumed) == (True, 2)
    with pytest.raises(TenutoError):
        await space.publish("no*", dry_run=True)


@pytest.mark.asyncio
async def test_values_are_checked_as_by_an_engine(backend: Backend) -> None:
    space, naive = backend.space, datetime(2030, 1, 1)  # noqa: DTZ001 - what is refused
    started = await space.start("wait", {"id": 7})
    large = "x" * (DEFAULT_LIMITS.input_bytes + 1)
    for path, call in (
        ("$.until", started.pause(until=naive)),
        ("$.reason", started.pause("a\0b")),
        ("$.reason", started.cancel("a\0b")),
        ("$.reason", started.undo_plan("a\0b")),
        ("$.input", started.retry(edited=EditedInput(step_id="paid", input=large))),
        ("$.input", started.retry_compensation("paid", input=large)),
        ("$.createdFrom", space.page(InstanceFilter(created_from=naive))),
        ("$.timestamp", space.publish("paid", timestamp=naive, dry_run=True)),
    ):
        with pytest.raises(InvalidInput) as caught:
            await call
        assert [each.path for each in caught.value.problems] == [path]
    assert await started.status() is Status.WAITING_FOR_EVENT


@pytest.mark.asyncio
async def test_a_dry_run_has_the_timestamp_of_the_event(tmp_path: Path) -> None:
    then = datetime(2030, 1, 1, tzinfo=UTC)
    step = {"stepId": "paid", "type": "EVENT_WAIT", "eventPattern": "paid"}
    condition = f"event.timestamp === '{iso(then)}'"
    async with opened(f"sqlite:///{tmp_path / 'store.db'}") as backend:
        space = backend.space
        document: Object = {"id": "dated", "steps": [{**step, "eventCondition": condition}]}
        await space.save(document)
        await space.start("dated")
        assert (await space.publish("paid", dry_run=True)).resumed == 0
        assert (await space.publish("paid", timestamp=then, dry_run=True)).resumed == 1


@pytest.mark.asyncio
async def test_calls_at_once_do_not_lock_each_other_out(backend: Backend) -> None:
    space = backend.space
    first, second = await asyncio.gather(
        space.start("wait", {"id": 1}), space.start("wait", {"id": 2})
    )
    found = await asyncio.gather(
        first.cancel(),
        second.cancel(),
        space.publish("noise", id="e-1"),
        space.definition_ids(),
        space.instances(),
        first.history(),
        space.stats(),
    )
    assert found[:2] == [Status.CANCELLED, Status.CANCELLED]
    async with backend.kept_open():
        await asyncio.gather(
            space.save({"id": "double", **DOUBLE}), space.save({"id": "wait", **WAIT})
        )


@pytest.mark.asyncio
async def test_a_bulk_operation_is_run_where_no_other_process_does(backend: Backend) -> None:
    space = backend.space
    started = [await space.start("wait", {"id": each}) for each in range(3)]
    made = await space.bulk.start("cancel", InstanceFilter(ids=(started[0].id,)))
    assert (made.status, made.done, made.failed) == ("done", 1, 0)
    assert made.id is not None
    assert await space.bulk.get(made.id) == made
    assert await space.bulk.list() == [made]
    await space.remove_definition("wait", force=True)
    assert {await each.status() for each in started} == {Status.CANCELLED}


@pytest.mark.asyncio
async def test_a_store_that_does_not_exist_is_made_by_saving_alone(tmp_path: Path) -> None:
    file = tmp_path / "none.db"
    async with opened(f"sqlite:///{file}") as backend:
        space = backend.space
        for call in (
            space.start("wait"),
            space.definition_ids(),
            space.remove_definition("wait"),
            space.remove_definition("wait", force=True),
            space.bulk.start("cancel", InstanceFilter(workflow="wait")),
            space.bulk.list(),
            space.task_definitions.list(),
            space.dead_letters.discard("i-1:a:1"),
            space.at("i-1").cancel(),
        ):
            with pytest.raises(TenutoError) as refused:
                await call
            assert refused.value.code == "TEN-4021"
            assert not file.exists()
        await space.save({"id": "wait", **WAIT})
        assert await space.definition_ids() == ["wait"]


@pytest.mark.asyncio
async def test_another_tenants_instance_is_not_there(backend: Backend, tmp_path: Path) -> None:
    started = await backend.space.start("wait", {"id": 7})
    url = StoreUrl.of_tenant(f"sqlite:///{tmp_path / 'store.db'}", "acme")
    async with opened(url) as other:
        with pytest.raises(NotFound):
            await other.space.at(started.id).status()
        with pytest.raises(NotFound):
            await other.space.at(started.id).cancel()
        with pytest.raises(NotFound):
            await other.space.at(started.id).history()
        with pytest.raises(NotFound):
            await other.space.at(started.id).explain()
        async with aclosing(other.space.at(started.id).changes()) as changes:
            with pytest.raises(NotFound):
                await anext(changes)
    with pytest.raises(NotFound):
        await backend.space.at("019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b").history()


def test_one_place_alone_asks_whether_it_is_a_store_or_a_server() -> None:
    kinds = {ServerUrl.__name__, StoreUrl.__name__}
    asking = {
        f"{path.relative_to(SOURCES)}"
        for path in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
        if kinds & {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
    }
    assert asking == {"backends/__init__.py"}
