"""Declared tasks: kept, checked, changed, run on their own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from tenuto.model.errors import InvalidInput
from tenuto.model.json import JSON, Object
from tenuto.model.task_definition import TaskDefinition, TaskLimits, WorkerTask
from tenuto.store.parts.workers import Sighting
from tenuto.workspace.task_definitions import TaskDefinitions
from tests.api.conftest import Serve

pytestmark = pytest.mark.asyncio

PUSH: dict[str, Any] = {
    "id": "charge",
    "kind": "push",
    "url": "https://payments.example.com/charge",
    "retry": {"maxAttempts": 2, "initialDelay": "PT1S"},
    "timeout": "PT30S",
    "limits": {"concurrency": 3},
    "breaker": {"failures": 2, "openFor": 1000},
}


async def test_tasks_are_declared_listed_changed_and_forgotten(serve: Serve) -> None:
    """A task definition: `{id, description?, kind: "pull"|"push", url?, inputSchema?,
    outputSchema?, retry?, timeout?, heartbeatTimeout?, limits: {concurrency?, ratePerSecond?},
    breaker?}`.
    """
    async with serve() as call:
        added = await call.post("/tasks", PUSH)
        assert (added.status, added.json["version"]) == (201, 1)
        assert (await call.post("/tasks", PUSH)).json["code"] == "TEN-3061"
        assert (await call.post("/tasks", {"id": "pack", "kind": "pull"})).status == 201
        first = (await call.get("/tasks?limit=1")).json
        assert [each["id"] for each in first["items"]] == ["charge"]
        rest = (await call.get(f"/tasks?limit=10&cursor={first['nextCursor']}")).json
        listed = [each["id"] for each in rest["items"] if each["isDeclared"]]
        assert (listed, rest["nextCursor"]) == (["pack"], None)
        changed = {**PUSH, "limits": {"concurrency": 9}}
        stale = await call("PUT", "/tasks/charge", changed, headers={"if-match": '"7"'})
        assert stale.status == 412
        put = await call("PUT", "/tasks/charge", changed, headers={"if-match": '"1"'})
        assert (put.status, put.json["version"], put.headers["etag"][:3]) == (200, 2, '"2-')
        found = (await call.get("/tasks/charge")).json
        assert found["limits"] == {"concurrency": 9}
        assert found["target"] == {
            "breaker": "closed",
            "failures": 0,
            "openUntil": None,
            "inFlight": 0,
        }
        pulled = (await call.get("/tasks/pack")).json
        assert (pulled["limits"], "target" in pulled) == ({}, False)
        assert (await call("DELETE", "/tasks/charge")).status == 204
        assert (await call.get("/tasks/charge")).json["code"] == "TEN-3063"
        assert (await call("DELETE", "/tasks/charge")).status == 404


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"id": "no spaces"}, "$.id"),
        ({"kind": "shove"}, "$.kind"),
        ({"url": None}, "$.url"),
        ({"url": "http://127.0.0.1/"}, "$.url"),
        ({"url": "ftp://example.com/"}, "$.url"),
        ({"kind": "pull"}, "$.url"),
        ({"timeout": "soon"}, "$.timeout"),
        ({"retry": {"maxAttempts": -1}}, "$.retry.maxAttempts"),
        ({"inputSchema": {"type": "nothing"}}, "$.inputSchema"),
        ({"outputSchema": {"type": "nothing"}}, "$.outputSchema"),
        ({"limits": {"concurrency": 0}}, "$.limits.concurrency"),
        ({"breaker": {"failures": 0}}, "$.breaker.failures"),
        ({"colour": "red"}, "$.colour"),
    ],
)
async def test_what_cannot_be_declared_is_said_with_its_place(
    serve: Serve, change: dict[str, Any], path: str
) -> None:
    async with serve() as call:
        reply = await call.post("/tasks", {**PUSH, **change})
        assert reply.status == 422
        assert path in [each["path"][: len(path)] for each in reply.json["problems"]]
        found = (await call.get("/tasks")).json["items"]
        assert not any(each["isDeclared"] for each in found)


async def test_every_task_is_listed_with_where_it_runs_and_what_it_takes(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/tasks", PUSH | {"inputSchema": {"type": "object"}})
        typed: dict[str, Any] = {"id": "pack", "timeout": 5000, "inputSchema": {"type": "integer"}}
        tasks = [typed, {"id": "refuse", "timeout": 1000}, {"id": "untold"}]
        await call.post("/executions/register", {"workerId": "w", "tasks": tasks})
        seen = Sighting(tenant="default", worker_id="w", age=0, task_ids=("pack", "untold"))
        await call.app.engine.store.workers.saw([seen], call.app.engine.clock.now())
        [listed, more] = [(await call.get(f"/tasks?limit={limit}")).json for limit in (100, 3)]
        assert [each["id"] for each in more["items"]] == ["charge", "double", "pack"]
        rest = (await call.get(f"/tasks?cursor={more['nextCursor']}")).json
        assert more["items"] + rest["items"] == listed["items"]
        shown = {each.pop("id"): each for each in listed["items"]}
        assert {id: each["runs"] for id, each in shown.items()} == {
            "charge": ["push"],
            "double": ["process"],
            "pack": ["worker"],
            "refuse": ["process"],
            "untold": ["worker"],
        }
        assert (shown["pack"]["version"], shown["untold"]["version"]) == (1, 0)
        assert shown["pack"]["inForce"] == {"timeout": 5000, "inputSchema": {"type": "integer"}}
        assert shown["refuse"]["inForce"]["timeout"] == 1000
        assert shown["double"]["inForce"]["inputSchema"] == {
            "type": "object",
            "additionalProperties": {"type": "integer"},
        }


async def test_a_start_of_a_task_is_refused_by_the_types_of_its_function(serve: Serve) -> None:
    async with serve() as call:
        refused = await call.post("/tasks/double/execute", {"input": {"number": "four"}})
        assert (refused.status, refused.json["problems"][0]["path"]) == (422, "$.number")


async def test_a_definition_that_spells_out_a_wrong_input_is_saved_with_a_warning(
    serve: Serve,
) -> None:
    async with serve() as call:
        step = {"stepId": "a", "type": "TASK", "taskId": "double", "input": {"number": "four"}}
        saved = await call.post("/workflows", {"id": "wrong", "steps": [step]})
        [problem] = saved.json["problems"]
        assert (saved.status, problem["code"], problem["path"], problem["severity"]) == (
            *(201, "TEN-2112"),
            *("$.steps[0].input.number", "warning"),
        )


async def test_a_task_runs_on_its_own(serve: Serve) -> None:
    async with serve() as call:
        done = await call.post("/tasks/double/execute?wait=30", {"input": {"number": 4}})
        assert (done.status, done.json["status"], done.json["output"]) == (201, "COMPLETED", 8)
        assert (await call.post("/tasks/nobody/execute", {})).status == 404
        schema = {"type": "object", "required": ["parcel"]}
        await call.post("/tasks", {"id": "pack", "kind": "pull", "inputSchema": schema})
        assert (await call.post("/tasks/pack/execute", {"input": {}})).status == 422
        started = await call.post("/tasks/pack/execute", {"input": {"parcel": 1}})
        claimed = await call.post("/executions/claim", {"workerId": "w1"})
        [task] = claimed.json["tasks"]
        assert (task["taskId"], task["instanceId"]) == ("pack", started.json["instanceId"])


async def test_a_task_that_nobody_is_known_to_do_is_warned_about(serve: Serve) -> None:
    """Embedded and in `tenuto run`, a `taskId` that is neither registered nor declared is refused
    at start (`UNKNOWN_TASK`, nearest names); under `serve` and `dev` it waits for a worker, and
    validation warns.
    """
    steps = [
        {"stepId": "a", "type": "TASK", "taskId": "double", "transitions": {"default": "b"}},
        {"stepId": "b", "type": "TASK", "taskId": "pack", "transitions": {"default": "c"}},
        {"stepId": "c", "type": "TASK", "taskId": "pak"},
    ]
    undoing = [{"stepId": "u", "compensationFor": "c", "type": "TASK", "taskId": "unpak"}]
    async with serve() as call:
        await call.post("/tasks", {"id": "pack", "kind": "pull"})
        document = {"id": "w", "steps": steps, "compensationSteps": undoing}
        found = (await call.post("/workflows/validate", document)).json
        assert found["valid"]
        warnings = [each for each in found["problems"] if each["code"] == "TEN-2604"]
        assert {each["severity"] for each in warnings} == {"warning"}
        assert [(each["path"], each["message"].rpartition(" ")[2]) for each in warnings] == [
            ("$.steps[2].taskId", "'pak'"),
            ("$.compensationSteps[0].taskId", "'unpak'"),
        ]


async def test_all_problems_of_a_declaration_are_named_at_once(serve: Serve) -> None:
    wrong: Object = {
        **PUSH,
        "limits": {"concurrency": -1, "ratePerSecond": 1e9, "rate": 3},
        "breaker": {"failures": 0, "openFor": 0},
        "retry": 5,
    }
    paths = {
        *("$.limits.rate", "$.limits.concurrency", "$.limits.ratePerSecond", "$.retry"),
        *("$.breaker.failures", "$.breaker.openFor"),
    }
    async with serve() as call:
        refused = await call("PUT", f"/tasks/{PUSH['id']}", wrong)
        assert refused.status == 422
        assert {each["path"] for each in refused.json["problems"]} == paths
        task = TaskDefinition(
            id="pay", kind="pull", limits=TaskLimits(concurrency=-1, rate_per_second=0)
        )
        with pytest.raises(InvalidInput) as caught:
            await call.app.task_definitions.put(task)
        places = [each.path for each in caught.value.problems]
        assert places == ["$.limits.concurrency", "$.limits.ratePerSecond"]


@pytest.mark.parametrize("written", ["PT60S", "1m", 60_000])
async def test_the_breaker_of_a_task_is_open_for_a_duration_as_written(
    serve: Serve, written: str | int
) -> None:
    """`breaker {failures, openFor (ISO)}` for push targets."""
    async with serve() as call:
        breaker = {"failures": 1, "openFor": written}
        added = await call.post("/tasks", {**PUSH, "breaker": breaker})
        assert (added.status, added.json["breaker"]) == (201, breaker)
        assert (await call.get("/tasks/charge")).json["breaker"] == breaker


@pytest.mark.parametrize("wrong", ["soon", "PT0S", "PT25H", "P1M", "-PT1S"])
async def test_a_breaker_that_is_open_for_no_time_or_too_long_is_refused(
    serve: Serve, wrong: str
) -> None:
    async with serve() as call:
        refused = await call.post("/tasks", {**PUSH, "breaker": {"openFor": wrong}})
        assert refused.status == 422
        [problem] = refused.json["problems"]
        assert (problem["code"], problem["path"]) == ("TEN-2603", "$.breaker.openFor")
        assert wrong in problem["message"]


async def test_tasks_of_a_large_registration_are_checked_beside_the_loop_a_few_at_a_time(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[bool] = []
    turns: list[int] = []
    loop_thread = threading.get_ident()
    refuse, refuse_all = TaskDefinitions._refuse, TaskDefinitions._refuse_all

    def counted(self: TaskDefinitions, task: TaskDefinition) -> None:
        checked.append(threading.get_ident() == loop_thread)
        refuse(self, task)

    def in_a_turn(self: TaskDefinitions, tasks: Sequence[WorkerTask]) -> None:
        turns.append(len(tasks))
        refuse_all(self, tasks)

    monkeypatch.setattr(TaskDefinitions, "_refuse", counted)
    monkeypatch.setattr(TaskDefinitions, "_refuse_all", in_a_turn)
    async with serve() as call:
        for number, is_in_loop in ((10, True), (35, False)):
            tasks: list[JSON] = []
            tasks += ({"id": f"t{n}", "timeout": f"PT{n + 1}S"} for n in range(number))
            checked.clear()
            turns.clear()
            answer = await call.post("/executions/register", {"workerId": "w", "tasks": tasks})
            assert [each["taskId"] for each in answer.json["results"]] == [
                f"t{n}" for n in range(number)
            ]
            assert checked == [is_in_loop] * number
            assert max(turns) == 10
        wrong: list[JSON] = [{"id": "no id"}]
        wrong.extend({"id": f"u{n}"} for n in range(20))
        refused = await call.post("/executions/register", {"workerId": "w", "tasks": wrong})
        assert refused.status == 422
        assert (await call.get("/tasks/u0")).status == 404, "none of them is registered"
