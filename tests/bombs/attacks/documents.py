"""The documents of the corpus, sent to a service: saved, validated, started and published."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.model.json import JSON, Object
from tests.bombs.attack import TOO_LARGE, Ask, Attack
from tests.bombs.definitions import DEFINITIONS
from tests.bombs.schemas import RARER, SCHEMAS
from tests.bombs.values import VALUES

_TASK: Object = {"stepId": "a", "type": "TASK", "taskId": "double", "input": {"number": 1}}


def _schemas() -> Iterator[Ask]:
    for bomb in SCHEMAS:
        case = bomb.make()
        document: Object = {"id": "schema", "steps": [_TASK], "inputSchema": case.schema}
        yield Ask("PUT", "/workflows/schema", document)
        yield Ask("POST", "/workflows/schema/start", {"input": case.value})


def _rarer_schemas() -> Iterator[Ask]:
    for number, bomb in enumerate(RARER):
        case = bomb.make()
        id = f"schema{number}"
        body: Object = {"id": id, "steps": [_TASK], "inputSchema": case.schema}
        yield Ask("PUT", f"/workflows/{id}", body)
        for _ in range(2):
            yield Ask("POST", f"/workflows/{id}/start", {"input": case.value})


def _schemas_of_tasks() -> Iterator[Ask]:
    for bomb in SCHEMAS:
        case = bomb.make()
        yield Ask(
            "PUT", "/tasks/checked", {"id": "checked", "kind": "pull", "inputSchema": case.schema}
        )
        yield Ask("POST", "/workflows/unchecked/start", {"input": case.value})


def _checked() -> list[Ask]:
    step: Object = {"stepId": "a", "type": "TASK", "taskId": "checked", "input": "{{ctx.input}}"}
    return [
        Ask("POST", "/tasks", {"id": "checked", "kind": "pull"}),
        Ask("PUT", "/workflows/unchecked", {"id": "unchecked", "steps": [step]}),
    ]


def _definitions() -> Iterator[Ask]:
    for bomb in DEFINITIONS:
        document = bomb.make()
        yield Ask("POST", "/workflows/validate", document)
        yield Ask("PUT", "/workflows/bomb", document)


def _costly() -> list[Ask]:
    """Steps whose expressions take as many steps as they may, in each decision."""
    costly: list[JSON] = [
        f"{{{{ctx.input.list.map(x => x + {n}).includes(-1)}}}}" for n in range(2_000)
    ]
    step: Object = {"stepId": "a", "type": "TASK", "taskId": "double", "input": {"number": costly}}
    return [Ask("PUT", "/workflows/costly", {"id": "costly", "steps": [step]})]


def _doubled() -> list[Ask]:
    """Iterations that fail, each with a value of 2^60 items that sixty steps make."""
    doubled = "{{ctx.input.list.reduce((a, b) => [a, a], [1])}}"
    loop: Object = {
        "stepId": "l",
        "type": "LOOP",
        "source": "{{ctx.input.list}}",
        "onItemError": "continue",
        "transitions": {"loop": "b"},
    }
    body: Object = {"stepId": "b", "type": "SET", "values": {"x": doubled}}
    return [Ask("PUT", "/workflows/doubled", {"id": "doubled", "steps": [loop, body]})]


def _values() -> Iterator[Ask]:
    for bomb in VALUES:
        value = bomb.make()
        yield Ask("POST", "/workflows/taking/start", {"input": value})
        yield Ask("POST", "/events", {"pattern": "value.came", "payload": value})


DOCUMENTS: tuple[Attack, ...] = (
    Attack("schemas", _schemas, TOO_LARGE | {404}),
    Attack("schemas-of-rarer-keywords", _rarer_schemas, TOO_LARGE | {404}),
    Attack("schemas-of-tasks", _schemas_of_tasks, TOO_LARGE, before=_checked),
    Attack("definitions", _definitions, TOO_LARGE),
    Attack(
        "expressions",
        lambda: (
            Ask("POST", "/workflows/costly/start", {"input": {"list": list(range(9_000))}})
            for _ in range(20)
        ),
        TOO_LARGE,
        before=_costly,
    ),
    Attack(
        "doubled-lists",
        lambda: (
            [Ask("POST", "/workflows/doubled/start", {"input": {"list": list(range(60))}})] * 20
        ),
        TOO_LARGE,
        before=_doubled,
    ),
    Attack(
        "values",
        _values,
        TOO_LARGE,
        before=lambda: [Ask("PUT", "/workflows/taking", {"id": "taking", "steps": [_TASK]})],
    ),
)
