"""Events as the oracle keeps them, and which of them a wait takes."""

from __future__ import annotations

from dataclasses import dataclass

from tests.kit.checker.expression import Json, Unknown, evaluate, truthy
from tests.kit.checker.graph import Node
from tests.kit.checker.moments import duration_ms
from tests.kit.checker.patterns import fits


@dataclass(frozen=True, slots=True)
class Received:
    """An event, and when it came."""

    id: str
    pattern: str
    payload: Json
    at: int


def since(node: Node, now: int) -> int:
    """From when on events count for a wait that opens now; the instance began at 0."""
    lookback = duration_ms(node.config.get("lookback"))
    return 0 if lookback is None else now - lookback


def matches(node: Node, opened_since: int, event: Received, scope: dict[str, Json]) -> bool:
    """Whether a wait takes an event."""
    if not fits(str(node.config["eventPattern"]), event.pattern) or event.at < opened_since:
        return False
    condition = node.config.get("eventCondition")
    if condition is None:
        return True
    shown = {"id": event.id, "pattern": event.pattern, "payload": event.payload}
    try:
        return truthy(evaluate(condition, {**scope, "event": shown}))
    except Unknown:
        return False
