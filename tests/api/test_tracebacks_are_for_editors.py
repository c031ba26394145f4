"""Tracebacks of tasks are for those who can mend them, and leave the service on no other way."""

from __future__ import annotations

import json

import msgspec
import pytest

from tenuto import Context, Settings, TaskError, Tenuto
from tenuto.access.keys import Keys, KeyWish
from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.api.large_documents.answers import LARGE
from tenuto.core.lifecycle import Told, events_of
from tenuto.live.messages import node_messages
from tenuto.model.json import Object
from tenuto.ports import SystemIds
from tenuto.tasks.registry import Registry
from tests.api.conftest import WAIT, Caller, served, until
from tests.api.push_service import push_service
from tests.api.test_live import heard_until, socket_of

FLOW: Object = {
    "id": "broken",
    "options": {"retry": {"maxAttempts": 1}},
    "steps": [{"stepId": "a", "type": "TASK", "taskId": "fall"}],
}
SECRET = "frame of the file that fell"
PLACES = (
    "/instances/{id}",
    "/instances/{id}/history",
    "/instances/{id}/context",
    "/instances/{id}/graph",
    "/instances/{id}/explain",
    "/dead-letters",
    "/dead-letters/{letter}",
    "/events?pattern=workflow.failed",
)


def tasks() -> Registry:
    registry = Registry()

    @registry.task
    async def fall(ctx: Context) -> None:
        raise ValueError("it fell")  # frame of the file that fell

    return registry


async def key_of(call: Caller, role: Role) -> dict[str, str]:
    maker = Principal(tenant="default", name="owner", role=Role.ADMIN, kind="system")
    keys = Keys(call.app.engine.store, call.app.engine.clock, SystemIds())
    made = await keys.create(maker, KeyWish(name=f"the {role}", role=role))
    return {"authorization": f"Bearer {made.text}"}


@pytest.mark.asyncio
async def test_who_may_edit_definitions_sees_tracebacks_and_nobody_else_does() -> None:
    """Tracebacks are kept in `details.traceback` for principals who may edit definitions, and for
    nobody else, on no socket and in no webhook.
    """
    async with served(app=Tenuto(tasks=tasks())) as call:
        await call.app.deploy(FLOW)
        broken = await call.app.start("broken")
        await call.app.engine.final_state(broken.id)
        [letter], _ = await call.app.dead_letters.rows(1)
        shown = {}
        for role in Role:
            headers = await key_of(call, role)
            texts = [
                (await call("GET", each.format(id=broken.id, letter=letter.id), headers=headers))
                for each in PLACES
            ]
            assert all(each.status == 200 for each in texts)
            shown[role] = "".join(each.text for each in texts)
        assert {role for role, text in shown.items() if SECRET in text} == {
            Role.EDITOR,
            Role.ADMIN,
        }
        assert all("it fell" in text for text in shown.values()), "the message is for everybody"
        error = json.loads(shown[Role.EDITOR].partition('{"items"')[0])["lastError"]
        assert SECRET in error["details"]["traceback"]
        rows = await call.app.engine.store.instances.entries(broken.id)
        live = [each.data for each in node_messages(broken.id, rows)]
        told = Told(workflow_id="broken", version=1, instance_id=broken.id, correlation_id=None)
        sent = [msgspec.json.encode(each.payload) for each in events_of(told, "RUNNING", rows)]
        for said in (live, sent):
            assert any(b"it fell" in each for each in said)
            assert not any(SECRET.encode() in each for each in said)


@pytest.mark.asyncio
async def test_no_socket_stream_or_webhook_tells_a_traceback() -> None:
    """Not even an admin's: those who listen there are not asked again who they are."""
    app = Tenuto(tasks=tasks(), settings=Settings(private_webhooks=True))
    async with push_service() as heard, served(app=app) as call:

        async def has_heard() -> bool:
            await call.get("/health")
            return any(b"workflow.failed" in body for _, body in heard.raw)

        await call.post("/webhooks", {"url": heard.url, "patterns": ["workflow.**"]})
        await call.app.deploy(FLOW)
        id = (await call.app.start("broken")).id
        async with socket_of(call) as socket:
            await socket.send_json({"event": "workflow_run_join", "runId": id})
            told = json.dumps(await heard_until(socket, "FAILED"))
        url = f"{call.url}/api/v1/instances/{id}/stream?untilEnd=true"
        async with call.session.get(url) as stream:
            streamed = await stream.text()
        await until(has_heard)
        sent = b"".join(body for _, body in heard.raw).decode()
        history = (await call.get(f"/instances/{id}/history")).text
    assert SECRET in history, "there is one"
    for said in (told, streamed, sent):
        assert "it fell" in said
        assert SECRET not in said


@pytest.mark.asyncio
async def test_another_process_takes_tracebacks_out_of_a_large_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To decode it and to walk through it would keep the service from everything else."""
    error = {
        "code": "A",
        "message": "it fell",
        "details": {"traceback": SECRET, "row": "y" * LARGE},
    }
    async with served(app=Tenuto(tasks=tasks())) as call:
        await call.app.deploy(WAIT)
        id = (await call.app.start("wait", {"orderId": 1, "error": error})).id
        shown = {}
        monkeypatch.setattr("tenuto.model.tracebacks.without_tracebacks", None)
        for role in (Role.VIEWER, Role.EDITOR):
            headers = await key_of(call, role)
            shown[role] = await call("GET", f"/instances/{id}/context", headers=headers)
        assert call.pipeline.service.answer_process.pid is not None
    assert all(each.status == 200 and "y" * LARGE in each.text for each in shown.values())
    assert SECRET not in shown[Role.VIEWER].text
    assert SECRET in shown[Role.EDITOR].text


@pytest.mark.asyncio
async def test_a_change_whose_large_answer_cannot_be_shown_is_not_said_to_be_refused() -> None:
    """The instance had started, and the answer said that nothing was accepted."""
    registry = Registry()

    @registry.task
    async def fall(ctx: Context) -> None:
        details: Object = {"traceback": SECRET, "row": "y" * LARGE}
        raise TaskError("A", "it fell", retryable=False, details=details)

    async with served(app=Tenuto(tasks=registry)) as call:
        await call.app.deploy(FLOW)
        headers, editor = [await key_of(call, each) for each in (Role.OPERATOR, Role.EDITOR)]
        call.pipeline.service.answer_process.refuse_all()
        started = await call("POST", "/workflows/broken/start?wait=60", {}, headers=headers)
        [instance] = (await call.get("/instances", **editor)).json["items"]
        shown = await call.get(f"/instances/{instance['id']}", **headers)
    assert [each.status for each in (started, shown)] == [503, 503]
    assert [each.json["code"] for each in (started, shown)] == ["TEN-4019", "TEN-4022"]
