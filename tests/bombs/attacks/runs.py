"""Runs that are long or have no end, and test runs of large definitions."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.model.json import JSON, Object
from tests.bombs.attack import BUSY, TOO_LARGE, Ask, Attack

_ENDLESS: Object = {
    "stepId": "l",
    "type": "LOOP",
    "while": "true",
    "maxIterations": 10_000_000,
    "transitions": {"loop": "b"},
}
_FAILS_FOREVER: Object = {
    "stepId": "a",
    "type": "TASK",
    "taskId": "double",
    "input": {"number": {}},
    "retry": {
        "maxAttempts": 1_000_000,
        "initialDelay": "PT0.001S",
        "maxDelay": "PT0.001S",
        "multiplier": 1,
    },
}


def _saved(*steps: Object) -> list[Ask]:
    listed: list[JSON] = list(steps)
    return [Ask("PUT", "/workflows/runs", {"id": "runs", "steps": listed})]


def _start(input: JSON) -> Ask:
    return Ask("POST", "/workflows/runs/start", {"input": input})


def _starts(count: int) -> Ask:
    items: list[JSON] = [{"workflowId": "runs", "input": {}} for _ in range(count)]
    return Ask("POST", "/instances/batch", {"items": items})


def _delay(duration: str) -> Object:
    return {"stepId": "b", "type": "DELAY", "duration": duration}


def _chain(count: int, step: Object, ending: str = "") -> list[JSON]:
    return [
        {
            **step,
            "stepId": f"s{number}{ending}",
            **(
                {"transitions": {"default": f"s{number + 1}{ending}"}} if number < count - 1 else {}
            ),
        }
        for number in range(count)
    ]


def _large_test_run() -> Ask:
    steps = _chain(19_000, {"type": "SET", "values": {"x": 1}})
    return Ask("POST", "/workflows/test", {"id": "runs", "steps": steps})


def _wrong_mocks() -> Iterator[Ask]:
    """Each mock is for a step that there is not, so that the nearest of many names is told."""
    steps = _chain(1_500, {"type": "TASK", "taskId": "double"}, "n" * 50)
    mocks: Object = {f"x{number}": {"output": 1} for number in range(5_000)}
    yield Ask("POST", "/workflows/test", {"id": "runs", "steps": steps, "mocks": mocks})


RUNS: tuple[Attack, ...] = (
    Attack(
        "endless-loops",
        lambda: [_start({})] * 40,
        BUSY,
        before=lambda: _saved(_ENDLESS, {"stepId": "b", "type": "SET", "values": {"x": "{{1}}"}}),
        rounds=1,
    ),
    Attack(
        "endless-delays",
        lambda: [_starts(1_000)] * 3,
        BUSY,
        before=lambda: _saved(_ENDLESS, _delay("PT0.001S")),
        rounds=1,
    ),
    Attack(
        "wide-parallel-loops",
        lambda: [_start([0] * 100_000)] * 3,
        TOO_LARGE,
        before=lambda: _saved(
            {
                "stepId": "l",
                "type": "LOOP",
                "source": "{{ctx.input}}",
                "mode": "parallel",
                "concurrency": 100_000,
                "transitions": {"loop": "b"},
            },
            _delay("PT0.01S"),
        ),
        rounds=1,
    ),
    Attack(
        "retries-without-end",
        lambda: [_starts(500)] * 2,
        BUSY,
        before=lambda: _saved(_FAILS_FOREVER),
        rounds=1,
    ),
    Attack("large-test-runs", lambda: [_large_test_run()] * 6, TOO_LARGE, at_once=3),
    Attack("mocks-of-no-step", _wrong_mocks, TOO_LARGE, at_once=1),
)
