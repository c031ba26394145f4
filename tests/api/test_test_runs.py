"""Test runs: an unsaved workflow runs as a saved one does, and leaves nothing."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from tenuto import Context, Tenuto
from tenuto.engine.settings import Settings
from tenuto.model.json import Object
from tenuto.store.parts.instances import InstancePage, InstanceQuery
from tenuto.tasks.registry import Registry
from tests.api.conftest import DOUBLE, WAIT, Caller, Serve, until
from tests.api.test_pipeline import Notes

GRAPH: dict[str, Any] = {
    "nodes": [
        {"id": "begin", "type": "start"},
        {"id": "pay", "type": "task", "config": {"taskId": "charge", "outputVariable": "paid"}},
        {"id": "nap", "type": "delay", "config": {"duration": "PT1H"}},
        {
            "id": "each",
            "type": "loop",
            "config": {"source": "{{ctx.paid.items}}", "outputVariable": "all"},
        },
        {"id": "ship", "type": "task", "config": {"taskId": "ship", "input": "{{ctx.item}}"}},
        {
            "id": "finish",
            "type": "end",
            "config": {"outputParameters": {"paid": "{{ctx.paid.sum}}"}},
        },
    ],
    "edges": [
        {"source": "begin", "target": "pay"},
        {"source": "pay", "target": "nap"},
        {"source": "nap", "target": "each"},
        {"source": "each", "target": "ship", "sourceHandle": "loop"},
        {"source": "each", "target": "finish", "sourceHandle": "done"},
    ],
}
MOCKS: dict[str, Any] = {"pay": {"output": {"sum": 7, "items": [1, 2]}}, "ship": {"output": "sent"}}


def test_run(**more: object) -> dict[str, object]:
    return {**GRAPH, "inputParams": {"order": 1}, **more}


test_run.__test__ = False  # type: ignore[attr-defined]


async def ended(call: Caller, id: str) -> Any:  # noqa: ANN401 - an instance
    await call.app.engine.final_state(id)
    return (await call.get(f"/instances/{id}")).json


@pytest.mark.asyncio
async def test_an_unsaved_graph_runs_with_mocks_and_without_its_delays(serve: Serve) -> None:
    async with serve() as call:
        reply = await call.post("/workflows/test", test_run(mocks=MOCKS, skipDelays=True))
        assert (reply.status, reply.json["notRun"]) == (201, [])
        id = reply.json["instanceId"]
        instance = await ended(call, id)
        assert (instance["status"], instance["output"]) == ("COMPLETED", {"paid": 7})
        assert instance["state"]["variables"]["all"] == ["sent", "sent"]
        # Nothing of it shows but under its own id.
        assert (await call.get("/instances")).json["items"] == []
        assert (await call.get("/workflows")).json["items"] == []
        own = instance["workflowDefinitionId"]
        assert (await call.get(f"/workflows/{own}")).status == 404
        assert (await call.post(f"/workflows/{own}/start", {})).status == 404
        assert (await call.post(f"/instances/{id}/rerun", {})).json["code"] == "TEN-3071"


@pytest.mark.asyncio
async def test_a_step_without_a_mock_runs_only_where_effects_are_allowed(serve: Serve) -> None:
    ran: list[str] = []
    registry = Registry()

    @registry.task
    async def charge(ctx: Context) -> dict[str, object]:
        ran.append("charge")
        return {"sum": 1, "items": []}

    app = Tenuto(tasks=registry, settings=Settings(unknown_tasks="wait"))
    async with serve(app=app) as call:
        without = {**MOCKS, "each": {"output": 1}}
        del without["each"], without["pay"]
        graph = test_run(mocks=without, skipDelays=True)
        reply = await call.post("/workflows/test", graph)
        assert reply.json["notRun"] == ["pay"]
        instance = await ended(call, reply.json["instanceId"])
        assert (instance["state"]["steps"]["pay"]["output"], ran) == ({}, [])
        reply = await call.post("/workflows/test", graph | {"allowEffects": True})
        assert reply.json["notRun"] == []
        instance = await ended(call, reply.json["instanceId"])
        assert (instance["output"], ran) == ({"paid": 1}, ["charge"])


@pytest.mark.asyncio
async def test_a_mock_may_be_a_failure(serve: Serve) -> None:
    async with serve() as call:
        mocks = {"pay": {"error": {"code": "NO_MONEY", "message": "none left"}}}
        reply = await call.post("/workflows/test", test_run(mocks=mocks))
        instance = await ended(call, reply.json["instanceId"])
        assert (instance["status"], instance["lastError"]["code"]) == ("FAILED", "NO_MONEY")
        assert (await call.get("/dead-letters")).json["items"] == []


@pytest.mark.asyncio
async def test_a_workflow_that_a_step_starts_is_not_started(serve: Serve) -> None:
    steps = [{"stepId": "inner", "type": "SUB_WORKFLOW", "workflowId": "other"}]
    async with serve() as call:
        body = {"steps": steps, "mocks": {"inner": {"output": 5}}, "allowEffects": True}
        for mocks, output in ((body["mocks"], 5), ({}, {})):
            reply = await call.post("/workflows/test", body | {"mocks": mocks})
            assert (await ended(call, reply.json["instanceId"]))["output"] == output


@pytest.mark.asyncio
async def test_thousands_of_wrong_mocks_are_refused_with_some_of_them(serve: Serve) -> None:
    """Each named all steps of the workflow."""
    steps = [
        {"stepId": f"s{n}", "type": "TASK", "taskId": "t", "transitions": {"default": f"s{n + 1}"}}
        for n in range(200)
    ]
    last = {"stepId": "s200", "type": "TASK", "taskId": "t"}
    mocks = {f"x{n}": {"output": 1} for n in range(2_000)}
    async with serve() as call:
        reply = await call.post("/workflows/test", {"steps": [*steps, last], "mocks": mocks})
        assert (reply.status, reply.codes) == (422, {"TEN-2613"})
        assert len(reply.json["problems"]) == 100
        advice = str(reply.json["problems"][0]["advice"])
        assert advice.endswith(" and 181 more.")
        assert len(advice) < 200


@pytest.mark.asyncio
async def test_everything_that_is_wrong_with_a_test_run_is_said(serve: Serve) -> None:
    async with serve() as call:
        mocks = {"nap": {"output": 1}, "pay": {}, "ship": {"output": 1, "error": {"code": "X"}}}
        reply = await call.post("/workflows/test", test_run(mocks=mocks))
        assert (reply.status, reply.codes) == (422, {"TEN-2613"})
        assert len(reply.json["problems"]) == 3
        assert (await call.post("/workflows/test", test_run(skipDelays=3))).status == 422
        reply = await call.post("/workflows/test", {"nodes": [{"id": "a", "type": "?"}]})
        assert reply.status == 422
        assert await call.app.engine.store.definitions.ids("default") == []


@pytest.mark.asyncio
async def test_a_test_run_that_is_stopped_leaves_an_audit_line_and_nothing_else(
    serve: Serve,
) -> None:
    notes = Notes()
    wait: Object = {"steps": [{"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "never"}]}
    async with serve(audit=notes) as call:
        store = call.app.engine.store
        running = (await call.post("/workflows/test", wait)).json["instanceId"]
        over = (await call.post("/workflows/test", test_run(mocks=MOCKS, skipDelays=True))).json[
            "instanceId"
        ]
        await call.app.engine.final_state(over)
        notes.kept.clear()
        for id in (running, over):
            assert (await call("DELETE", f"/workflows/test/{id}")).status == 204
            assert (await call.get(f"/instances/{id}")).status == 404
            assert await store.instances.entries(id) == []
        assert await store.definitions.ids("default") == []
        assert await store.waits.of(running) == []
        assert (
            notes.kept
            == [
                ("local", "stop_test_run", "asked"),
                ("local", "stop_test_run", "done"),
            ]
            * 2
        )
        for id in (running, str(uuid4())):
            reply = await call("DELETE", f"/workflows/test/{id}")
            assert (reply.status, reply.json["code"]) == (404, "TEN-3070")
        await call.app.deploy({"id": "saved", **wait})
        saved = (await call.start("saved"))["instanceId"]
        assert (await call("DELETE", f"/workflows/test/{saved}")).status == 404
        assert (await call.get(f"/instances/{saved}")).status == 200


@pytest.mark.asyncio
async def test_a_test_run_that_nobody_stops_is_erased(serve: Serve) -> None:
    settings = Settings(unknown_tasks="wait", test_run_retention=0.0, prune_every=0.01)
    async with serve(app=Tenuto(tasks=Registry(), settings=settings)) as call:
        id = (await call.post("/workflows/test", test_run())).json["instanceId"]

        async def is_gone() -> bool:
            return (await call.get(f"/instances/{id}")).status == 404

        await until(is_gone)


@pytest.mark.asyncio
async def test_a_test_run_writes_the_log_that_the_saved_workflow_writes(serve: Serve) -> None:
    """Z17: one path, whether it is saved or tried out."""
    registry = Registry()

    @registry.task
    async def charge(ctx: Context) -> object:
        return MOCKS["pay"]["output"]

    @registry.task
    async def ship(ctx: Context) -> object:
        return MOCKS["ship"]["output"]

    nap = {"id": "nap", "type": "delay", "config": {"duration": "PT0.01S"}}
    graph = {**GRAPH, "nodes": [nap if each["id"] == "nap" else each for each in GRAPH["nodes"]]}
    async with serve(app=Tenuto(tasks=registry)) as call:
        await call.app.deploy({"id": "saved", **graph})
        saved = (await call.start("saved", {"order": 1}, "?wait=30"))["instanceId"]
        body = {**graph, "inputParams": {"order": 1}, "mocks": MOCKS}
        tried = (await call.post("/workflows/test", body)).json["instanceId"]
        await call.app.engine.final_state(tried)
        logs = [await log_of(call, id) for id in (saved, tried)]
        assert logs[0] == logs[1]
        assert len(logs[0]) > 10


async def log_of(call: Caller, id: str) -> list[Object]:
    """A log without what is never the same twice: ids and moments."""
    items = (await call.get(f"/instances/{id}/history?limit=1000")).json["items"]
    for item in items:
        del item["at"]
        for name in ("due", "definitionId", "failAt", "executionTime"):
            item["payload"].pop(name, None)
    return list(items)


@pytest.mark.asyncio
async def test_a_test_run_does_not_count_in_metrics(serve: Serve) -> None:
    """Test runs send no lifecycle events and no webhooks, take no slots, do not count in metrics;
    tasks without a mock run for real only with `allowEffects: true`; stopping one leaves only an
    audit line.
    """
    real = {"steps": [{"stepId": "twice", "type": "TASK", "taskId": "double"}]}
    async with serve() as call:
        for body in (
            test_run(mocks=MOCKS, skipDelays=True),
            {**real, "allowEffects": True, "inputParams": {"number": 2}},
            {**real, "mocks": {"twice": {"error": {"code": "NO"}}}},
        ):
            tried = (await call.post("/workflows/test", body)).json["instanceId"]
            await call.app.engine.final_state(tried)
        await call.post("/workflows/test", {**WAIT, "id": "waiting"})
        found = {each.name: each for each in families((await call.get("/metrics")).text)}
        counted = [name for name in found if name.startswith(("workflow_", "task_execution"))]
        assert {name: [each.value for each in found[name].samples] for name in counted} == {
            "workflow_instances_started": [],
            "workflow_instances_completed": [],
            "workflow_instances_failed": [],
            "workflow_instances_cancelled": [],
            "workflow_execution_time_seconds": [],
            "workflow_step_execution_time_seconds": [],
            "workflow_step_queue_time_seconds": [],
            "workflow_step_failures": [],
            "task_execution_requests": [0.0],
            "workflow_instances_active": [0.0],
        }


@pytest.mark.asyncio
async def test_nobody_is_told_of_a_test_run(serve: Serve) -> None:
    heard: Object = {
        "id": "heard",
        "triggers": [
            {
                "eventPattern": "workflow.completed",
                "eventCondition": "event.payload.workflowId !== 'heard'",
                "inputMapping": {"of": "workflowId"},
            }
        ],
        "steps": [{"stepId": "twice", "type": "TASK", "taskId": "double"}],
    }
    async with serve() as call:
        await call.app.deploy(heard)
        body = test_run(mocks=MOCKS, skipDelays=True)
        tried = (await call.post("/workflows/test", body)).json["instanceId"]
        await call.app.engine.final_state(tried)
        await call.app.deploy(DOUBLE)
        await call.start("double", {"number": 1}, "?wait=30")
        found: list[Any] = []

        async def has_heard() -> bool:
            found[:] = (await call.get("/instances?workflowId=heard")).json["items"]
            return bool(found)

        await until(has_heard)
        instance = (await call.get(f"/instances/{found[0]['id']}")).json
        assert (len(found), instance["input"]) == (1, {"of": "double"})


@pytest.mark.asyncio
async def test_a_test_run_and_the_world_do_not_hear_each_other(serve: Serve) -> None:
    waits: Object = {
        "stepId": "w",
        "type": "EVENT_WAIT",
        "eventPattern": "order.*",
        "outputVariable": "heard",
    }
    told: Object = {
        "stepId": "tell",
        "type": "EMIT",
        "pattern": "order.told",
        "payload": {"by": "the test"},
    }
    reacts: Object = {
        "id": "reacts",
        "triggers": [{"eventPattern": "order.told"}],
        "steps": [{"stepId": "twice", "type": "TASK", "taskId": "double"}],
    }
    body: Object = {
        "steps": [
            {**waits, "transitions": {"default": ["tell"]}},
            {**told, "transitions": {"default": ["again"]}},
            {**waits, "stepId": "again"},
        ],
        "cancellationTriggers": [{"eventPattern": "stop"}],
        "allowEffects": True,
    }
    async with serve() as call:
        store = call.app.engine.store
        await call.app.deploy(reacts)
        await call.post("/events", {"pattern": "order.paid", "payload": "before"})
        one, other = [
            (await call.post("/workflows/test", body)).json["instanceId"] for _ in range(2)
        ]
        for pattern in ("order.paid", "stop"):
            real = (await call.post("/events", {"pattern": pattern, "payload": "real"})).json
            assert (real["resumed"], real["cancelled"]) == (0, 0)
        where = f"/workflows/test/{one}/events"
        published = (await call.post(where, {"pattern": "order.paid", "payload": "mine"})).json
        assert (published["resumed"], published["started"]) == (1, 0)
        # What it published itself came back to it, and to nobody else.
        run = await ended(call, one)
        assert (run["status"], run["output"]["payload"]) == ("COMPLETED", {"by": "the test"})
        assert (await call.get(f"/instances/{other}")).json["status"] == "WAITING_FOR_EVENT"
        (wait,) = (await call.get(f"/instances/{other}/waits")).json["items"]
        assert wait["nearMisses"] == []
        assert (await call.get("/instances?workflowId=reacts")).json["items"] == []
        seen = (await call.get("/events")).json["items"]
        assert {each["payload"] for each in seen} == {"before", "real"}
        assert (await call.get(f"/events/{published['eventId']}")).status == 404
        assert (await call.post(f"/workflows/test/{uuid4()}/events", {})).status == 404
        assert (await call.post(where, {"pattern": "a..b"})).status == 422
        many = await call.post(f"/workflows/test/{other}/events", [{"pattern": "stop"}, 3])
        first, second = many.json["results"]
        assert (first["cancelled"], second["error"]["status"]) == (1, 422)
        assert "~test:" in str(await store.upkeep.tenants())
        # The newest of all stays until another one comes.
        await call.post("/events", {"pattern": "order.paid"})
        for id in (one, other):
            assert (await call("DELETE", f"/workflows/test/{id}")).status == 204
        assert await store.upkeep.tenants() == ["default"]


@pytest.mark.asyncio
async def test_lists_pass_over_test_runs_in_few_statements(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call:
        await call.app.deploy(DOUBLE)
        ids = [(await call.start("double", {"number": 1}))["instanceId"] for _ in range(3)]
        for _ in range(12):
            assert (await call.post("/workflows/test", test_run(mocks=MOCKS))).status == 201
        asked: list[int] = []
        plain = call.app.engine.store.instances.page

        async def counted(query: InstanceQuery) -> InstancePage:
            asked.append(query.limit)
            return await plain(query)

        monkeypatch.setattr(call.app.engine.store.instances, "page", counted)
        page = (await call.get("/instances?limit=1")).json
        assert len(asked) <= 2
        found = [each["id"] for each in page["items"]]
        while (cursor := page["nextCursor"]) is not None:
            page = (await call.get(f"/instances?limit=1&cursor={cursor}")).json
            found += [each["id"] for each in page["items"]]
        assert found == ids[::-1]


@pytest.mark.asyncio
async def test_a_delay_is_skipped_in_a_test_run_and_in_no_other_instance(serve: Serve) -> None:
    async with serve() as call:
        made = await call.post("/workflows/test", test_run(mocks=MOCKS))
        id = made.json["instanceId"]

        async def sleeps() -> bool:
            explained = (await call.get(f"/instances/{id}/explain")).json
            return bool(explained["causes"][0]["kind"] == "timer")

        await until(sleeps)
        wrong = await call.post(f"/instances/{id}/steps/pay/skip-delay")
        assert (wrong.status, wrong.json["code"]) == (409, "TEN-3023")
        assert (await call.post(f"/instances/{id}/steps/nap/skip-delay")).status == 200
        assert (await ended(call, id))["status"] == "COMPLETED"
        again = await call.post(f"/instances/{id}/steps/nap/skip-delay")
        assert again.status == 200
        items = (await call.get(f"/instances/{id}/history")).json["items"]
        [fired] = [each for each in items if each["eventType"] == "TIMER_FIRED"]
        assert fired["payload"]["skippedBy"] == "local"

        await call.post("/workflows", {"id": "real", **GRAPH})
        nap: Object = {"stepId": "nap", "type": "DELAY", "duration": "PT1H"}
        await call.post("/workflows", {"id": "nap", "steps": [nap]})
        real = (await call.start("nap"))["instanceId"]
        refused = await call.post(f"/instances/{real}/steps/nap/skip-delay")
        assert (refused.status, refused.json["code"]) == (409, "TEN-3022")
