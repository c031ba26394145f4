"""Headers, and connections that keep a service waiting."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.model.json import JSON, Object
from tests.bombs.attack import BUSY, CLOSED, Ask, Attack, Joins, Lines

_REFUSED = BUSY | {CLOSED, 400, 401, 404, 408, 413, 421, 422, 431}
_WAIT: Object = {"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "never"}


def _headers() -> Iterator[Ask]:
    for headers in (
        {f"x-{number}": "a" for number in range(5_000)},
        {"x-long": "a" * 60_000},
        {"x-longer": "a" * 1_000_000},
        {"a" * 50_000: "b"},
        {"accept": ",".join(f"text/x{number};q=0.1" for number in range(3_000))},
        {"cookie": "; ".join(f"c{number}=1" for number in range(4_000))},
        {"authorization": "Bearer tnt_" + "0" * 60_000},
        {"traceparent": "00-" + "f" * 30_000},
        {"if-none-match": ",".join(f'"{number}"' for number in range(8_000))},
        {"content-type": "application/json;" + "a=b;" * 10_000},
        {"idempotency-key": "k" * 60_000},
        {"x-odd": "\xff\xfe\x80"},
    ):
        for _ in range(5):
            yield Ask("POST", "/events", {"pattern": "a.b"}, headers)


def _joined() -> list[Ask]:
    items: list[JSON] = [{"workflowId": "waiting"} for _ in range(100)]
    return [
        Ask("PUT", "/workflows/waiting", {"id": "waiting", "steps": [_WAIT]}),
        Ask("POST", "/instances/batch", {"items": items}),
    ]


def _large_definition() -> list[Ask]:
    """Its definition is answered in twelve megabytes."""
    numbers: list[JSON] = ["x" * 900_000] * 13
    step: Object = {"stepId": "a", "type": "TASK", "taskId": "double", "input": {"number": numbers}}
    return [
        Ask("PUT", "/workflows/large", {"id": "large", "steps": [step]}),
        Ask("GET", "/workflows/large"),
    ]


CONNECTIONS: tuple[Attack, ...] = (
    Attack("headers", _headers, _REFUSED),
    Attack("half-open", opens=Lines(400, b"")),
    Attack(
        "endless-headers", opens=Lines(300, b"GET /health HTTP/1.1\r\nhost: a\r\n", b"x-a: b\r\n")
    ),
    Attack(
        "slow-bodies",
        opens=Lines(
            300,
            b"POST /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            b"content-length: 900000\r\n\r\n[",
            b" ",
        ),
    ),
    Attack(
        "many-requests-in-a-line",
        opens=Lines(20, b"", b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 200),
    ),
    Attack(
        "answers-that-nobody-reads",
        before=_large_definition,
        opens=Lines(
            250,
            b"GET /api/v1/workflows/large HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            b"authorization: Bearer {key}\r\n\r\n",
            b"\r\n",
        ),
    ),
    Attack(
        "websockets",
        lambda: [Ask("POST", "/instances/bulk", _pause(action)) for action in ("pause", "resume")],
        BUSY,
        before=_joined,
        at_once=1,
        opens=Joins(60, "waiting"),
    ),
)


def _pause(action: str) -> Object:
    return {"action": action, "filter": {"workflowId": "waiting"}}
