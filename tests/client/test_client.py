"""A program elsewhere does with a server what it would do with an app of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenuto import (
    Client,
    Conflict,
    InvalidDefinition,
    InvalidInput,
    NotFound,
    Settings,
    Start,
    Status,
    SyncClient,
    Tenuto,
    TenutoError,
    WorkflowCancelled,
    WorkflowFailed,
    task,
    workflow,
)
from tenuto.model.quotas import Quotas
from tests.api.conftest import DOUBLE, REFUSE, WAIT, Caller, served, tasks

APPROVE: dict[str, Any] = {
    "id": "approve",
    "steps": [{"stepId": "review", "type": "APPROVAL", "assignees": {"users": ["ann"]}}],
}


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Caller]:
    settings = Settings(unknown_tasks="wait", quotas=Quotas(webhooks=200))
    async with served(app=Tenuto(tasks=tasks(), settings=settings)) as caller:
        for document in (DOUBLE, WAIT, REFUSE):
            await caller.app.deploy(document)
        yield caller


@pytest_asyncio.fixture
async def client(server: Caller) -> AsyncIterator[Client]:
    async with Client(server.url, patience=5) as client:
        yield client


@pytest.mark.asyncio
async def test_a_list_of_everything_has_everything(server: Caller, client: Client) -> None:
    for _ in range(101):
        await server.app.webhooks.add("https://example.com/hook", "order.*")
    assert len(await client.webhooks.list()) == 101


@pytest.mark.asyncio
async def test_start_gives_an_instance_whose_result_can_be_waited_for(client: Client) -> None:
    instance = await client.start("double", {"number": 4}, correlation_id="order-7")
    assert await instance.result(timeout=30) == 8
    assert await instance.status() is Status.COMPLETED
    assert (await instance.details())["correlationId"] == "order-7"
    assert (await instance.state())["input"] == {"number": 4}
    assert [each["seq"] for each in await instance.history()] == [
        each["seq"] for each in await (await client.instance(instance.id)).history()
    ]
    assert (await instance.context())["ctx"]
    (listed,) = await client.instances(workflow="double", status=Status.COMPLETED)
    assert (listed.id, listed.version, listed.correlation_id) == (instance.id, 1, "order-7")


@pytest.mark.asyncio
async def test_instances_are_found_by_the_values_of_their_variables(client: Client) -> None:
    await client.deploy(DOUBLE | {"id": "found", "options": {"searchable": ["input.number"]}})
    for number in (4, 5):
        await (await client.start("found", {"number": number})).result(timeout=30)
    [only] = await client.instances(workflow="found", variables={"input.number": 4.0})
    assert (await (await client.instance(only.id)).state())["input"] == {"number": 4}
    with pytest.raises(InvalidInput):
        await client.instances(workflow="found", variables={"number": 4})
    with pytest.raises(InvalidInput):
        await client.instances(variables={"input.number": 4})


@pytest.mark.asyncio
async def test_deploy_takes_what_the_app_takes(client: Client, tmp_path: Path) -> None:
    @task
    async def greet(name: str) -> str:
        return name

    @workflow("greeting-elsewhere")
    def greeting(name: str) -> str:
        return greet(name)

    assert await client.deploy(greeting) == 1
    assert await client.deploy(DOUBLE) == 1
    file = tmp_path / "waits.json"
    file.write_text(
        '{"id": "waits", "steps": [{"stepId": "s", "type": "DELAY", "duration": "PT1S"}]}'
    )
    assert await client.deploy(file) == 1
    assert "greeting-elsewhere" in await client.definition_ids()
    assert (await client.definition("double")).definition == DOUBLE
    await client.remove_definition("waits")
    assert "waits" not in await client.definition_ids()


@pytest.mark.asyncio
async def test_the_same_key_starts_once_and_each_start_without_one_starts(client: Client) -> None:
    one = await client.start("double", {"number": 1}, key="k")
    assert (await client.start("double", {"number": 1}, key="k")).id == one.id
    with pytest.raises(Conflict) as refused:
        await client.start("double", {"number": 2}, key="k")
    assert refused.value.instance_id == one.id
    others = {(await client.start("double", {"number": 1})).id for _ in range(2)}
    assert len(others | {one.id}) == 3


@pytest.mark.asyncio
async def test_of_many_starts_each_has_its_own_result(client: Client) -> None:
    good, bad = await client.start_many(
        [Start(workflow="double", input={"number": 3}), Start(workflow="nothing")]
    )
    assert not isinstance(good, TenutoError)
    assert await good.result(timeout=30) == 6
    assert isinstance(bad, NotFound)
    assert bad.code == "TEN-2002"


@pytest.mark.asyncio
async def test_refusals_are_the_errors_of_the_app(server: Caller, client: Client) -> None:
    broken = {"id": "broken", "steps": [{"stepId": "a", "type": "NOTHING"}]}
    asked: list[tuple[type[TenutoError], Callable[[Any], Any]]] = [
        (InvalidDefinition, lambda app: app.deploy(broken)),
        (InvalidInput, lambda app: app.start("double", {})),
        (NotFound, lambda app: app.start("doubel", {})),
        (NotFound, lambda app: app.instance("019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b")),
        (NotFound, lambda app: app.event("nothing")),
        (InvalidInput, lambda app: app.publish("workflow.completed")),
        (InvalidInput, lambda app: app.webhooks.add("ftp://nowhere", "order.*")),
    ]
    for kind, ask in asked:
        with pytest.raises(kind) as here:
            await ask(server.app)
        with pytest.raises(kind) as there:
            await ask(client)
        ours, theirs = here.value, there.value
        assert (theirs.code, theirs.message) == (ours.code, ours.message)
        assert getattr(theirs, "problems", ()) == getattr(ours, "problems", ())
        assert not ours.advice or theirs.advice == ours.advice


@pytest.mark.asyncio
async def test_an_end_that_is_no_success_is_raised(client: Client) -> None:
    with pytest.raises(WorkflowFailed) as failed:
        await (await client.start("refuse")).result(timeout=30)
    assert (failed.value.error.code, failed.value.error.step_id) == ("OUT_OF_STOCK", "reserve")
    waiting = await client.start("wait", {"orderId": 1})
    with pytest.raises(TimeoutError):
        await waiting.result(timeout=0.01)
    await waiting.cancel("changed their mind")
    await waiting.cancel()
    with pytest.raises(WorkflowCancelled, match="changed their mind"):
        await waiting.result(timeout=30)
    with pytest.raises(Conflict) as refused:
        await waiting.pause()
    assert refused.value.status is Status.CANCELLED


@pytest.mark.asyncio
async def test_instances_take_commands(client: Client) -> None:
    instance = await client.start("wait", {"orderId": 1})
    assert await instance.pause("lunch") is Status.PAUSED
    assert await instance.resume() is not Status.PAUSED
    (wait,) = await instance.waits()
    assert isinstance(wait, dict)
    assert wait["eventPattern"] == "payment.received"
    assert (await instance.undo_plan())["plan"] == []
    again = await instance.rerun(input={"orderId": 2})
    assert again.id != instance.id
    failed = await client.start("refuse")
    with pytest.raises(WorkflowFailed):
        await failed.result(timeout=30)
    (letter,) = await client.dead_letters.list()
    assert (await client.dead_letters.get(str(letter["id"])))["instanceId"] == failed.id
    await failed.retry()
    with pytest.raises(WorkflowFailed):
        await failed.result(timeout=30)
    letter = (await client.dead_letters.list())[0]
    await client.dead_letters.retry(str(letter["id"]), input="mended")
    assert await failed.result(timeout=30) == "done"
    for letter in await client.dead_letters.list():
        await client.dead_letters.discard(str(letter["id"]))
    assert await client.dead_letters.list() == []


@pytest.mark.asyncio
async def test_approvals_are_decided(client: Client) -> None:
    await client.deploy(APPROVE)
    instance = await client.start("approve")
    await instance.decide("review", "approved", by="ann")
    output = await instance.result(timeout=30)
    assert isinstance(output, dict)
    assert (output["decision"], output["by"]) == ("approved", "ann")


@pytest.mark.asyncio
async def test_events_reach_those_who_wait(client: Client) -> None:
    instance = await client.start("wait", {"orderId": 1})
    dry = await client.publish("payment.received", {"orderId": 1}, dry_run=True)
    assert dry.is_dry
    assert dry.targets[0]["instanceId"] == instance.id
    published = await client.publish("payment.received", {"orderId": 1}, id="p-1")
    assert (published.resumed, published.duplicate) == (1, False)
    assert (await client.publish("payment.received", {"orderId": 1}, id="p-1")).duplicate
    await instance.result(timeout=30)
    assert (await client.event("p-1"))["resumed"] == 1
    good, bad = await client.publish_all(
        [{"pattern": "order.made"}, {"pattern": "workflow.completed"}]
    )
    assert not isinstance(good, TenutoError)
    assert good.event_id
    assert isinstance(bad, InvalidInput)
    (alone,) = await client.publish_all({"pattern": "workflow.completed"})
    assert isinstance(alone, InvalidInput)


@pytest.mark.asyncio
async def test_listeners_are_kept(client: Client) -> None:
    hook = await client.webhooks.add("https://example.com/hook", "order.**")
    assert hook.secret
    assert [each.id for each in await client.webhooks.list()] == [hook.id]
    assert (await client.webhooks.enable(hook.id)).secret is None
    changed = await client.webhooks.change(hook.id, "https://example.com/new", "order.paid")
    assert (changed.url, changed.patterns) == ("https://example.com/new", ("order.paid",))
    await client.webhooks.remove(hook.id)
    sub = await client.subscriptions.add("https://example.com/n", ["a.b"], subscriber_id="shop")
    assert [each.subscriber_id for each in await client.subscriptions.list()] == ["shop"]
    await client.subscriptions.enable(sub.id)
    await client.subscriptions.remove(sub.id)
    assert await client.subscriptions.list() == []


@pytest.mark.asyncio
async def test_programs_without_a_loop_have_the_same_names(server: Caller) -> None:
    def program() -> object:
        with SyncClient(server.url) as client:
            instance = client.start("double", {"number": 21}, key="sync")
            again, _ = client.start_many(
                [Start(workflow="double", input={"number": 21}, key="sync"), Start(workflow="no")]
            )
            assert not isinstance(again, TenutoError)
            assert again.id == client.instance(instance.id).id == instance.id
            assert client.webhooks.list() == []
            assert client.dead_letters.list() == []
            with pytest.raises(NotFound):
                client.event("nothing")
            next(client.at(instance.id).changes())
            assert client.operations.health()["status"] == "ok"
            assert list(client.audit.export())
            return instance.result(timeout=30)

    before = threading.active_count()
    assert await asyncio.to_thread(program) == 42
    assert not [each for each in threading.enumerate() if each.name == "tenuto-client"], before


def test_a_closed_client_says_so_and_may_be_closed_again() -> None:
    client = SyncClient("http://127.0.0.1:1")
    client.close()
    client.close()
    for ask in (client.definition_ids, client.webhooks.list, lambda: client.start_many([])):
        with pytest.raises(RuntimeError, match="the client is closed"):
            ask()


@pytest.mark.asyncio
async def test_every_operation_can_be_asked_by_its_name(client: Client) -> None:
    operations = client.operations
    started = await operations.start_workflow("double", input={"number": 4}, wait=30)
    assert (started.status, started.output) == (Status.COMPLETED, 8)
    graph: Any = await operations.get_graph(started.instance_id)
    assert [each["id"] for each in graph["nodes"]] == ["twice"]
    assert (await operations.get_variable(started.instance_id, "input.number"))["value"] == 4
    assert "tenuto" in await operations.metrics()
    async with operations.watch_instances() as socket:
        await socket.send_json({"event": "workflow_run_join", "runId": started.instance_id})
        assert (await socket.receive_json())["event"]
    async with asyncio.timeout(30):
        async for line in operations.stream_instance(started.instance_id, until_end=True):
            if line.startswith("data:"):
                break
