"""Schedules and calendars over HTTP: versions, permissions, attention, and callbacks."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tenuto import Settings, Tenuto
from tenuto.access.permissions import Permission
from tenuto.api.schedule_tickets import (
    SCHEDULER_CALLBACK,
    ScheduleTicket,
    digest_of,
    leads_to,
    with_token,
)
from tenuto.model.durations import epoch_ms
from tenuto.model.json import Object
from tests.api.conftest import DOUBLE, WAIT, Caller, Reply, served, tasks
from tests.engine.situations import until_waiting

pytestmark = pytest.mark.asyncio

API = "/api/v1"
DAILY: Object = {"cron": "0 9 * * *", "target": {"workflowId": "double"}, "input": {"number": 21}}
OFFICE: Object = {"timezone": "UTC", "week": {"mon": ["09:00-17:00"]}}
LATE: Object = {
    "id": "late",
    "steps": [
        {
            "stepId": "wait",
            "type": "EVENT_WAIT",
            "eventPattern": "never",
            "transitions": {"timeout": "end"},
        },
        {"stepId": "end", "type": "END", "outputParameters": {"is": "late"}},
    ],
}


async def test_a_new_schedule_is_created_and_an_old_one_is_changed_by_its_version() -> None:
    async with served() as call:
        await call.app.deploy(DOUBLE)
        reply = await call("POST", f"{API}/schedules", {**DAILY, "id": "daily"})
        assert (reply.status, reply.headers["location"]) == (201, f"{API}/schedules/daily")
        assert reply.headers["etag"] == '"1"'
        assert (await call("POST", f"{API}/schedules", {**DAILY, "id": "daily"})).status == 409
        path = f"{API}/schedules/daily"
        assert (await call("PUT", path, DAILY)).status == 200
        changed = {**DAILY, "cron": "0 10 * * *"}
        for tag, status in (('"7"', 412), ("x", 412), ('"1"', 200), ('"1"', 412), ("*", 200)):
            reply = await call("PUT", path, changed, headers={"if-match": tag})
            assert reply.status == status, tag
        reply = await call("PUT", path, {**DAILY, "id": "other"})
        assert (reply.status, reply.json["problems"][0]["path"]) == (422, "$.id")
        reply = await call("PUT", f"{API}/schedules/new", DAILY)
        assert (reply.status, reply.json["version"]) == (201, 1)
        assert (await call("GET", f"{API}/schedules/daily")).json["nextExecution"].endswith("Z")
        listed = (await call("GET", f"{API}/schedules?workflowId=double&status=active")).json
        assert [each["id"] for each in listed["items"]] == ["daily", "new"]
        used = (await call("GET", f"{API}/workflows/double?include=schedules")).json
        assert used["schedules"] == ["daily", "new"]
        reply = await call("DELETE", f"{API}/workflows/double")
        assert (reply.status, reply.headers["tenuto-schedules-stopped"]) == (204, "2")


async def test_every_operation_on_schedules() -> None:
    """`POST/GET /schedules`, `GET/PUT/DELETE /schedules/{id}`, `POST …/pause {note?} · resume ·
    trigger {at?} · backfill {from, to, concurrency?, overlap?}` (a tracked operation), `GET
    …/preview?count=&from=` → `{items: [{nominal, at, skipped?: reason}]}`, `GET …/ticks` (what
    became of each: started instanceId, skipped, refused, missed, queued; why).
    """
    async with served() as call:
        await call.app.deploy(DOUBLE)
        assert (await call("POST", f"{API}/schedules", {**DAILY, "id": "daily"})).status == 201
        path = f"{API}/schedules/daily"
        saved = (await call("GET", path)).json
        assert saved["status"] == "active"
        paused = (await call("POST", f"{path}/pause", {"note": "moving"})).json
        assert (paused["status"], paused["note"]) == ("paused", "moving")
        assert (await call("POST", f"{path}/resume")).json["status"] == "active"
        at = "2026-01-05T09:00:00.000Z"
        tick = (await call("POST", f"{path}/trigger", {"at": at})).json
        assert (tick["outcome"], tick["nominal"], tick["cause"]) == ("started", at, "trigger")
        days = {"from": "2026-01-05T00:00:00Z", "to": "2026-01-07T00:00:00Z", "concurrency": 1}
        begun = await call("POST", f"{path}/backfill", days)
        assert begun.status == 202
        operation = f"{API}/instances/bulk/{begun.json['id']}"
        async with asyncio.timeout(30):
            while (done := (await call("GET", operation)).json)["status"] == "running":
                pass  # it goes on beside these requests
        assert (done["target"], done["matched"], done["done"]) == ("ticks", 2, 2)
        ticks = (await call("GET", f"{path}/ticks")).json["items"]
        assert [(each["nominal"], each["outcome"], each["cause"]) for each in ticks] == [
            ("2026-01-06T09:00:00.000Z", "started", "backfill"),
            (at, "started", "trigger"),
        ]
        assert ticks[1]["instanceId"] == tick["instanceId"]
        ahead = (await call("GET", f"{path}/preview?count=2&from=2026-02-01T00:00:00Z")).json
        assert [each["nominal"] for each in ahead["items"]] == [
            "2026-02-01T09:00:00.000Z",
            "2026-02-02T09:00:00.000Z",
        ]
        assert (await call("DELETE", path)).status == 204
        assert (await call("GET", f"{API}/schedules")).json["items"] == []


async def test_a_calendar_is_read_by_version_and_days_have_reasons() -> None:
    """`Calendar {id, name?, timezone, week: {mon: ["09:00-12:00","13:00-17:00"], …}, holidays:
    {country, subdivision?, categories?}[], dates: [{date, hours: [] | [...], name}], extends?:
    calendarId, metadata}`; `GET /calendars/{id}/days?from=&to=`, `POST …/import` (text/calendar),
    `POST /calendars/{id}/add {from, duration}` (a calculator for people).
    """
    async with served() as call:
        reply = await call("POST", f"{API}/calendars", {**OFFICE, "id": "office"})
        assert (reply.status, reply.json["version"]) == (201, 1)
        path = f"{API}/calendars/office"
        dated = {**OFFICE, "dates": [{"date": "2026-01-05", "name": "Stocktaking"}]}
        assert (await call("PUT", path, dated, headers={"if-match": '"1"'})).json["version"] == 2
        assert (await call("PUT", path, OFFICE, headers={"if-match": '"1"'})).status == 412
        assert (await call("GET", f"{path}?version=1")).json["dates"] == []
        reply = await call("GET", path, headers={"if-none-match": '"2"'})
        assert reply.status == 304
        days = (await call("GET", f"{path}/days?from=2026-01-04&to=2026-01-05")).json["items"]
        assert days == [
            {"date": "2026-01-04", "hours": [], "kind": "week"},
            {"date": "2026-01-05", "hours": [], "kind": "date", "name": "Stocktaking"},
        ]
        reply = await call("GET", f"{path}/days?from=2026-01-05&to=2026-01-04")
        assert (reply.status, reply.json["problems"][0]["code"]) == (422, "TEN-2716")
        body = {"from": "2026-01-05T16:00:00Z", "duration": "PT2H"}
        added = (await call("POST", f"{path}/add", body)).json
        assert (added["at"], added["workingTime"]) == ("2026-01-12T11:00:00.000Z", "PT2H")
        reply = await call("POST", f"{path}/import", {"not": "a file"})
        assert reply.status == 415
        assert (await call("GET", f"{path}?include=uses")).json["usedBy"]["schedules"] == []
        assert (await call("DELETE", path)).status == 204


async def test_a_principal_has_nothing_started_that_it_may_not_start_itself() -> None:
    async with served(admin_key="root") as call:
        root = {"authorization": "Bearer root"}
        await call.app.deploy(DOUBLE)
        made = {"name": "k", "role": "editor", "scopes": ["schedules:*", "instances:start"]}
        key = (await call("POST", f"{API}/keys", made, headers=root)).json["key"]
        own = {"authorization": f"Bearer {key}"}
        path = f"{API}/schedules/daily"
        assert (await call("PUT", path, DAILY, headers=own)).status == 201
        for target, lacks in (
            ({"taskId": "double"}, Permission.TASKS_EXECUTE),
            ({"type": "task", "id": "double"}, Permission.TASKS_EXECUTE),
            ({"callbackUrl": "https://example.com/"}, Permission.LISTENERS_WRITE),
        ):
            reply = await call("PUT", path, {**DAILY, "target": target}, headers=own)
            assert (reply.status, reply.json["code"]) == (403, "TEN-5013")
            assert lacks.value in reply.json["detail"]


async def test_what_names_another_record_is_shown_to_those_who_may_read_it() -> None:
    async with served(admin_key="root") as call:
        root = {"authorization": "Bearer root"}
        await call.app.deploy(DOUBLE)
        await call("PUT", f"{API}/calendars/office", OFFICE, headers=root)
        for scope, path, lacks in (
            ("workflows:read", "workflows/double?include=schedules", Permission.SCHEDULES_READ),
            ("schedules:read", "calendars/office?include=uses", Permission.WORKFLOWS_READ),
        ):
            made = {"name": scope, "role": "viewer", "scopes": [scope]}
            key = (await call("POST", f"{API}/keys", made, headers=root)).json["key"]
            own = {"authorization": f"Bearer {key}"}
            reply = await call("GET", f"{API}/{path}", headers=own)
            assert (reply.status, reply.json["code"]) == (403, "TEN-5013")
            assert lacks.value in reply.json["detail"]
            assert (await call("GET", f"{API}/{path.partition('?')[0]}", headers=own)).status == 200
            assert (await call("GET", f"{API}/{path}", headers=root)).status == 200


async def test_a_wrong_date_is_refused_with_an_example_or_its_year() -> None:
    async with served() as call:
        await call.app.deploy(DOUBLE)
        await call("PUT", f"{API}/schedules/daily", DAILY)
        await call("PUT", f"{API}/calendars/office", OFFICE)
        reply = await call("GET", f"{API}/schedules/daily/preview?from=tomorrow")
        [problem] = reply.json["problems"]
        assert problem["advice"] == "Write a moment, such as 2026-12-24T09:00:00Z."
        reply = await call("GET", f"{API}/calendars/office/days?from=x&to=2026-01-01")
        [problem] = reply.json["problems"]
        assert problem["advice"] == "Write a date, such as 2026-12-24."
        reply = await call("PUT", f"{API}/schedules/daily", {**DAILY, "endDate": "9999-01-01"})
        [problem] = reply.json["problems"]
        assert (problem["path"], problem["message"]) == (
            "$.endDate",
            "the year 9999 is not possible",
        )
        reply = await call("POST", f"{API}/schedules", data=b"{x")
        assert "JSON is malformed" in reply.json["detail"]


async def test_who_begins_a_backfill_sees_and_stops_it_and_nothing_else() -> None:
    async with served(admin_key="root") as call:
        root = {"authorization": "Bearer root"}
        await call.app.deploy(DOUBLE)
        await call("PUT", f"{API}/schedules/daily", DAILY, headers=root)
        made = {"name": "k", "role": "operator", "scopes": ["schedules:read", "schedules:control"]}
        key = (await call("POST", f"{API}/keys", made, headers=root)).json["key"]
        own = {"authorization": f"Bearer {key}"}
        days = {"from": "2020-01-01T00:00:00Z", "to": "2020-01-03T00:00:00Z"}
        reply = await call("POST", f"{API}/schedules/daily/backfill", days, headers=own)
        assert reply.status == 202
        path = f"{API}/instances/bulk/{reply.json['id']}"
        assert (await call("GET", path, headers=own)).json["target"] == "ticks"
        assert (await call("DELETE", path, headers=own)).status in (200, 409)
        asked = {"action": "cancel", "filter": {"workflowId": "double"}}
        other = (await call("POST", f"{API}/instances/bulk", asked, headers=root)).json["id"]
        for method in ("GET", "DELETE"):
            reply = await call(method, f"{API}/instances/bulk/{other}", headers=own)
            assert (reply.status, reply.json["code"]) == (403, "TEN-5013")
        listed = (await call("GET", f"{API}/instances/bulk", headers=own)).json["items"]
        assert [each["id"] for each in listed] == [path.rpartition("/")[2]]
        listed = (await call("GET", f"{API}/instances/bulk", headers=root)).json["items"]
        assert [each["target"] for each in listed] == ["instances", "ticks"]


async def test_a_schedule_in_error_needs_attention() -> None:
    async with served() as call:
        await call.app.deploy(DOUBLE)
        await call("PUT", f"{API}/schedules/daily", DAILY)
        await call("DELETE", f"{API}/workflows/double")
        groups = (await call("GET", f"{API}/attention")).json["groups"]
        [group] = [each for each in groups if each["kind"] == "schedule"]
        assert [(each["id"], each["workflowId"]) for each in group["items"]] == [
            ("daily", "double")
        ]
        assert group["items"][0]["message"] == "there is no workflow double"


# -- callbacks to the service itself


async def token_of(call: Caller, sent: Object, schedule: str = "s", *, lasts: float = 60.0) -> str:
    """The token that a schedule of the service brings with a callback."""
    service = call.pipeline.service
    service.url = "https://tenuto.example"
    own: Object = {"callbackUrl": f"{service.url}{SCHEDULER_CALLBACK}"}
    saved = await call("PUT", f"{API}/schedules/{schedule}", {"cron": "0 0 1 1 *", "target": own})
    assert saved.status in (200, 201), saved.json
    until = service.clock.now() + timedelta(seconds=lasts)
    ticket = ScheduleTicket(
        tenant="default",
        schedule_id=schedule,
        until_ms=epoch_ms(until),
        digest=digest_of(sent["payload"]),
    )
    return await service.schedule_tickets.token(ticket)


def callback(instance_id: str, **changes: Any) -> Object:  # noqa: ANN401 - JSON
    payload: Object = {"workflowInstanceId": instance_id, "stepId": "wait", "operation": "timeout"}
    return {
        "scheduleId": "s",
        "executionTime": "2026-01-05T09:00:05Z",
        "payload": {**payload, **changes},
    }


async def test_a_callback_times_out_an_open_wait_once() -> None:
    """ "times out that open wait or attempt, once; other operations 422"."""
    async with served() as call:
        await call.app.deploy(LATE)
        instance = await call.app.start("late")
        await until_waiting(call.app, 1)
        path = f"{SCHEDULER_CALLBACK}?token={await token_of(call, callback(instance.id))}"
        reply = await call("POST", path, callback(instance.id))
        assert (reply.status, reply.json) == (200, {"timedOut": True})
        assert await instance.result(timeout=30) == {"is": "late"}
        reply = await call("POST", path, callback(instance.id))
        assert (reply.status, reply.json) == (200, {"timedOut": False})
        lines = (await call("GET", f"{API}/audit?action=schedule_callback")).json["items"]
        assert {each["outcome"] for each in lines} == {"asked", "done"}
        assert {each["actor"] for each in lines} == {"schedule s"}


async def test_other_callbacks_are_refused() -> None:
    """`POST /internal/scheduler/callback` takes seed 003's `ScheduleCallback` by a signed token;
    `payload {workflowInstanceId, stepId, operation: "timeout"}` times out that open wait or
    attempt, once; other operations 422.
    """
    async with served() as call:
        await call.app.deploy(WAIT)
        instance = await call.app.start("wait", {})
        token = await token_of(call, callback(instance.id))
        path = f"{SCHEDULER_CALLBACK}?token={token}"
        event = await call(
            "POST", f"{API}/events/callbacks", {"subscriberId": "bank", "patterns": ["a.b"]}
        )
        other = event.json["callbackUrl"].partition("token=")[2]
        for wrong in ("made-up", other, await token_of(call, callback(instance.id), lasts=-1)):
            reply = await call("POST", f"{SCHEDULER_CALLBACK}?token={wrong}", callback(instance.id))
            assert (reply.status, reply.json["code"]) == (401, "TEN-3092")
        reply = await call("POST", f"{API}/internal/events/callback?token={token}", {})
        assert reply.status == 401
        reply = await posted(call, callback(instance.id, operation="resume"))
        assert (reply.status, reply.json["problems"][0]["code"]) == (422, "TEN-3091")
        reply = await posted(call, callback(instance.id, stepId=7, operation=None))
        assert [each["path"] for each in reply.json["problems"]] == [
            "$.payload.stepId",
            "$.payload.operation",
        ]
        reply = await call("POST", path, {**callback(instance.id), "scheduleId": "another"})
        assert reply.status == 422
        reply = await posted(call, callback("0" * 32))
        assert (reply.status, reply.json["code"]) == (404, "TEN-3001")


async def posted(call: Caller, sent: Object) -> Reply:
    """The answer to a callback of a schedule with the token that belongs to it."""
    path = f"{SCHEDULER_CALLBACK}?token={await token_of(call, sent)}"
    return await call("POST", path, sent)


async def test_a_token_is_for_one_payload_alone() -> None:
    """The token is for one payload alone."""
    async with served() as call:
        await call.app.deploy(LATE)
        first, second = [await call.app.start("late") for _ in range(2)]
        await until_waiting(call.app, 2)
        path = f"{SCHEDULER_CALLBACK}?token={await token_of(call, callback(first.id))}"
        for other in (
            callback(second.id),
            callback(first.id, stepId="other"),
            callback(first.id, iteration="0"),
            callback(first.id, operation="resume"),
        ):
            reply = await call("POST", path, other)
            assert (reply.status, reply.json["code"]) == (401, "TEN-3092")
        sent: Any = callback(first.id)
        sent["payload"] = dict(reversed(sent["payload"].items()))
        assert (await call("POST", path, sent)).json == {"timedOut": True}
        assert (await call.app.at(second.id).details())["status"] == "WAITING_FOR_EVENT"


async def test_a_scheduler_elsewhere_times_out_the_one_step_that_its_url_was_made_for() -> None:
    """`POST /schedules/callbacks {scheduleId, payload, expirationTime?}` makes such a URL for a
    scheduler elsewhere; its token is for that payload alone, expires, and ends with the key that
    made it.
    """
    async with served(admin_key="root") as call:
        call.pipeline.service.url = "https://tenuto.example"
        root = {"authorization": "Bearer root"}
        made = {"name": "k", "role": "editor"}
        key = (await call("POST", f"{API}/keys", made, headers=root)).json
        own = {"authorization": f"Bearer {key['key']}"}
        await call.app.deploy(LATE)
        first, second = [await call.app.start("late") for _ in range(2)]
        await until_waiting(call.app, 2)
        paths = []
        for instance in (first, second):
            sent = callback(instance.id)
            asked = {"scheduleId": "s", "payload": sent["payload"]}
            reply = await call("POST", f"{API}/schedules/callbacks", asked, headers=own)
            assert (reply.status, reply.json["scheduleId"]) == (201, "s")
            url = reply.json["callbackUrl"]
            assert url.startswith(f"https://tenuto.example{SCHEDULER_CALLBACK}?token=")
            paths.append(url.removeprefix("https://tenuto.example"))
        reply = await call("POST", paths[0], callback(second.id))
        assert (reply.status, reply.json["code"]) == (401, "TEN-3092")
        for is_first in (True, False):
            reply = await call("POST", paths[0], callback(first.id))
            assert (reply.status, reply.json) == (200, {"timedOut": is_first})
        assert await first.result(timeout=30) == {"is": "late"}
        lines = (await call("GET", f"{API}/audit?action=schedule_callback", headers=root)).json
        actors = {each["actor"] for each in lines["items"] if each["outcome"] == "done"}
        assert actors == {"outside schedule s"}
        await call("DELETE", f"{API}/keys/{key['id']}", headers=root)
        reply = await call("POST", paths[1], callback(second.id))
        assert (reply.status, reply.json["code"]) == (401, "TEN-3092")


async def test_who_makes_a_url_for_a_scheduler_may_control_instances() -> None:
    async with served(admin_key="root") as call:
        root = {"authorization": "Bearer root"}
        await call.app.deploy(LATE)
        instance = await call.app.start("late")
        path, payload = f"{API}/schedules/callbacks", callback(instance.id)["payload"]
        for scopes, lacks in (
            (["listeners:write"], Permission.INSTANCES_CONTROL),
            (["instances:control", "schedules:*"], Permission.LISTENERS_WRITE),
        ):
            made = {"name": "k", "role": "editor", "scopes": scopes}
            key = (await call("POST", f"{API}/keys", made, headers=root)).json["key"]
            own = {"authorization": f"Bearer {key}"}
            reply = await call("POST", path, {"scheduleId": "s", "payload": payload}, headers=own)
            assert (reply.status, reply.json["code"]) == (403, "TEN-5013")
            assert lacks.value in reply.json["detail"]
        wrong = {"scheduleId": "s", "payload": {"operation": "resume"}}
        over = {**wrong, "expirationTime": "2020-01-01T00:00:00Z"}
        reply = await call("POST", path, over, headers=root)
        assert (reply.status, [each["path"] for each in reply.json["problems"]]) == (
            422,
            [
                "$.expirationTime",
                "$.payload.workflowInstanceId",
                "$.payload.stepId",
                "$.payload.operation",
            ],
        )
        gone = {"scheduleId": "s", "payload": callback("0" * 32)["payload"]}
        assert (await call("POST", path, gone, headers=root)).status == 404


async def test_a_token_is_of_no_use_when_its_schedule_does_not_call_this_service() -> None:
    async with served() as call:
        await call.app.deploy(DOUBLE)
        path = f"{SCHEDULER_CALLBACK}?token={await token_of(call, callback('0' * 32))}"
        assert (await call("POST", path, callback("0" * 32))).status == 404
        schedule = f"{API}/schedules/s"
        assert (await call("PUT", schedule, DAILY)).status == 200
        assert (await call("POST", path, callback("0" * 32))).status == 401
        assert (await call("DELETE", schedule)).status == 204
        reply = await call("POST", path, callback("0" * 32))
        assert (reply.status, reply.json["code"]) == (401, "TEN-3092")


async def test_who_has_this_service_called_may_control_instances() -> None:
    async with served(admin_key="root") as call:
        url = call.pipeline.service.url = "https://tenuto.example"
        root = {"authorization": "Bearer root"}
        made = {"name": "k", "role": "editor", "scopes": ["schedules:*", "listeners:write"]}
        key = (await call("POST", f"{API}/keys", made, headers=root)).json["key"]
        own = {"authorization": f"Bearer {key}"}
        address: Object = {"callbackUrl": f"{url}{SCHEDULER_CALLBACK}"}
        plain: Object = {"id": "s", "cron": "0 0 1 1 *"}
        for document in ({**plain, "target": address}, {**plain, **address}):
            reply = await call("PUT", f"{API}/schedules/s", document, headers=own)
            assert (reply.status, reply.json["code"]) == (403, "TEN-5013")
            assert Permission.INSTANCES_CONTROL.value in reply.json["detail"]
        assert (
            await call("PUT", f"{API}/schedules/s", {**plain, **address}, headers=root)
        ).status == 201


async def test_a_schedule_that_calls_this_service_brings_its_token() -> None:
    settings = Settings(unknown_tasks="wait", private_webhooks=True)
    async with served(app=Tenuto(tasks=tasks(), settings=settings)) as call:
        call.pipeline.service.url = call.url
        await call.app.deploy(LATE)
        instance = await call.app.start("late")
        await until_waiting(call.app, 1)
        request: Object = {
            "scheduleId": "sched-12345",
            "type": "ONE_TIME",
            "executeAt": "2999-08-02T10:00:00Z",
            "callbackUrl": f"{call.url}{SCHEDULER_CALLBACK}",
            "payload": {
                "workflowInstanceId": instance.id,
                "stepId": "wait",
                "operation": "timeout",
            },
        }
        assert (await call("POST", f"{API}/schedules", request)).status == 201
        reply = await call("POST", f"{API}/schedules/sched-12345/trigger")
        assert reply.json["outcome"] == "started"
        assert await instance.result(timeout=30) == {"is": "late"}
        sent = await call.app.at(reply.json["instanceId"]).result(timeout=30)
        assert sent == {"status": 200}


async def test_what_sends_callbacks_is_used_by_schedules_alone() -> None:
    settings = Settings(unknown_tasks="wait", private_webhooks=True)
    async with served(app=Tenuto(tasks=tasks(), settings=settings)) as call:
        target: Object = {"callbackUrl": "http://127.0.0.1:9/x"}
        saved = await call("PUT", f"{API}/schedules/s", {"cron": "0 0 1 1 *", "target": target})
        assert saved.status == 201
        [own] = [each for each in await stored_ids(call) if each.startswith("callback:")]
        assert (await call("GET", f"{API}/workflows")).json["items"] == []
        for id, step, path in (
            ("forge", {"type": "TASK", "taskId": "tenuto.callback"}, "$.steps[0].taskId"),
            ("forge", {"type": "SUB_WORKFLOW", "workflowId": own}, "$.steps[0].workflowId"),
            (own, {"type": "EVENT_WAIT", "eventPattern": "a.b"}, "$.id"),
        ):
            document: Object = {"id": id, "steps": [{"stepId": "a", **step}]}
            reply = await call("PUT", f"{API}/workflows/{id}", document)
            found = [(each["code"], each["path"]) for each in reply.json["problems"]]
            assert (reply.status, found) == (422, [("TEN-1065", path)])
        assert (await call("DELETE", f"{API}/workflows/{own}")).status == 404
        assert (await call("DELETE", f"{API}/workflows/{own}?force=true")).status == 404
        assert (await call("POST", f"{API}/workflows/{own}/start", {"input": {}})).status == 404
        for name in ({"taskId": "tenuto.callback"}, {"workflowId": own}):
            reply = await call("POST", f"{API}/schedules", {"cron": "0 0 1 1 *", "target": name})
            assert reply.status == 422
        reply = await call("POST", f"{API}/tasks/tenuto.callback/execute", {"input": {}})
        assert reply.status in (404, 422)


async def stored_ids(call: Caller) -> list[str]:
    return await call.app.engine.store.seen_by("default").definitions.ids("default")


async def test_only_the_address_of_the_service_itself_gets_a_token() -> None:
    own = "http://127.0.0.1:8484"
    assert leads_to(f"{own}{SCHEDULER_CALLBACK}", own, SCHEDULER_CALLBACK)
    assert leads_to(f"{own}{SCHEDULER_CALLBACK}?a=b", own, SCHEDULER_CALLBACK)
    assert leads_to(
        f"https://x/base{SCHEDULER_CALLBACK}", "https://x:443/base/", SCHEDULER_CALLBACK
    )
    for url in (
        f"http://127.0.0.1:8485{SCHEDULER_CALLBACK}",
        f"http://example.com{SCHEDULER_CALLBACK}",
        f"https://127.0.0.1:8484{SCHEDULER_CALLBACK}",
        f"{own}{SCHEDULER_CALLBACK}/x",
        f"{own}/other",
        f"http://127.0.0.1:8484@example.com{SCHEDULER_CALLBACK}",
        f"http://127.0.0.1:99999{SCHEDULER_CALLBACK}",
    ):
        assert not leads_to(url, own, SCHEDULER_CALLBACK), url
    assert not leads_to(f"{own}{SCHEDULER_CALLBACK}", "", SCHEDULER_CALLBACK)
    assert with_token("http://x/a?b=c&token=old", "new") == "http://x/a?b=c&token=new"
