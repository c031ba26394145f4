"""Attempts that take long, are many, or wait with large values: tasks, requests, code, pushes."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterator

from tenuto.model.json import JSON, Object
from tests.bombs.attack import BUSY, TOO_LARGE, Ask, Attack, Deaf

_DEAF = Deaf(48_231)
_DEAF_URL = f"http://127.0.0.1:{_DEAF.port}/"
_SLOW_HTTP: Object = {"type": "HTTP", "url": _DEAF_URL, "timeout": "PT60S"}
_ENDLESS_CODE: Object = {"type": "JAVASCRIPT", "code": "for (;;) {}", "timeout": "PT10S"}


def _saved(*steps: Object) -> list[Ask]:
    listed: list[JSON] = list(steps)
    return [Ask("PUT", "/workflows/attempts", {"id": "attempts", "steps": listed})]


def _wide(step: Object) -> list[Ask]:
    """A loop with all its iterations at once."""
    loop: Object = {
        "stepId": "l",
        "type": "LOOP",
        "source": "{{ctx.input}}",
        "mode": "parallel",
        "concurrency": 100_000,
        "transitions": {"loop": "b"},
    }
    return _saved(loop, {"stepId": "b", **step})


def _wide_starts() -> Iterator[Ask]:
    for _ in range(3):
        yield Ask("POST", "/workflows/attempts/start", {"input": [0] * 100_000})


def _starts(count: int) -> Ask:
    items: list[JSON] = [{"workflowId": "attempts", "input": {}} for _ in range(count)]
    return Ask("POST", "/instances/batch", {"items": items})


def _large_starts() -> Iterator[Ask]:
    for number in range(2_000):
        body: Object = {"input": {"number": number, "text": "x" * 900_000}}
        yield Ask("POST", "/workflows/attempts/start", body)


_NO_PLACE = "http://127.0.0.1:9/"


def _pushed_tasks() -> Iterator[Ask]:
    for number in range(10_000):
        id = f"pushed{number}"
        body: Object = {
            "id": id,
            "kind": "push",
            "url": f"https://pushed.example/{number}",
            "description": "d" * 1_000,
        }
        yield Ask("PUT", f"/tasks/{id}", body)


def _forged() -> Ask:
    """The ids are those of attempts that might be there."""
    attempt = b'["01a1ec22-daca-761d-8cb9-0b1cd0cd2aec","a","",1]'
    execution = urlsafe_b64encode(attempt).decode().rstrip("=")
    results: list[JSON] = [
        {"executionId": execution, "leaseToken": f"forged{number}", "output": number}
        for number in range(1_000)
    ]
    return Ask("POST", "/executions/report", {"results": results})


ATTEMPTS: tuple[Attack, ...] = (
    Attack(
        "naps-in-threads",
        lambda: [_starts(1_000)] * 3,
        BUSY,
        before=lambda: _saved({"stepId": "a", "type": "TASK", "taskId": "nap"}),
        rounds=1,
        small_step={"type": "TASK", "taskId": "double_in_thread"},
    ),
    Attack(
        "wide-loops-of-requests",
        _wide_starts,
        TOO_LARGE,
        before=lambda: _wide(_SLOW_HTTP),
        rounds=1,
        opens=_DEAF,
    ),
    Attack(
        "wide-loops-of-code",
        _wide_starts,
        TOO_LARGE,
        before=lambda: _wide(_ENDLESS_CODE),
        rounds=1,
    ),
    Attack(
        "endless-code",
        lambda: [_starts(1_000)] * 3,
        BUSY,
        before=lambda: _saved({"stepId": "a", **_ENDLESS_CODE}),
        rounds=1,
        small_step={"type": "JAVASCRIPT", "code": "return ctx.input.number * 2"},
    ),
    Attack(
        "code-with-large-inputs",
        _large_starts,
        TOO_LARGE,
        before=lambda: _saved({"stepId": "a", **_ENDLESS_CODE}),
        rounds=1,
    ),
    Attack("many-pushed-tasks", _pushed_tasks, TOO_LARGE, rounds=1, at_once=8),
    Attack("forged-reports", lambda: [_forged()] * 8, BUSY),
)
