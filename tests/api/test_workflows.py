"""Definitions over HTTP: saved, checked, versioned."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tenuto.definition import Checked, check
from tenuto.engine.definitions.large_documents import LARGE
from tenuto.engine.engine import Engine
from tenuto.engine.turns.requests import Answer
from tenuto.model.json import JSON
from tenuto.store.parts.definitions import DefinitionRow
from tenuto.workspace.starting import Starting
from tests.api.conftest import DOUBLE, WAIT, Serve
from tests.api.test_bulk import over

NEWER = {**DOUBLE, "description": "twice"}


@pytest.mark.asyncio
async def test_unchanged_content_makes_no_version(serve: Serve) -> None:
    """PUT of unchanged content makes no version; PUT takes `If-Match`; only the newest version's
    triggers start instances.
    """
    async with serve() as call:
        assert (await call("PUT", "/workflows/double", DOUBLE)).status == 201
        again = await call("PUT", "/workflows/double", DOUBLE)
        assert (again.status, again.json["version"]) == (200, 1)
        unnamed = {name: value for name, value in DOUBLE.items() if name != "id"}
        again = await call("PUT", "/workflows/double", unnamed)
        assert (again.status, again.json["version"]) == (200, 1)
        newer = await call("PUT", "/workflows/double", NEWER, headers={"if-match": '"1"'})
        assert (newer.status, newer.json["version"], newer.headers["etag"]) == (201, 2, '"2"')
        for stale in ('"1"', '"7"', "x"):
            late = await call("PUT", "/workflows/double", DOUBLE, headers={"if-match": stale})
            assert (late.status, late.json["code"]) == (412, "TEN-3010")
        assert (await call.get("/workflows/double")).json["version"] == 2


@pytest.mark.asyncio
async def test_definitions_and_their_versions_are_listed_and_shown(serve: Serve) -> None:
    async with serve() as call:
        for each in (DOUBLE, WAIT, NEWER):
            await call("PUT", f"/workflows/{each['id']}", each)
        first = (await call.get("/workflows?limit=1")).json
        assert [each["id"] for each in first["items"]] == ["double"]
        rest = (await call.get(f"/workflows?cursor={first['nextCursor']}")).json
        assert ([each["id"] for each in rest["items"]], rest["nextCursor"]) == (["wait"], None)
        versions = (await call.get("/workflows/double/versions?limit=1")).json
        assert [each["version"] for each in versions["items"]] == [2]
        older = await call.get(f"/workflows/double/versions?cursor={versions['nextCursor']}")
        assert [each["version"] for each in older.json["items"]] == [1]
        assert older.json["nextCursor"] is None
        assert (await call.get("/workflows/double?version=1")).json["definition"] == DOUBLE
        shown = await call.get("/workflows/double")
        assert (shown.json["definition"], shown.headers["etag"]) == (NEWER, '"2"')
        assert (await call.get("/workflows/double?version=3")).status == 404


@pytest.mark.asyncio
async def test_a_post_never_touches_another_workflow(serve: Serve) -> None:
    """`POST /workflows` without an `id` makes one: a slug of the title, with `-2`, `-3` … where it
    is taken; it never touches another workflow. POST of an id that exists is 409 (`TEN-2006`, "PUT
    makes a new version"); PUT of an id that does not exist creates it.
    """
    unnamed = {name: value for name, value in DOUBLE.items() if name not in {"id", "name"}}
    titled = {**unnamed, "title": "Zähle, zwei  mal!"}
    async with serve() as call:
        made = [(await call.post("/workflows", each)).json for each in (titled, titled, unnamed)]
        assert [(each["id"], each["version"]) for each in made] == [
            ("zahle-zwei-mal", 1),
            ("zahle-zwei-mal-2", 1),
            ("workflow", 1),
        ]
        raced = await asyncio.gather(*(call.post("/workflows", titled) for _ in range(4)))
        assert {each.json["id"] for each in raced} == {f"zahle-zwei-mal-{n}" for n in (3, 4, 5, 6)}
        shown = await call.get("/workflows/zahle-zwei-mal-2")
        assert shown.json["definition"] == {**titled, "id": "zahle-zwei-mal-2"}
        assert (await call.post("/workflows", DOUBLE)).status == 201
        for again in (DOUBLE, NEWER):
            taken = await call.post("/workflows", again)
            assert (taken.status, taken.json["code"]) == (409, "TEN-2006")
            assert "PUT makes a new version" in taken.json["advice"]
        assert (await call.get("/workflows/double")).json["version"] == 1


@pytest.mark.asyncio
async def test_a_save_answers_with_its_warnings(serve: Serve) -> None:
    """POST and PUT answer `{id, version, problems}` (warnings)."""
    unknown = {"id": "w", "steps": [{"stepId": "a", "type": "TASK", "taskId": "nobody.knows"}]}
    async with serve() as call:
        for reply in (
            await call.post("/workflows", unknown),
            await call("PUT", "/workflows/w", unknown),
        ):
            [problem] = reply.json["problems"]
            assert (problem["code"], problem["severity"]) == ("TEN-2604", "warning")
        assert (await call("PUT", "/workflows/double", DOUBLE)).json["problems"] == []


@pytest.mark.asyncio
async def test_the_path_and_the_definition_name_the_same(serve: Serve) -> None:
    async with serve() as call:
        unnamed = {name: value for name, value in DOUBLE.items() if name != "id"}
        assert (await call("PUT", "/workflows/mine", unnamed)).json["id"] == "mine"
        assert (await call("PUT", "/workflows/mine", DOUBLE)).status == 422


@pytest.mark.asyncio
async def test_everything_wrong_with_a_definition_is_told_at_once(serve: Serve) -> None:
    """`POST /workflows/validate` answers 200 `{valid, problems: [{code, path, message, advice,
    severity}]}`; saving something invalid is 422 with the same `problems`.
    """
    bad = {
        "id": "bad",
        "steps": [
            {"stepId": "a", "type": "TASK", "taskId": "t", "transitions": {"default": "nobody"}},
            {"stepId": "a", "type": "WHAT"},
        ],
    }
    async with serve() as call:
        checked = await call.post("/workflows/validate", bad)
        assert (checked.status, checked.json["valid"]) == (200, False)
        problems = checked.json["problems"]
        assert len(problems) >= 3
        assert all(
            set(each) == {"code", "path", "message", "advice", "severity"} for each in problems
        )
        refused = await call.post("/workflows", bad)
        assert refused.status == 422
        assert refused.json["problems"] == [p for p in problems if p["severity"] == "error"]
        assert (await call.post("/workflows", [1])).status == 422
        assert (await call.post("/workflows/validate", DOUBLE)).json == {
            "valid": True,
            "problems": [],
        }
        assert (await call.get("/workflows")).json["items"] == []


@pytest.mark.asyncio
async def test_running_instances_keep_their_version(serve: Serve) -> None:
    """`start` takes `version?`; `?wait` that runs out answers 202."""
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        await call("PUT", "/workflows/double", NEWER)
        started = await call.post(
            "/workflows/double/start?wait=30", {"input": {"number": 1}, "version": 1}
        )
        instance = (await call.get(f"/instances/{started.json['instanceId']}")).json
        assert instance["definitionVersion"] == 1


@pytest.mark.asyncio
async def test_a_removed_definition_is_not_there_and_starts_nothing(serve: Serve) -> None:
    """DELETE hides the definition and stops its triggers and schedules; versions stay while an
    instance has them; `force` first cancels with compensation. An id that was deleted starts again
    with a version above all it had; its old versions cannot be started.
    """
    triggered = {**WAIT, "triggers": [{"eventPattern": "order.placed"}]}
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        await call.post("/workflows", triggered)
        id = (await call.start("wait", {"orderId": 1}))["instanceId"]
        refused = await call("DELETE", "/workflows/wait")
        assert (refused.status, refused.json["code"]) == (409, "TEN-3011")
        assert (await call.post("/events", {"pattern": "order.placed"})).json["started"] == 1
        removed = await call("DELETE", "/workflows/wait?force=true")
        assert (removed.status, removed.json["action"]) == (202, "cancel")
        assert removed.headers["location"] == f"/api/v1/instances/bulk/{removed.json['id']}"
        assert (await over(call, removed.json["id"]))["done"] == 2
        for instance in (await call.get("/instances?workflowId=wait")).json["items"]:
            assert instance["status"] == "CANCELLED"
        assert (await call.get(f"/instances/{id}")).json["cancellation"]["requestedBy"] == "local"
        assert (await call("DELETE", "/workflows/wait")).status == 404
        assert (await call.get("/workflows/wait")).status == 404
        assert (await call.get("/workflows/wait/versions")).status == 404
        assert (await call.post("/workflows/wait/start", {})).status == 404
        assert (await call.post("/workflows/wait/start", {"version": 1})).status == 404
        assert (await call.post("/events", {"pattern": "order.placed"})).json["started"] == 0
        listed = (await call.get("/workflows")).json["items"]
        assert [each["id"] for each in listed] == ["double"]
        again = await call.post("/workflows", triggered)
        assert (again.status, again.json["version"]) == (201, 3)
        versions = (await call.get("/workflows/wait/versions")).json["items"]
        assert [each["version"] for each in versions] == [3, 1]
        old = await call.post("/workflows/wait/start", {"version": 1})
        assert (old.status, old.json["code"]) == (404, "TEN-2002")
        assert "version 1" in old.json["detail"]
        assert old.json["advice"] == "Its newest version is 3."
        rerun = await call.post(f"/instances/{id}/rerun", {})
        assert (rerun.status, rerun.json["advice"]) == (404, "Its newest version is 3.")
        assert (await call.post("/workflows/wait/start", {"version": 3})).status == 201
        assert (await call.post("/events", {"pattern": "order.placed"})).json["started"] == 1


@pytest.mark.asyncio
async def test_a_step_starts_no_version_of_a_removed_workflow(serve: Serve) -> None:
    step = {"stepId": "sub", "type": "SUB_WORKFLOW", "workflowId": "double", "version": 1}
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        assert (await call.post("/workflows", {"id": "parent", "steps": [step]})).status == 201
        assert (await call("DELETE", "/workflows/double")).status == 204
        ended = await call.start("parent", {"number": 1}, "?wait=30")
        assert (ended["status"], ended["lastError"]["code"]) == ("FAILED", "UNKNOWN_WORKFLOW")


@pytest.mark.asyncio
async def test_a_definition_of_which_one_starts_just_now_is_not_removed(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call:
        await call.post("/workflows", WAIT)
        plans = call.app.engine.plans
        hide = plans.hide

        async def late_hide(tenant: str, id: str) -> DefinitionRow:
            await call.start("wait", {"orderId": 1})
            return await hide(tenant, id)

        monkeypatch.setattr(plans, "hide", late_hide)
        refused = await call("DELETE", "/workflows/wait")
        assert (refused.status, refused.json["code"]) == (409, "TEN-3011")
        assert (await call.get("/workflows/wait")).json["definition"] == WAIT
        assert (await call.start("wait", {"orderId": 2}))["status"]


@pytest.mark.asyncio
async def test_a_start_that_comes_after_a_removal_is_refused(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although it had read the definition before that was removed."""
    start = Starting._start
    async with serve() as call:

        async def late_start(self: Starting, *of_what: Any) -> Answer:  # noqa: ANN401
            assert (await call("DELETE", "/workflows/wait")).status == 204
            return await start(self, *of_what)

        await call.post("/workflows", WAIT)
        monkeypatch.setattr(Starting, "_start", late_start)
        refused = await call.post("/workflows/wait/start", {"input": {"orderId": 1}})
        assert (refused.status, refused.json["code"]) == (404, "TEN-2002")
        assert (await call.get("/instances")).json["items"] == []


@pytest.mark.asyncio
async def test_nothing_that_has_ended_is_run_again_once_its_workflow_was_removed(
    serve: Serve,
) -> None:
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        id = (await call.start("double", {"number": 1}, "?wait=30"))["instanceId"]
        again = f"/instances/{id}/rerun"
        made = await call.post(again, {}, idempotency_key="k")
        await call.app.engine.final_state(made.json["instanceId"])
        assert (await call("DELETE", "/workflows/double?force=true")).status == 202
        for body in ({}, {"version": 1}, {"fromStep": "twice"}):
            refused = await call.post(again, body)
            assert (refused.status, refused.json["code"]) == (404, "TEN-2002")
        repeated = await call.post(again, {}, idempotency_key="k")
        assert (repeated.status, repeated.json["instanceId"]) == (200, made.json["instanceId"])
        await call.post("/workflows", DOUBLE)
        assert (await call.post(again, {})).status == 404, "its version stays removed"
        assert (await call.post(again, {"version": 3})).status == 201


@pytest.mark.asyncio
async def test_a_rerun_that_comes_after_a_removal_is_refused(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call:
        await call.post("/workflows", WAIT)
        id = (await call.start("wait", {"orderId": 1}))["instanceId"]
        await call.post(f"/instances/{id}/cancel", {})
        await call.app.engine.final_state(id)
        start = Engine.start

        async def late_start(self: Engine, *of_what: Any, **how: Any) -> Answer:  # noqa: ANN401
            assert (await call("DELETE", "/workflows/wait")).status == 204
            return await start(self, *of_what, **how)

        monkeypatch.setattr(Engine, "start", late_start)
        refused = await call.post(f"/instances/{id}/rerun", {})
        assert (refused.status, refused.json["code"]) == (404, "TEN-2002")
        assert [each["id"] for each in (await call.get("/instances")).json["items"]] == [id]


@pytest.mark.asyncio
async def test_a_forced_removal_that_broke_off_is_gone_on_with(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", WAIT)
        await call.start("wait", {"orderId": 1})
        await call.app.workspace("default", "ann").definitions.withdraw("wait")
        again = await call("DELETE", "/workflows/wait?force=true")
        assert (await over(call, again.json["id"]))["done"] == 1
        assert (await call("DELETE", "/workflows/wait?force=true")).status == 404


@pytest.mark.asyncio
async def test_what_if_match_refuses_changes_nothing(serve: Serve) -> None:
    step = {"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "workflow.completed"}
    async with serve() as call:
        await call.post("/workflows", {**WAIT, "id": "w"})
        for version in ('"7"', '"0"', f'"{"9" * 5_000}"', '"x"'):
            reply = await call(
                "PUT", "/workflows/w", {"id": "w", "steps": [step]}, headers={"if-match": version}
            )
            assert (reply.status, reply.json["code"]) == (412, "TEN-3010"), version
        assert await call.app.engine.store.listeners.of(None) == []


@pytest.mark.asyncio
async def test_if_match_any_is_for_what_is_there(serve: Serve) -> None:
    task = {"id": "t", "kind": "pull"}
    async with serve() as call:
        for path, body in (("/workflows/wait", WAIT), ("/tasks/t", task)):
            any_version = {"if-match": "*"}
            assert (await call("PUT", path, body, headers=any_version)).status == 412
            assert (await call.get(path)).status == 404
            assert (await call("PUT", path, body)).status in (200, 201)
            assert (await call("PUT", path, body, headers=any_version)).status == 200
            assert (await call("DELETE", path)).status == 204
            assert (await call("PUT", path, body, headers=any_version)).status == 412


@pytest.mark.asyncio
async def test_the_etag_of_a_removed_task_is_not_that_of_the_next(serve: Serve) -> None:
    async with serve() as call:
        first = await call.post("/tasks", {"id": "t", "kind": "pull"})
        await call("DELETE", "/tasks/t")
        second = await call.post("/tasks", {"id": "t", "kind": "pull", "description": "other"})
        assert first.headers["etag"] != second.headers["etag"]
        change = {"id": "t", "kind": "pull", "description": "changed"}
        stale = {"if-match": first.headers["etag"]}
        assert (await call("PUT", "/tasks/t", change, headers=stale)).status == 412
        fresh = {"if-match": second.headers["etag"]}
        changed = await call("PUT", "/tasks/t", change, headers=fresh)
        assert (changed.status, changed.json["version"] > second.json["version"]) == (200, True)
        assert (await call.get("/tasks/t")).headers["etag"] == changed.headers["etag"]


@pytest.mark.asyncio
async def test_others_are_answered_while_a_large_definition_is_validated(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while one is saved and while one is tried out."""
    asked, done = threading.Event(), threading.Event()

    def slow(document: JSON, **options: Any) -> Checked:  # noqa: ANN401 - as it was given
        asked.set()
        assert done.wait(60)
        return check(document, **options)

    monkeypatch.setattr("tenuto.engine.definitions.plans.check", slow)
    monkeypatch.setattr("tenuto.definition.compiler.check", slow)
    # Another process would read it if it were larger, or had a schema.
    large = {**DOUBLE, "description": "x" * (LARGE // 10)}
    del large["inputSchema"]
    async with serve() as call:
        for method, path, body in (
            ("POST", "/workflows/validate", large),
            ("PUT", "/workflows/double", large),
            ("POST", "/workflows", {**large, "id": "other"}),
            ("POST", "/workflows/test", {**large, "inputParams": {"number": 1}}),
        ):
            asked.clear()
            done.clear()
            waiting = asyncio.ensure_future(call(method, path, body))
            assert await asyncio.to_thread(asked.wait, 60)
            assert (await call.get("/health")).status == 200
            done.set()
            assert (await waiting).status < 300
