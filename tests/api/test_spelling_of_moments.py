"""One spelling of moments, in whatever is answered."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest

from tenuto import Settings, Tenuto
from tenuto.api.live.event_stream import MEDIA as STREAM
from tenuto.api.registry import OPERATIONS
from tenuto.model.json import Object
from tenuto.tasks.registry import Registry
from tests.api.conftest import served, until
from tests.api.examples import example_of, furnished
from tests.api.push_service import push_service
from tests.api.test_access_matrix import ask, bearing
from tests.api.test_live import heard_until, socket_of

LIKE_ONE = re.compile(r'"(\d{4}-\d\d-\d\d[T ][^"]*)"')
SPELLED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
ASKED = sorted(
    (
        each
        for each in OPERATIONS
        if each.method != "WEBSOCKET" and each.response_media != STREAM and each.tag != "documents"
    ),
    # What removes things comes last, so that every other operation finds them.
    key=lambda each: (each.method != "GET", each.method == "DELETE"),
)
APPROVAL = {
    "id": "late",
    "nodes": [
        {"id": "s", "type": "start", "config": {}},
        {
            "id": "ask",
            "type": "approval",
            "config": {
                "assignees": {"roles": ["operator"]},
                "deadline": "P3D",
                "reminders": ["P1D"],
                "escalate": {"after": "P2D", "assignees": {"roles": ["admin"]}},
            },
        },
        {"id": "wait", "type": "delay", "config": {"duration": "P1D"}},
    ],
    "edges": [
        {"upstreamNodeID": "s", "downstreamNodeID": "ask"},
        {"upstreamNodeID": "s", "downstreamNodeID": "wait"},
    ],
}


@pytest.mark.asyncio
async def test_moments_have_one_spelling_in_every_answer() -> None:
    """Moments in every answer, payload and export have one spelling: `2026-11-16T20:31:13.070Z`,
    three digits, sortable as text.
    """
    seen: dict[str, str] = {}
    async with served() as call:
        things = await furnished(call.app, "default")
        headers = bearing(things.admin)
        saved = await call("PUT", "/workflows/late", APPROVAL, headers=headers)
        assert saved.status == 201, saved.text
        late = (await call("POST", "/workflows/late/start", {}, headers=headers)).json["instanceId"]
        await call("POST", f"/instances/{late}/pause", {}, headers=headers)
        await call("POST", f"/instances/{things.ids['instances']}/cancel", {}, headers=headers)
        parts = ("", "/history", "/waits", "/explain", "/context", "/graph", "/snapshot")
        for part in parts:
            shown = await call("GET", f"/instances/{late}{part}", headers=headers)
            seen[part] = shown.text
        for operation in ASKED:
            answer = await ask(call, operation, example_of(operation, things), headers)
            assert answer.status < 500
            seen[operation.name] = answer.text
    moments = spelled(seen)
    assert len(moments) > 50
    assert "export_audit" in {name for name, _ in moments}


def spelled(seen: Mapping[str, str]) -> list[tuple[str, str]]:
    """The moments in these texts, each of which has the one spelling."""
    moments = [(name, each) for name, text in seen.items() for each in LIKE_ONE.findall(text)]
    assert [each for each in moments if not SPELLED.fullmatch(each[1])] == []
    return moments


@pytest.mark.asyncio
async def test_moments_have_one_spelling_in_what_is_told_and_sent() -> None:
    """To those who watch, to services that do tasks, and to addresses that are told of events."""
    step: Object = {"stepId": "a", "type": "TASK", "taskId": "charge", "timeout": "PT5M"}
    approval: Object = {
        "stepId": "b",
        "type": "APPROVAL",
        "deadline": "P3D",
        "assignees": {"roles": ["admin"]},
    }
    flow: Object = {"id": "told", "steps": [{**step, "transitions": {"default": "b"}}, approval]}
    seen: dict[str, str] = {}
    settings = Settings(private_targets=True, private_webhooks=True, unknown_tasks="wait")
    app = Tenuto(tasks=Registry(), settings=settings)
    async with push_service() as target, push_service() as heard, served(app=app) as call:

        async def has_heard() -> bool:
            await call.get("/health")
            return any(b"workflow.completed" in body for _, body in heard.raw)

        await call.post("/tasks", {"id": "charge", "kind": "push", "url": target.url})
        await call.post("/webhooks", {"url": heard.url, "patterns": ["workflow.**"]})
        assert (await call.post("/workflows", flow)).status == 201
        asked = {"deadline": "2099-01-01T00:00:00+02:00"}
        id = (await call.post("/workflows/told/start", asked)).json["instanceId"]
        async with socket_of(call) as socket:
            await socket.send_json({"event": "workflow_run_join", "runId": id})
            told = await heard_until(socket, "WAITING_FOR_EVENT")
            decision = f"/instances/{id}/steps/b/decision"
            assert (await call.post(decision, {"decision": "approved"})).status == 200
            told += await heard_until(socket, "COMPLETED")
        seen["socket"] = json.dumps(told)
        async with call.session.get(
            f"{call.url}/api/v1/instances/{id}/stream?untilEnd=true"
        ) as stream:
            seen["stream"] = await stream.text()
        await until(has_heard)
        seen["push"] = "".join(body.decode() for _, body in target.raw)
        seen["webhook"] = "".join(body.decode() for _, body in heard.raw)
    assert {name for name, _ in spelled(seen)} == seen.keys()
