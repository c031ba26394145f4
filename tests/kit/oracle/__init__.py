"""What a correct engine must come to: a second, plain telling of the semantics.

expected = certain(document, input, behaviours, actions)
# None: the outcome hangs on an order that the specification leaves open
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from tests.kit.checker.expression import Json
from tests.kit.oracle.model import Model, Outcome, Schedule
from tests.kit.workload.actions import Action
from tests.kit.workload.behaviours import Behaviours
from tests.kit.workload.drawing import Document

__all__ = ["Outcome", "Schedule", "agrees", "certain", "predict"]

_LATENCIES_MS = ((0, 0), (0, 0), (0, 5), (0, 40), (1, 0), (3, 1), (40, 0))
"""Of the engine, and of clients."""
_LEFT_OUT = frozenset({"at", "timestamp", "correlationId", "message", "details", "attempts"})


def predict(
    document: Document,
    input: Json,
    behaviours: Behaviours,
    actions: Sequence[Action] = (),
    schedule: Schedule | None = None,
) -> Outcome:
    """Where an instance ends, or rests, under one schedule."""
    return Model(document, input, behaviours, schedule or Schedule()).run(actions)


def certain(
    document: Document, input: Json, behaviours: Behaviours, actions: Sequence[Action] = ()
) -> Outcome | None:
    """The outcome where several schedules agree on it, else None."""
    first: Outcome | None = None
    for schedule in _schedules():
        outcome = predict(document, input, behaviours, actions, schedule)
        if first is not None and outcome != first:
            return None
        first = outcome
    return first


def agrees(expected: Outcome, status: str, output: Json, nodes: Mapping[str, str]) -> bool:
    """Whether an engine came to the same end; an instance that has not ended is `OPEN`.

    After an end that was decided early it is open which of the nodes that never ran were skipped.
    """
    if status != expected.status:
        return False
    if status == "COMPLETED" and _plain(output) != _plain(expected.output):
        return False
    return all(
        _ran(nodes.get(id, "PENDING")) == _ran(expected.nodes.get(id, "PENDING"))
        for id in expected.nodes.keys() | nodes.keys()
    )


def _ran(status: str) -> str:
    return "NEVER RAN" if status in ("PENDING", "SKIPPED") else status


def _plain(value: Json) -> Json:
    """Without what the oracle does not make up: texts of errors, times of events."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if name not in _LEFT_OUT}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _schedules() -> Iterator[Schedule]:
    yield Schedule()
    for number, (latency, client) in enumerate(_LATENCIES_MS):
        yield Schedule(partial(_jitter, number), latency, client, partial(_share, number))
    # Whoever was first by jitter alone is now last.
    yield Schedule(partial(_other_jitter, 0), 0, 0, partial(_share, 0))


def _jitter(number: int, node: str, failures: int) -> float:
    return _share(number, node, failures) / 4


def _other_jitter(number: int, node: str, failures: int) -> float:
    return 0.25 - _jitter(number, node, failures)


def _share(*parts: str | int) -> float:
    """A number from 0 to 1 that follows from `parts`."""
    return hashlib.sha256(":".join(map(str, parts)).encode()).digest()[0] / 255
