"""Inputs, batches and lists that are large in one way or another."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.model.json import JSON, Object
from tests.bombs.attack import BUSY, TOO_LARGE, Ask, Attack
from tests.core.drawing import draw, end

_WAIT: Object = {"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "never", "lookback": "PT0S"}
_TASK: Object = {"stepId": "a", "type": "TASK", "taskId": "double", "input": {"number": 1}}


def _saved(id: str, step: Object, **more: JSON) -> Ask:
    return Ask("PUT", f"/workflows/{id}", {"id": id, "steps": [step], **more})


def _inputs() -> Iterator[Ask]:
    start = "/workflows/taking/start"
    for body in (
        b'{"input":' + b"[" * 400_000 + b"]" * 400_000 + b"}",
        b'{"input":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
        b'{"input":' + b"9" * 900_000 + b"}",
        b'{"input":1e' + b"9" * 900_000 + b"}",
        b'{"input":0.' + b"1" * 900_000 + b"}",
        b'{"input":"' + b"\\u0041" * 150_000 + b'"}',
        b'{"input":"' + b"\xf0\x9f\x92\xa3" * 200_000 + b'"}',
        b'{"input":[' + b"1," * 450_000 + b"1]}",
        b"[" * 900_000,
    ):
        yield Ask("POST", start, body)
    yield Ask("POST", start, {"input": {f"k{n}": n for n in range(60_000)}})
    yield Ask("POST", "/workflows/numbers/start", {"input": ["x"] * 480_000})
    yield Ask("POST", "/workflows/numbers/start", {"input": ["x"] * 240_000})


def _batch(workflow: str) -> Ask:
    items: list[JSON] = [{"workflowId": workflow, "input": {"number": n}} for n in range(1_000)]
    return Ask("POST", "/instances/batch", {"items": items})


def _large() -> Iterator[Ask]:
    yield Ask("PUT", "/workflows/echo", draw("d", d=end("{{ctx.input}}")) | {"id": "echo"})
    for _ in range(60):
        yield Ask("POST", "/workflows/echo/start", {"input": "x" * 900_000})


INPUTS: tuple[Attack, ...] = (
    Attack(
        "inputs",
        _inputs,
        TOO_LARGE,
        before=lambda: [
            _saved("taking", _TASK),
            _saved("numbers", _TASK, inputSchema={"items": {"type": "integer"}}),
        ],
    ),
    Attack(
        "batches-of-starts",
        lambda: [_batch("taking")] * 8,
        BUSY,
        before=lambda: [_saved("taking", _TASK)],
    ),
    Attack(
        "batches-of-waits",
        lambda: [_batch("waiting")] * 4,
        BUSY,
        before=lambda: [_saved("waiting", _WAIT)],
        rounds=5,
    ),
    Attack(
        "lists-of-large-values",
        lambda: [
            Ask("GET", "/instances?limit=1000"),
            Ask("GET", "/instances?limit=1000&updatedFrom=2020-01-01T00:00:00Z"),
            Ask("GET", "/events?limit=1000"),
            Ask("GET", "/audit"),
        ],
        BUSY,
        before=_large,
    ),
)
