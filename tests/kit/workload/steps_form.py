"""The same document in steps form, where it can be said in it."""

from __future__ import annotations

from tests.kit.checker.graph import read
from tests.kit.workload.drawing import Document, ends_of

_TYPES = {
    "task": "TASK",
    "javascript": "JAVASCRIPT",
    "http": "HTTP",
    "dataQuery": "DATA_QUERY",
    "eventWait": "EVENT_WAIT",
    "approval": "APPROVAL",
    "condition": "CONDITION",
    "delay": "DELAY",
    "terminate": "TERMINATE",
    "loop": "LOOP",
}


def to_steps(document: Document) -> Document | None:
    """None when it has what steps cannot say: `start`, `end`, or several beginnings."""
    roots = read(document).roots
    if len(roots) != 1 or any(node["type"] not in _TYPES for node in document["nodes"]):
        return None
    nodes = sorted(document["nodes"], key=lambda node: node["id"] not in roots)
    steps = [_step(node, document["edges"]) for node in nodes]
    rest: Document = {name: document[name] for name in ("id", "options") if name in document}
    return {**rest, "name": document.get("title"), "steps": steps}


def _step(node: Document, arrows: list[Document]) -> Document:
    config = dict(node["config"])
    transitions: Document = {}
    conditions, on_error = config.pop("conditions", ()), config.pop("onError", ())
    routed = {route["handle"] for route in (*conditions, *on_error)}
    by_handle: dict[str, list[str]] = {}
    for source, handle, target in map(ends_of, arrows):
        if source == node["id"]:
            by_handle.setdefault(handle, []).append(target)
    for handle, targets in by_handle.items():
        if handle not in routed:
            transitions[handle] = targets if len(targets) > 1 else targets[0]
    if conditions:
        transitions["conditions"] = [
            {"when": route["when"], "to": by_handle[route["handle"]]} for route in conditions
        ]
    if on_error:
        transitions["onError"] = [
            {"codes": route["codes"], "to": by_handle[route["handle"]]} for route in on_error
        ]
    step: Document = {"stepId": node["id"], "type": _TYPES[node["type"]], **config}
    return {**step, "transitions": transitions} if transitions else step
