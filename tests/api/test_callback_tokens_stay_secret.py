"""The token of a callback is the service's that the task was pushed to, and nobody else's."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.executions.push_wire import ticket_of
from tenuto.tasks.registry import Registry
from tests.api.conftest import Caller, Reply, served
from tests.api.push_service import PushService, push_service
from tests.api.test_secrets_stay_secret import everything_logged, spellings

CALLBACK = "/internal/tasks/callback"
DONE = {"status": "COMPLETED", "output": {"receipt": 7}}


def all_bytes(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def pushed(call: Caller, target: PushService) -> tuple[str, str, str]:
    """An instance whose task was just pushed: its id, the callback's address, and its token."""
    known = len(target.seen)
    target.was_sent.clear()
    id = (await call.post("/tasks/charge/execute", {})).json["instanceId"]
    while len(target.seen) == known:
        await target.was_sent.wait()
        target.was_sent.clear()
    url = target.seen[-1]["callbackUrl"]
    [token] = parse_qs(urlsplit(url).query)["token"]
    return id, url, token


async def played(call: Caller, target: PushService, replies: list[Reply]) -> list[str]:
    """Callbacks that are taken, refused and repeated, and answers that fail; all their tokens."""
    target.status = 202
    id, _, token = await pushed(call, target)
    where = f"{CALLBACK}?token={token}"
    replies.append(await call.post(where, {"status": "NONSENSE"}))
    replies.append(await call.post(where, {**DONE, "executionId": "another"}))
    replies.append(await call.post(f"{where}x", DONE))
    replies.append(await call("GET", where))
    replies.append(await call.post(where, DONE))
    replies.append(await call.post(where, {"status": "FAILED"}))
    assert [each.status for each in replies] == [422, 422, 401, 405, 204, 409]
    tokens, ids = [token], [id]
    target.status = 503
    id, _, token = await pushed(call, target)
    tokens, ids = [*tokens, token], [*ids, id]
    target.status, target.may_answer = 200, type(target.may_answer)()
    id, url, token = await pushed(call, target)
    error = {"code": "LOST", "message": f"{url} does not answer", "details": {"url": url}}
    target.body = json.dumps({"status": "FAILED", "error": error}).encode()
    target.may_answer.set()
    tokens, ids = [*tokens, token], [*ids, id]
    for id in ids:
        await call.app.engine.final_state(id)
        paths = ("", "/history", "/context", "/explain")
        replies += [await call.get(f"/instances/{id}{path}") for path in paths]
    return tokens


@pytest.mark.asyncio
async def test_a_callback_token_is_in_no_log_history_error_export_metric_or_database(
    tmp_path: Path,
) -> None:
    settings = Settings(unknown_tasks="wait", private_targets=True, jobs_every=0.2)
    app = Tenuto(f"sqlite:///{tmp_path}/a.db", tasks=Registry(), settings=settings)
    replies: list[Reply] = []
    with everything_logged() as logged:
        async with push_service() as target, served(app=app) as call:
            task = {"id": "charge", "kind": "push", "url": target.url, "retry": {"maxAttempts": 1}}
            await call.post("/tasks", task)
            tokens = await played(call, target, replies)
            paths = ("/audit?limit=1000", "/audit/export", "/dead-letters", "/events", "/metrics")
            replies += [await call.get(path) for path in (*paths, "/tasks/charge", "/instances")]
    kept = all_bytes(tmp_path)
    assert b"charge" in kept
    seen = logged.getvalue() + "".join(f"{each.text}{dict(each.headers)}" for each in replies)
    signatures = []
    for token in tokens:
        ticket = ticket_of(token)
        assert ticket is not None
        signatures.append(ticket.lease_token.partition(".")[2])
    assert len(set(signatures)) == 3
    secrets = {text for secret in (*tokens, *signatures) for text in spellings(secret)}
    assert {text for text in secrets if text in seen} == set()
    assert {text for text in secrets if text.encode() in kept} == set()
