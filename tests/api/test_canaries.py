"""A canary secret, used in every way that there is, is in no table, no log and no answer."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from tenuto import Context, TaskError, Tenuto
from tenuto.engine.settings import Settings
from tenuto.logs.lines import JsonLines, TextLines
from tenuto.model.json import Object
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import Registry
from tests.api.conftest import Caller, Reply, served
from tests.api.push_service import PushService, push_service
from tests.api.test_callback_tokens_stay_secret import all_bytes
from tests.tasks.process_tasks import repeat_all

CANARIES = {
    "PLAIN": "canary-plain-5b1e9d77",
    "ODD": 'canary/odd "ö\\ +=&%\t7',
    "LINES": "canary-first-line-0001\ncanary-second-line-0002",
    "DIGITS": "90210447712345",
}
ALL: Object = {name: f"<{{{{secrets.{name}}}}}>" for name in CANARIES}
NEVER: Object = {"maxAttempts": 1}


def spellings(secret: str) -> Iterator[str]:
    """A value as it may turn up: as it is, escaped, in a URL, in hexadecimal, in base64."""
    for text in {secret, *(line for line in secret.splitlines() if len(line) > 8)}:
        yield from {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
        yield from {repr(text)[1:-1], quote(text), quote(text, safe=""), quote_plus(text)}
    data = secret.encode()
    yield from {data.hex(), data.hex().upper()}
    for before, skipped in ((0, 0), (1, 2), (2, 3)):
        encoded = base64.b64encode(bytes(before) + data).decode()
        whole = encoded[skipped : (before + len(data)) * 8 // 6]
        yield from {whole, whole.replace("+", "-").replace("/", "_")}


def tasks() -> Registry:
    async def echo(ctx: Context, given: Object) -> Object:
        text = json.dumps(given)
        ctx.heartbeat({"seen": given})
        print("printed", given)  # the subject of this test
        logging.getLogger("some.library").warning("logged %s", given)
        for value in given.values():
            print("basic", base64.b64encode(f"user{value}".encode()).decode())
        return {"given": given, "text": text, "quoted": quote(text), "hex": text.encode().hex()}

    async def fail(ctx: Context, given: Object) -> None:
        if ctx.attempt == 1:
            raise ValueError(f"refused {given}") from KeyError(str(given))
        raise TaskError("REFUSED", f"{given}", details={"given": given}, retryable=False)

    def in_a_thread(given: Object) -> Object:
        print("from a thread", given)
        return {"again": given}

    found = Registry()
    for function in (echo, fail, in_a_thread):
        found.add(TaskFunction(function))
    found.add(repeat_all)
    return found


def step(id: str, task: str, **more: Any) -> Object:  # noqa: ANN401 - fields of a step
    return {"stepId": id, "type": "TASK", "taskId": task, "input": ALL, **more}


ECHO: Object = {
    "id": "echo",
    "steps": [
        step("a", "echo", transitions={"default": "b"}, outputVariable="seen"),
        step("b", "in_a_thread", transitions={"default": "c"}),
        step("c", "repeat_all", transitions={"default": "told"}),
        {
            "stepId": "told",
            "type": "EMIT",
            "pattern": "canary.told",
            "payload": {"all": "{{ctx.seen}}"},
            "transitions": {"default": "wait"},
        },
        {"stepId": "wait", "type": "EVENT_WAIT", "eventPattern": "canary.told"},
    ],
}
FAIL: Object = {
    "id": "fail",
    "steps": [
        step("a", "in_a_thread", transitions={"default": "b"}),
        step("b", "fail", retry={"maxAttempts": 2, "initialDelay": "PT0S"}),
    ],
    "compensationSteps": [
        {"stepId": "undo", "compensationFor": "a", "taskId": "fail", "input": ALL, "retry": NEVER}
    ],
}
FAR: Object = {"id": "far", "steps": [step("a", "far", retry=NEVER)]}
PUSHED: Object = {"id": "pushed", "steps": [step("a", "push", retry=NEVER)]}


def built_in(url: str) -> Object:
    """Requests that are answered with what they sent, well and badly; code that logs and throws."""
    request: Object = {
        "type": "HTTP",
        "url": f"{url}?key={{{{secrets.PLAIN}}}}",
        "method": "POST",
        "headers": {"x-key": "{{secrets.DIGITS}}"},
        "auth": {"type": "basic", "value": "user:{{secrets.PLAIN}}"},
        "body": ALL,
        "retry": NEVER,
    }
    code = "console.log(input.ODD); console.log(JSON.stringify(input)); return {input};"
    thrown = "console.error(input.LINES); throw new Error(JSON.stringify(input));"
    scripted: Object = {"type": "JAVASCRIPT", "input": ALL, "retry": NEVER}
    return {
        "id": "built-in",
        "steps": [
            {"stepId": "good", **request, "transitions": {"default": "code"}},
            {"stepId": "code", **scripted, "code": code, "transitions": {"default": "bad"}},
            {"stepId": "bad", **request, "successCodes": [418], "transitions": {"error": "throws"}},
            {"stepId": "throws", **scripted, "code": thrown},
        ],
    }


async def worked(call: Caller, replies: list[Reply]) -> None:
    """A worker that repeats what it was given: in heartbeats, lines, a result and a failure."""
    for outcome in ("complete", "fail"):
        id = (await call.start("far"))["instanceId"]
        body = {"workerId": "w", "taskIds": ["far"], "max": 1, "wait": 30, "lease": 30}
        claimed = await call.post("/executions/claim", body)
        [task] = claimed.json["tasks"]
        given = task["input"]
        assert given == {name: f"<{value}>" for name, value in CANARIES.items()}
        where, lease = f"/executions/{task['executionId']}", {"leaseToken": task["leaseToken"]}
        line = {"at": "2026-01-01T00:00:00.000Z", "text": str(given)}
        logs = {"first": 0, "lines": [line]}
        beat = {**lease, "details": given, "logs": logs}
        replies.append(await call.post(f"{where}/heartbeat", beat))
        error = {"code": "X", "message": f"{given}", "details": given, "retryable": False}
        said = {"output": given} if outcome == "complete" else {"error": error}
        replies.append(await call.post(f"{where}/{outcome}", {**lease, **said}))
        assert replies[-1].status == 200, replies[-1].text
        await call.app.engine.final_state(id)


async def called(call: Caller, echo: PushService, replies: list[Reply]) -> None:
    """Requests and code of a workflow."""
    echo.echoes = True
    replies.append(await call("PUT", "/workflows/built-in", built_in(echo.url)))
    id = (await call.start("built-in"))["instanceId"]
    error = (await call.app.engine.final_state(id)).state.last_error
    assert error is not None
    assert (error.step_id, error.code) == ("throws", "JAVASCRIPT_ERROR")
    assert CANARIES["PLAIN"] in str(echo.raw)


async def pushed(call: Caller, target: PushService, replies: list[Reply]) -> None:
    """An address that answers with what it was sent, and with a failure."""
    for status in ("COMPLETED", "FAILED"):
        known = len(target.seen)
        target.may_answer = asyncio.Event()
        target.was_sent.clear()
        id = (await call.start("pushed"))["instanceId"]
        while len(target.seen) == known:
            await target.was_sent.wait()
            target.was_sent.clear()
        given = target.seen[-1]["input"]
        assert given["PLAIN"] == f"<{CANARIES['PLAIN']}>"
        error = {"code": "X", "message": f"{given}", "details": given}
        said = {"output": given} if status == "COMPLETED" else {"error": error}
        target.body = json.dumps({"status": status, **said}).encode()
        target.may_answer.set()
        await call.app.engine.final_state(id)
        replies.append(await call.get(f"/instances/{id}/history"))


async def looked_at(call: Caller, replies: list[Reply]) -> None:
    """All that can be read of it."""
    listed = (await call.get("/instances?limit=1000")).json["items"]
    for item in listed:
        where = f"/instances/{item['id']}"
        parts = ("", "/history", "/context", "/explain", "/undo-plan", "/waits", "/graph", "/logs")
        replies += [await call.get(f"{where}{part}") for part in parts]
    paths = (
        *("/instances?limit=1000", "/dead-letters", "/dead-letters/groups", "/events", "/audit"),
        *("/audit/export", "/secrets", "/secrets/PLAIN", "/webhooks", "/stats", "/metrics"),
        *("/workflows?include=definition", "/tasks", "/openapi.json"),
    )
    replies += [await call.get(path) for path in paths]
    for letter in (await call.get("/dead-letters")).json["items"]:
        replies.append(await call.get(f"/dead-letters/{quote(letter['id'], safe='')}"))


async def listened(call: Caller, id: str) -> str:
    """What a socket is sent of an instance, from its beginning."""
    url = call.url.replace("http", "ws", 1) + "/ws"
    async with call.session.ws_connect(url) as socket:
        await socket.send_json({"event": "workflow_run_join", "runId": id, "since": 0})
        found: list[str] = []
        async for message in socket:
            found.append(str(message.data))
            if '"workflow_status_update"' in found[-1] and "COMPLETED" in found[-1]:
                break
    return "".join(found)


class Everything(logging.Handler):
    """All that any logger says, as the service writes its lines."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += [JsonLines().format(record), TextLines().format(record)]


@pytest.mark.asyncio
async def test_a_canary_is_in_no_table_log_or_answer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`PUT /secrets/{name} {value, destinations?: [hosts or data sources]}`, `GET /secrets` (names,
    when changed, by whom, used by), `DELETE`; no verb reads a value.

    Outputs, failures, lines and heartbeats are recorded with `[secret NAME]` where they repeat a
    value, also in base64, URL-encoded, JSON-escaped or in hexadecimal.
    """
    settings = Settings(
        unknown_tasks="wait",
        private_targets=True,
        private_webhooks=True,
        private_networks={"*": ("127.0.0.1",)},
        jobs_every=0.2,
    )
    app = Tenuto(f"sqlite:///{tmp_path}/a.db", tasks=tasks(), settings=settings)
    replies: list[Reply] = []
    root, everything = logging.getLogger(), Everything()
    level = root.level
    root.addHandler(everything)
    root.setLevel(logging.DEBUG)
    try:
        async with (
            push_service() as hook,
            push_service() as target,
            push_service() as echo,
            served(app=app) as call,
        ):
            for name, value in CANARIES.items():
                replies.append(await call("PUT", f"/secrets/{name}", {"value": value}))
                replies.append(await call("PUT", f"/secrets/{name}", {"value": value}))
            refused = await call("PUT", "/secrets/PLAIN", {"value": [CANARIES["PLAIN"]]})
            replies.append(refused)
            assert [each.status for each in replies] == [201, 200] * len(CANARIES) + [422]
            body = {"url": hook.url, "patterns": ["workflow.**", "canary.**"]}
            replies.append(await call.post("/webhooks", body))
            push = {"id": "push", "kind": "push", "url": target.url}
            replies.append(await call.post("/tasks", push))
            replies += [
                await call("PUT", f"/workflows/{document['id']}", document)
                for document in (ECHO, FAIL, FAR, PUSHED)
            ]
            echoed = (await call.start("echo"))["instanceId"]
            failed = (await call.start("fail"))["instanceId"]
            for id in (echoed, failed):
                await app.engine.final_state(id)
            heard = await listened(call, echoed)
            await worked(call, replies)
            await pushed(call, target, replies)
            await called(call, echo, replies)
            await app.engine.effects.task_logs.written()
            replies.append(await call.post(f"/instances/{failed}/rerun", {}))
            await app.engine.final_state(replies[-1].json["instanceId"])
            while not any("canary.told" in str(each) for each in hook.seen):
                await hook.was_sent.wait()
                hook.was_sent.clear()
            await looked_at(call, replies)
            used = {
                each["name"]: each["usedBy"] for each in (await call.get("/secrets")).json["items"]
            }
            assert used["ODD"]["workflows"] == ["built-in", "echo", "fail", "far", "pushed"]
            # While it is open: the write-ahead log is there, too.
            kept = all_bytes(tmp_path)
    finally:
        root.removeHandler(everything)
        root.setLevel(level)
    kept += all_bytes(tmp_path)
    printed = capfd.readouterr()
    seen = "".join(f"{each.text}{dict(each.headers)}" for each in replies)
    seen += "".join(everything.lines) + heard + str(hook.seen) + printed.out + printed.err
    for name in CANARIES:
        assert f"[secret {name}]" in seen
        assert f"[secret {name}]".encode() in kept
    for said in ("printed", "from a thread", "in a process", "on the error stream"):
        assert said in printed.out + printed.err
    found = {
        (name, text, where)
        for name, value in CANARIES.items()
        for text in spellings(value)
        for where, is_there in (("seen", text in seen), ("kept", text.encode() in kept))
        if is_there
    }
    assert found == set()
