"""Tasks that are pushed to services: outcomes, callbacks, and how an address is spared."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.tasks.registry import Registry
from tests.api.conftest import Caller, served, until
from tests.api.push_service import PushService, push_service

pytestmark = pytest.mark.asyncio

ONCE = {"retry": {"maxAttempts": 1}}


@asynccontextmanager
async def pushing(**declared: object) -> AsyncIterator[tuple[Caller, PushService]]:
    app = Tenuto(
        tasks=Registry(),
        settings=Settings(unknown_tasks="wait", private_targets=True, jobs_every=0.2),
    )
    async with push_service() as target, served(app=app) as call:
        task = {"id": "charge", "kind": "push", "url": target.url, **ONCE, **declared}
        assert (await call.post("/tasks", task)).status == 201
        yield call, target


async def run(call: Caller, input: object = None) -> dict[str, Any]:
    answer = await call.post("/tasks/charge/execute?wait=60", {"input": input})
    assert isinstance(answer.json, dict)
    return answer.json


async def begin(call: Caller, task: str = "charge") -> str:
    return str((await call.post(f"/tasks/{task}/execute", {})).json["instanceId"])


async def ended(call: Caller, id: str) -> dict[str, Any]:
    await call.app.engine.final_state(id)
    instance = (await call.get(f"/instances/{id}")).json
    assert isinstance(instance, dict)
    return instance


async def test_an_outcome_in_the_answer_is_the_outcome() -> None:
    """`context` in claims and pushes is seed 003's object, `retryCount = attempt − 1`."""  # noqa: RUF002 - as it stands there
    async with pushing() as (call, target):
        done = await run(call, {"amount": 5})
        assert (done["status"], done["output"]) == ("COMPLETED", {"ok": True})
        [sent] = target.seen
        assert sent["taskId"] == "charge"
        assert (sent["instanceId"], sent["stepId"]) == (done["instanceId"], "run")
        assert (sent["input"], sent["attempt"]) == ({"amount": 5}, 1)
        assert sent["idempotencyKey"] == f"{done['instanceId']}:run"
        assert sent["context"] == {"workflowDefinitionId": "task:charge", "retryCount": 0}
        assert sent["callbackUrl"].startswith(f"{call.url}/api/v1/internal/tasks/callback?token=")


async def test_metrics_tell_how_many_breakers_are_open_and_name_no_address() -> None:
    async with pushing(breaker={"failures": 1, "openFor": 60_000}) as (call, target):
        assert 'tenuto_push_targets{breaker="open"} 0.0' in (await call("GET", "/metrics")).text
        target.status = 503
        await ended(call, await begin(call))

        async def is_told() -> bool:
            page = (await call("GET", "/metrics")).text
            assert "charge" not in page.replace("task:charge", "")
            return 'tenuto_push_targets{breaker="open"} 1.0' in page

        await until(is_told)


async def test_an_outcome_that_does_not_fit_what_is_declared_is_a_failure() -> None:
    async with pushing(outputSchema={"type": "object", "required": ["receipt"]}) as (call, target):
        failed = await ended(call, (await run(call))["instanceId"])
        assert (failed["status"], failed["output"]) == ("FAILED", None)
        assert failed["lastError"]["code"] == "INVALID_OUTPUT"
        [problem] = failed["lastError"]["details"]["problems"]
        assert problem["code"] == "TEN-2113"
        assert len(target.seen) == 1


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (200, {"status": "FAILED", "error": {"code": "NO_FUNDS", "message": "none"}}, "NO_FUNDS"),
        (200, {"status": "TIMEOUT"}, "TIMEOUT"),
        (200, {"status": "COMPLETED", "executionId": "another"}, "PUSH_REFUSED"),
        (200, "nonsense", "PUSH_REFUSED"),
        (404, None, "PUSH_REFUSED"),
        (302, None, "PUSH_REFUSED"),
        (503, None, "PUSH_FAILED"),
    ],
)
async def test_what_a_service_answers_decides_the_attempt(
    status: int, body: object, code: str
) -> None:
    """Push: seed 003's request plus `executionId, attempt, idempotencyKey`; the token is in
    `callbackUrl`; 200 with a body is the outcome, 202 later, 408/429/5xx/network retryable,
    other 4xx not.
    """
    async with pushing() as (call, target):
        target.status, target.body = status, json.dumps(body).encode()
        done = await run(call)
        assert (done["status"], done["lastError"]["code"]) == ("FAILED", code)
        assert len(target.seen) == 1


@pytest.mark.parametrize(("status", "attempts"), [(408, 2), (429, 2), (500, 2), (400, 1)])
async def test_what_may_pass_is_tried_again_and_a_refusal_is_not(
    status: int, attempts: int
) -> None:
    retry = {"maxAttempts": 2, "initialDelay": 1}
    async with pushing(retry=retry) as (call, target):
        target.status = status
        assert (await run(call))["status"] == "FAILED"
        assert [each["attempt"] for each in target.seen] == list(range(1, attempts + 1))
        assert len({each["idempotencyKey"] for each in target.seen}) == 1


async def test_what_was_accepted_is_reported_later_once() -> None:
    """200 with a body is the outcome, 202 later."""
    async with pushing() as (call, target):
        target.status = 202
        id = await begin(call)
        await target.was_sent.wait()
        path = target.seen[0]["callbackUrl"].removeprefix(call.url)
        outcome = {"status": "COMPLETED", "output": 7, "instanceId": id, "executionTime": 12}
        forged = path[:-6] + "AAAAAA"
        assert (await call.post(forged, outcome)).status == 401
        assert (await call.post(path.partition("=")[0] + "=x", outcome)).json["code"] == "TEN-3060"
        other = {**outcome, "executionId": "another"}
        assert (await call.post(path, other)).status == 422
        assert (await call.post(path, outcome)).status == 204
        done = await ended(call, id)
        assert done["output"] == 7
        [step] = done["state"]["steps"].values()
        assert step["executionTime"] == 12
        assert target.seen[0]["deadline"] > done["createdAt"]
        # A repeat changes nothing, and another outcome is refused.
        assert (await call.post(path, outcome)).status == 204
        assert (await call.post(path, {"status": "FAILED"})).status == 409
        assert (await ended(call, id))["output"] == 7


async def test_an_answer_may_ask_for_a_delay() -> None:
    async with pushing() as (call, target):
        answer = {"status": "COMPLETED", "output": 7, "queueDelay": 1}
        target.status, target.body = 200, json.dumps(answer).encode()
        done = await run(call)
        assert done["output"] == 7
        items = (await call.get(f"/instances/{done['instanceId']}/history")).json["items"]
        [held] = [each for each in items if each["eventType"] == "TIMER_SET"]
        assert held["payload"]["held"]["output"] == 7


async def test_a_token_is_of_one_attempt() -> None:
    async with pushing(timeout="PT1S", retry={"maxAttempts": 2, "initialDelay": 1}) as (
        call,
        target,
    ):
        target.status = 202
        id = await begin(call)
        await until(lambda: _sent(call, target, 2))
        first, second = (each["callbackUrl"].removeprefix(call.url) for each in target.seen)
        outcome = {"status": "COMPLETED", "output": 1}
        assert (await call.post(first, outcome)).status == 409
        assert (await call.post(second, outcome)).status == 204
        assert (await ended(call, id))["output"] == 1


async def _sent(call: Caller, target: PushService, count: int) -> bool:
    await call.get("/health")
    return len(target.seen) >= count


async def _breaker(call: Caller, state: str) -> bool:
    return bool((await call.get("/tasks/charge")).json["target"]["breaker"] == state)


async def test_an_open_breaker_is_the_cause_why_a_task_is_not_pushed() -> None:
    """`explain` has the cause `breaker` where the circuit breaker of a task's push target is open,
    with since when and until when.
    """
    async with pushing(breaker={"failures": 1, "openFor": 3_600_000}) as (call, target):
        target.status = 500
        assert (await run(call))["status"] == "FAILED"
        id = await begin(call)
        await until(lambda: _breaker(call, "open"))
        [cause] = (await call.get(f"/instances/{id}/explain")).json["causes"]
        assert (cause["kind"], cause["details"]["taskId"]) == ("breaker", "charge")
        assert cause["since"] < cause["until"]


async def test_the_breaker_opens_half_opens_and_closes() -> None:
    breaker = {"failures": 2, "openFor": 1500}
    async with pushing(breaker=breaker) as (call, target):
        target.status = 503
        for _ in range(2):
            await run(call)
        assert (await call.get("/tasks/charge")).json["target"]["breaker"] == "open"
        waiting = [await begin(call) for _ in range(3)]
        assert len(target.seen) == 2, "nothing is sent while it is open"
        # One is sent to see whether it answers, and fails: it is open again.
        await until(lambda: _sent(call, target, 3))
        await until(lambda: _breaker(call, "open"))
        assert len(target.seen) == 3
        target.status = 200
        await until(lambda: _breaker(call, "closed"))
        statuses = sorted([(await ended(call, id))["status"] for id in waiting])
        assert statuses == ["COMPLETED", "COMPLETED", "FAILED"]


async def test_a_slow_service_keeps_no_other_waiting() -> None:
    """Bulkhead: an address has its own room, and no more than that."""
    async with pushing(limits={"concurrency": 2}) as (call, slow), push_service() as quick:
        await call.post("/tasks", {"id": "mail", "kind": "push", "url": quick.url, **ONCE})
        slow.may_answer.clear()
        waiting = [await begin(call) for _ in range(6)]
        await until(lambda: _sent(call, slow, 2))
        others = [await begin(call, "mail") for _ in range(6)]
        assert {(await ended(call, id))["status"] for id in others} == {"COMPLETED"}
        assert len(slow.seen) == 2
        target = (await call.get("/tasks/charge")).json["target"]
        assert target["inFlight"] == 2
        slow.may_answer.set()
        assert {(await ended(call, id))["status"] for id in waiting} == {"COMPLETED"}
        assert slow.most_at_once == 2


async def test_addresses_of_no_public_network_are_refused_unless_allowed() -> None:
    async with push_service() as target, served() as call:
        task = {"id": "charge", "kind": "push", "url": target.url}
        assert (await call.post("/tasks", task)).json["problems"][0]["code"] == "TEN-2302"


async def test_a_service_that_cannot_push_any_more_is_not_ready() -> None:
    async with pushing() as (call, _):
        assert (await call("GET", "/health/ready")).status == 200

        async def broken(**_: object) -> object:
            raise AssertionError("a bug")

        call.app.engine.store.tasks.pushed = broken  # type: ignore[method-assign, assignment]

        async def is_told() -> bool:
            answer = await call("GET", "/health/ready")
            return (answer.status, answer.json["status"]) == (503, "pushing has stopped")

        await until(is_told)
