"""Words that other formats use, and what they are called here: difflib does not find synonyms."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("stepId",),
    "key": ("stepId",),
    "next": ("transitions", "target"),
    "goto": ("transitions", "to"),
    "then": ("to", "transitions"),
    "if": ("when",),
    "condition": ("branches", "eventCondition", "when"),
    "cases": ("branches",),
    "choices": ("branches",),
    "onSuccess": ("transitions",),
    "onFailure": ("transitions",),
    "onError": ("transitions",),
    "catch": ("transitions",),
    "needs": ("dependsOn",),
    "after": ("dependsOn",),
    "task": ("taskId",),
    "action": ("taskId",),
    "handler": ("taskId",),
    "function": ("taskId",),
    "event": ("eventPattern",),
    "signal": ("eventPattern",),
    "filter": ("eventCondition",),
    "items": ("source",),
    "forEach": ("source",),
    "for": ("source", "duration"),
    "seconds": ("duration",),
    "from": ("source",),
    "to": ("target",),
    "params": ("input",),
    "parameters": ("input", "outputParameters"),
    "args": ("input",),
    "tasks": ("steps",),
    "states": ("steps",),
    "undo": ("compensationSteps",),
    "child": ("workflowId",),
}
_TYPES: Final[Mapping[str, str]] = {
    "action": "TASK",
    "activity": "TASK",
    "function": "TASK",
    "service": "TASK",
    "wait": "EVENT_WAIT or DELAY",
    "signal": "EVENT_WAIT",
    "event": "EVENT_WAIT",
    "sleep": "DELAY",
    "timer": "DELAY",
    "if": "CONDITION",
    "switch": "CONDITION",
    "choice": "CONDITION",
    "foreach": "LOOP",
    "for": "LOOP",
    "while": "LOOP",
    "map": "LOOP",
    "script": "JAVASCRIPT",
    "code": "JAVASCRIPT",
    "query": "DATA_QUERY",
    "request": "HTTP",
    "child": "SUB_WORKFLOW",
    "call": "SUB_WORKFLOW",
    "publish": "EMIT",
    "assign": "SET",
    "fail": "TERMINATE",
    "stop": "TERMINATE",
    "pass": "SET",
}
_PARALLEL = (
    "Steps run in parallel where one handle leads to several: "
    '`"transitions": {"default": ["a", "b"]}`.'
)


def field_meant(name: str, known: Collection[str]) -> str | None:
    """The field that is probably meant by a name; None where no synonym is known."""
    return next((each for each in _FIELDS.get(name, ()) if each in known), None)


def type_meant(name: str) -> str | None:
    """Advice for a node type of another format."""
    plain = name.lower().replace("_", "").replace("-", "")
    if plain in ("parallel", "fork", "join"):
        return _PARALLEL
    found = _TYPES.get(plain)
    return None if found is None else f"Did you mean {found}?"
