"""Tests that each list ends a page by bytes, and that its cursor goes on from there."""

from __future__ import annotations

from typing import Any, get_origin

import pytest

from tenuto.api.operation import API
from tenuto.api.paging import Page
from tenuto.api.registry import OPERATIONS
from tenuto.workspace import portions
from tests.api.conftest import DOUBLE, Caller, Serve

pytestmark = pytest.mark.asyncio

COUNT = 30
LARGE = "x" * 2_000
MOST = 20_000

ECHO: dict[str, Any] = {
    "id": "echo",
    "steps": [
        {"stepId": "a", "type": "TERMINATE", "status": "COMPLETED", "output": "{{workflow.input}}"}
    ],
}
FAIL = {**ECHO, "id": "fail", "steps": [{"stepId": "r", "type": "TASK", "taskId": "refuse"}]}

RECORDS: dict[str, dict[str, Any]] = {
    "/calendars": {"timezone": "UTC", "week": {"mon": ["09:00-17:00"]}, "name": LARGE},
    "/data-sources": {"kind": "sqlite", "file": "x.db"},
    "/data-queries": {"dataSourceId": "r00", "sql": f"SELECT 1 -- {LARGE}"},
    "/schedules": {
        "cron": "0 0 1 1 *",
        "input": {"text": LARGE},
        "target": {"workflowId": "echo"},
    },
}
"""Documents that a tenant saves, as large as an input."""


async def fill(call: Caller) -> None:
    for flow in (ECHO, FAIL):
        assert (await call.post("/workflows", flow)).status == 201
    for number in range(COUNT):
        await call.start("echo", {"text": LARGE, "n": number}, "?wait=30")
        await call.start("fail", {"text": LARGE}, "?wait=30")
        await call.post("/events", {"id": f"e{number}", "pattern": "a", "payload": LARGE})
        await call.post("/workflows", {**DOUBLE, "id": f"w{number:02}", "description": LARGE})
        version = {**DOUBLE, "id": "versions", "description": f"{number}{LARGE}"}
        await call("PUT", "/workflows/versions", version)
        declared = {"id": f"t{number:02}", "kind": "pull", "inputSchema": {"description": LARGE}}
        assert (await call.post("/tasks", declared)).status == 201
        for path, record in RECORDS.items():
            reply = await call.post(path, {"id": f"r{number:02}", **record})
            assert reply.status == 201, reply.text
        action = {"action": "cancel", "filter": {"correlationId": "none"}, "reason": LARGE}
        assert (await call.post("/instances/bulk", action)).status == 202


LISTS = {
    "/instances?workflowId=echo": (COUNT, "id"),
    "/dead-letters?": (COUNT, "id"),
    "/events?": (COUNT, "eventId"),
    "/events?order=desc": (COUNT, "eventId"),
    "/events?order=desc&pattern=a": (COUNT, "eventId"),
    "/events?order=asc": (COUNT, "eventId"),
    "/workflows?": (COUNT + 3, "id"),
    "/workflows?include=definition": (COUNT + 3, "id"),
    "/workflows/versions/versions?": (COUNT, "version"),
    "/tasks?": (COUNT + 2, "id"),
    "/schedules?": (COUNT, "id"),
    "/schedules?workflowId=echo": (COUNT, "id"),
    "/calendars?": (COUNT, "id"),
    "/data-queries?": (COUNT, "id"),
    "/instances/bulk?": (COUNT, "id"),
}


OTHERS = {
    "get_history": "below, in both orders",
    **dict.fromkeys(("list_webhooks", "list_subscriptions"), "at most 100, each of 64,000 bytes"),
    "list_queue_rules": "at most 100, with texts of up to 1,000 characters",
    **dict.fromkeys(("get_logs", "get_step_logs"), "64,000 bytes of an attempt are kept"),
    **dict.fromkeys(
        ("list_data_sources", "list_secrets", "list_workers", "list_audit"),
        "rows of up to 100,000 bytes; by bytes, as the others",
    ),
    **dict.fromkeys(
        ("list_webhook_deliveries", "list_subscription_deliveries", "list_queue"), "ids and moments"
    ),
    **dict.fromkeys(("list_keys", "list_ticks"), "names, scopes and reasons"),
}
"""Lists that are looked at elsewhere, or whose rows no tenant can make large."""


async def test_every_list_is_known_here() -> None:
    paths = {each.partition("?")[0] for each in LISTS} - {"/workflows/versions/versions"}
    listed = {
        each.name
        for each in OPERATIONS
        if each.method == "GET" and get_origin(each.response) is Page
    }
    here = {
        each.name
        for each in OPERATIONS
        if each.method == "GET" and each.path.removeprefix(API) in paths
    }
    assert listed == here | {"list_versions"} | OTHERS.keys()
    assert not here & OTHERS.keys()


async def test_every_list_ends_a_page_by_bytes_and_goes_on(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "MOST_BYTES", MOST)
    async with serve() as call:
        await fill(call)
        for path, (count, key) in LISTS.items():
            seen: list[Any] = []
            cursor, pages = "", 0
            while True:
                reply = (await call.get(f"{path}&limit=1000{cursor}")).json
                assert len(reply["items"]) <= MOST // len(LARGE) + 1, path
                seen += [each[key] for each in reply["items"]]
                pages += 1
                if reply["nextCursor"] is None:
                    break
                cursor = f"&cursor={reply['nextCursor']}"
            assert (len(seen), len(set(seen))) == (count, count), path
            assert pages >= count * len(LARGE) // (2 * MOST), path


async def test_whole_instances_end_a_page_by_bytes_and_are_named_by_their_ids(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "MOST_BYTES", MOST)
    async with serve() as call:
        assert (await call.post("/workflows", ECHO)).status == 201
        for number in range(COUNT):
            await call.start("echo", {"text": LARGE, "n": number}, "?wait=30")
        listed = (await call.get("/instances?limit=1000")).json
        while listed["nextCursor"]:
            more = (await call.get(f"/instances?limit=1000&cursor={listed['nextCursor']}")).json
            listed = {**more, "items": listed["items"] + more["items"]}
        ids = [each["id"] for each in listed["items"]]
        assert len(ids) == COUNT
        seen: list[Any] = []
        cursor, pages = "", 0
        while True:
            path = f"/instances?full=true&limit=1000&ids={','.join(ids)}{cursor}"
            reply = (await call.get(path)).json
            assert len(reply["items"]) <= MOST // len(LARGE) + 8
            seen += [each["id"] for each in reply["items"] if each["input"]["text"] == LARGE]
            pages += 1
            if reply["nextCursor"] is None:
                break
            cursor = f"&cursor={reply['nextCursor']}"
        assert seen == ids
        assert pages > 1
        refused = await call.get("/instances?full=true")
        assert (refused.status, refused.json["problems"][0]["path"]) == (422, "$.full")


@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_a_log_ends_a_page_by_bytes_and_goes_on(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    monkeypatch.setattr(portions, "MOST_BYTES", 4_000)
    steps = [
        {
            "stepId": f"s{n}",
            "type": "TASK",
            "taskId": "double",
            "input": {"number": 1},
            "transitions": {"default": f"s{n + 1}"} if n < 19 else {},
        }
        for n in range(20)
    ]
    async with serve() as call:
        await call.post("/workflows", {"id": "long", "steps": steps})
        started = await call.start("long", None, "?wait=30")
        where = f"/instances/{started['instanceId']}/history?order={order}&limit=1000"
        seqs: list[int] = []
        cursor, pages = "", 0
        while True:
            reply = (await call.get(where + cursor)).json
            seqs += [each["seq"] for each in reply["items"]]
            pages += 1
            if reply["nextCursor"] is None:
                break
            cursor = f"&cursor={reply['nextCursor']}"
        assert sorted(seqs) == list(range(1, len(seqs) + 1))
        assert seqs == sorted(seqs, reverse=order == "desc")
        assert pages > 1
