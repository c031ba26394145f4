"""Events that many wait for, that are many, or that are large."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.model.json import JSON, Object
from tests.bombs.attack import BUSY, TOO_LARGE, Ask, Attack

_COSTLY = "event.payload.list.map(x => x + 1).includes(workflow.input.number)"
CLOSED_PORT = "http://127.0.0.1:9/hook"
"""Nothing listens there: deliveries are refused at once, and repeated."""


def _waiting(condition: str | None, pattern: str = "a.b") -> Ask:
    step: Object = {
        "stepId": "w",
        "type": "EVENT_WAIT",
        "eventPattern": pattern,
        "lookback": "PT0S",
        **({"eventCondition": condition} if condition else {}),
    }
    return Ask("PUT", "/workflows/waiting", {"id": "waiting", "steps": [step]})


def _starts(thousands: int) -> Iterator[Ask]:
    items: list[JSON] = [{"workflowId": "waiting", "input": {"number": -n}} for n in range(1, 1001)]
    return (Ask("POST", "/instances/batch", {"items": items}) for _ in range(thousands))


def _event(pattern: str, payload: JSON) -> Ask:
    return Ask("POST", "/events", {"pattern": pattern, "payload": payload})


def _events(pattern: str) -> Ask:
    return Ask("POST", "/events", [{"pattern": pattern, "payload": {"n": n}} for n in range(1_000)])


def _nested(depth: int) -> JSON:
    value: JSON = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def _listeners() -> Iterator[Ask]:
    for number in range(100):
        body: Object = {"url": f"{CLOSED_PORT}{number}", "patterns": ["told.*"]}
        yield Ask("POST", "/webhooks", body)


_DOUBLED = "event.payload.list.reduce((a, b) => [a, a], 1)"
"""Sixty steps make a value of 2^60 items, which is to be compared, shown or taken over."""
_FEW = 5
"""Events of these: each is compared with a thousand waits before the attack begins."""
_SIXTY: JSON = {"list": list(range(60))}


def _mapping() -> Ask:
    step: Object = {
        "stepId": "w",
        "type": "EVENT_WAIT",
        "eventPattern": "a.b",
        "eventPayloadMapping": {"x": f"{{{{{_DOUBLED}}}}}"},
    }
    return Ask("PUT", "/workflows/waiting", {"id": "waiting", "steps": [step]})


EVENTS: tuple[Attack, ...] = (
    Attack(
        "waits-with-costly-conditions",
        lambda: [_event("a.b", {"list": list(range(3_000))})] * 5,
        BUSY,
        before=lambda: [_waiting(_COSTLY), *_starts(5)],
    ),
    Attack(
        "an-event-for-thousands",
        lambda: [*_starts(2), _event("a.b", {})],
        BUSY,
        before=lambda: [_waiting(None)],
        at_once=1,
    ),
    Attack(
        "doubled-lists-in-conditions",
        lambda: [Ask("POST", "/events?dryRun=true", {"pattern": "a.b", "payload": _SIXTY})] * 20,
        BUSY,
        before=lambda: [
            _waiting(f"{_DOUBLED} == workflow.input.number"),
            *_starts(1),
            Ask("POST", "/events", [{"pattern": "a.b", "payload": _SIXTY}] * _FEW),
        ],
    ),
    Attack(
        "doubled-lists-in-mappings",
        lambda: [*_starts(1), _event("a.b", _SIXTY)],
        BUSY,
        before=lambda: [_mapping()],
        at_once=1,
    ),
    Attack("arrays-of-events", lambda: [_events("no.one.waits")] * 4, BUSY),
    Attack("large-events", lambda: [_event("a.b", "x" * 900_000)] * 10, TOO_LARGE),
    Attack(
        "deep-events",
        lambda: [
            _event("a.b", _nested(400)),
            Ask("POST", "/events", b'{"pattern":"a","payload":' + b"[" * 500_000),
        ],
        TOO_LARGE,
    ),
    Attack(
        "many-webhooks",
        lambda: [_events("told.all")],
        BUSY,
        before=_listeners,
        rounds=3,
    ),
)
