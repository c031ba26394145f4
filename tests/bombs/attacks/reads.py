"""Reads of what a tenant has made large: instances, families, what is told of them, counts."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.model.json import JSON, Object
from tests.bombs.attack import BUSY, TOO_LARGE, Ask, Attack, Joins

_FORM: Object = {"description": "f" * 300_000}
_DEEP = 90
_ID = "11111111-1111-4111-8111-11111111111{}"
"""An id that is chosen, so that later requests name it."""


def _looped(step: Object, **more: JSON) -> list[JSON]:
    loop: Object = {
        "stepId": "l",
        "type": "LOOP",
        "source": "{{ctx.input.list}}",
        "transitions": {"loop": "b"},
        **more,
    }
    return [loop, {"stepId": "b", **step}]


def _all_at_once(step: Object, count: int) -> list[JSON]:
    return _looped(step, mode="parallel", concurrency=count)


def _saved(id: str, steps: list[JSON]) -> Ask:
    return Ask("PUT", f"/workflows/{id}", {"id": id, "steps": steps})


def _started(id: str, input: JSON, number: int = 0) -> Ask:
    body: Object = {"input": input, "instanceId": _ID.format(number)}
    # None of these ends: they are given the time to get where they wait.
    return Ask("POST", f"/workflows/{id}/start?wait=3", body)


def _batch(id: str, input: JSON, count: int) -> Ask:
    items: list[JSON] = [{"workflowId": id, "input": input} for _ in range(count)]
    return Ask("POST", "/instances/batch", {"items": items})


def _approval(form: Object) -> Object:
    return {"type": "APPROVAL", "assignees": {"users": ["ann"]}, "formSchema": form}


def _of(number: int, *parts: str) -> list[Ask]:
    return [Ask("GET", f"/instances/{_ID.format(number)}{part}") for part in parts]


def _many_forms() -> list[Ask]:
    return [
        _saved("forms", _all_at_once(_approval(_FORM), 3_000)),
        _started("forms", {"list": [0] * 3_000}),
    ]


def _family() -> list[Ask]:
    """A hundred children, in each of which twenty decisions on the same form are open."""
    child: Object = {"type": "SUB_WORKFLOW", "workflowId": "child", "input": "{{ctx.input}}"}
    top: Object = {"type": "SUB_WORKFLOW", "workflowId": "many", "input": "{{ctx.input}}"}
    return [
        _saved("child", _all_at_once(_approval(_FORM), 20)),
        _saved("many", _all_at_once(child, 20)),
        _saved("top", _all_at_once(top, 20)),
        _started("top", {"list": [0] * 20}),
    ]


def _nearly() -> list[Ask]:
    """Waits with conditions of a hundred parts, all of which are false for a hundred events."""
    condition = " && ".join(f"event.payload.t == 'x{number}'" for number in range(100))
    wait: Object = {
        "type": "EVENT_WAIT",
        "eventPattern": "near.one",
        "eventCondition": condition,
    }
    event: Object = {"pattern": "near.one", "payload": {"t": "y" * 990}}
    return [
        _saved("nearly", _all_at_once(wait, 100)),
        _started("nearly", {"list": [0] * 100}),
        *[Ask("POST", "/events", [event] * 100)],
    ]


def _told() -> list[Ask]:
    """Instances whose status changes with each of a hundred events, and that have much to show."""
    steps = _looped({"type": "EVENT_WAIT", "eventPattern": "go.on"})
    input: Object = {"list": [0] * 101, "large": "x" * 200_000}
    event: Object = {"pattern": "go.on"}
    events = [Ask("POST", "/events", [event] * 10) for _ in range(10)]
    return [_saved("told", steps), *[_batch("told", input, 20)] * 2, *events]


def _written() -> list[Ask]:
    """Instances with logs of a hundred and fifty large entries."""
    steps = _looped({"type": "SET", "values": {"x": "{{ctx.input.large}}"}})
    wait: Object = {"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "never"}
    steps[0] = {**steps[0], "transitions": {"loop": "b", "done": "w"}}  # type: ignore[dict-item]
    input: Object = {"list": [0] * 150, "large": "x" * 900_000}
    return [_saved("written", [*steps, wait]), *[_batch("written", input, 1)] * 5]


def _nested() -> JSON:
    value: JSON = "x" * 900_000
    for _ in range(_DEEP):
        value = {"a": value}
    return {"list": [], "rows": [value]}


def _widget() -> Ask:
    columns: list[JSON] = [".".join(["a"] * (depth + 1)) for depth in range(_DEEP)]
    config: Object = {"path": "input.rows", "columns": columns}
    body: Object = {"widgetType": "table", "widgetConfig": config}
    return Ask("POST", f"/instances/{_ID.format(0)}/widget", body)


def _counted() -> Iterator[Ask]:
    yield _saved("done", [{"stepId": "a", "type": "SET", "values": {"x": "{{1}}"}}])
    yield _saved("never", [{"stepId": "a", "type": "EVENT_WAIT", "eventPattern": "never"}])
    yield _saved("failed", [{"stepId": "a", "type": "SET", "values": {"x": "{{steps.a.b.c.d()}}"}}])
    for id in ("done", "never", "failed"):
        for _ in range(10):
            yield _batch(id, {"text": "e" * 100}, 1_000)


def _queued() -> Iterator[Ask]:
    """Twenty megabytes of declared tasks, for one of which an attempt waits."""
    for number in range(20):
        body: Object = {
            "id": f"large{number}",
            "kind": "pull",
            "inputSchema": {"description": "d" * 900_000},
        }
        yield Ask("PUT", f"/tasks/large{number}", body)
    yield _saved("queued", [{"stepId": "a", "type": "TASK", "taskId": "nothing"}])
    yield _started("queued", None)


READS: tuple[Attack, ...] = (
    Attack(
        "forms-of-many-approvals",
        lambda: [*_of(0, "", "/waits", "/explain"), Ask("GET", "/approvals")] * 10,
        TOO_LARGE,
        before=_many_forms,
        at_once=20,
    ),
    Attack(
        "explained-families",
        lambda: _of(0, "/explain") * 10,
        TOO_LARGE,
        before=_family,
        at_once=20,
    ),
    Attack(
        "long-near-misses",
        lambda: _of(0, "/waits", "/explain") * 10,
        TOO_LARGE,
        before=_nearly,
        at_once=20,
    ),
    Attack("replays-of-large-contexts", before=_told, opens=Joins(20, "told")),
    Attack("replays-of-large-entries", before=_written, opens=Joins(20, "written")),
    Attack(
        "widgets-of-nested-values",
        lambda: [_widget()] * 40,
        TOO_LARGE,
        before=lambda: [
            _saved("nested", _looped({"type": "DELAY", "duration": "PT1H"})),
            _started("nested", _nested()),
        ],
        at_once=20,
    ),
    Attack(
        "counts-of-thousands",
        lambda: (
            [
                Ask("GET", "/stats?hours=168"),
                Ask("GET", "/stats/series?hours=168&points=240"),
                Ask("GET", "/attention?hours=168&limit=50"),
                Ask("GET", "/dead-letters/groups"),
            ]
            * 20
        ),
        BUSY,
        before=_counted,
        at_once=50,
    ),
    Attack(
        "queues-of-large-tasks",
        lambda: [Ask("GET", "/task-queues"), *_of(0, "/explain")] * 40,
        BUSY,
        before=_queued,
        at_once=50,
    ),
)
