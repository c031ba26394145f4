"""Every node type with every field that it may have."""

from __future__ import annotations

from typing import Any

from tests.definition.values import Value

Settings = dict[str, Any]

COMMON: Settings = {
    "name": "A name",
    "description": "What it is for",
    "outputVariable": "result",
    "timeout": {"duration": "P1DT30S", "calendar": "office"},
    "sla": {"warnAfter": "PT4H", "breachAfter": "P1D", "calendar": "office"},
    "errorHandling": "continue",
    "joinMode": "any",
    "cancelRest": True,
    "cancels": ["other"],
    "completes": ["each"],
    "when": "ctx.input.wanted",
}

EXECUTING: Settings = {
    "retry": {
        "maxAttempts": 5,
        "initialDelay": "PT0.5S",
        "multiplier": 1.5,
        "maxDelay": 30_000,
        "nonRetryable": ["OUT_OF_STOCK"],
        "onLost": "fail",
        "calendar": "office",
    },
    "mutex": "account-{{ctx.input.account}}",
}

_WAIT: Settings = {
    "eventPattern": "payment.*.received.**",
    "eventCondition": "event.payload.id === ctx.input.id",
    "eventPayloadMapping": {"paid": "amount.total[0]", "at": "{{event.timestamp}}"},
}
_SCHEMA = {"type": "object", "properties": {"note": {"type": "string"}}}

OWN: dict[str, Settings] = {
    "start": {},
    "end": {"outputParameters": {"id": "{{ctx.input.id}}"}},
    "task": {
        "taskId": "work",
        "input": {"id": "{{ctx.input.id}}", "key": "{{secrets.key}}"},
        "handles": ["approved", "other_way"],
        "heartbeatTimeout": "PT10S",
    },
    "eventWait": {
        **_WAIT,
        "eventTimeout": {"duration": "P1M", "calendar": "office"},
        "lookback": "PT0S",
        "correlationId": "{{ctx.input.id}}",
    },
    "condition": {
        "branches": [{"id": "big", "when": "ctx.input.n > 10"}, {"id": "small", "when": "true"}],
        "select": "all",
    },
    "delay": {"duration": "PT1H", "calendar": "office"},
    "loop": {
        "source": "{{ctx.input.items}}",
        "mode": "parallel",
        "concurrency": 3,
        "onItemError": "continue",
        "result": {"n": "{{index}}", "is": "{{item}}"},
        "enough": 2,
        "more": {
            "eventPattern": "item.found",
            "eventCondition": "event.payload.id === ctx.input.id",
            "item": "{{event.payload.item}}",
        },
    },
    "javascript": {
        "code": "return input.id",
        "input": {"id": "{{ctx.input.id}}", "key": "{{secrets.key}}"},
        "memoryLimit": 64,
        "allowHosts": ["example.org", "*.example.org", "localhost:8080"],
    },
    "dataQuery": {"dataQueryID": "q1", "args": {"id": "{{secrets.id}}"}},
    "http": {
        "method": "POST",
        "url": "https://example.org/{{ctx.input.id}}",
        "headers": {"authorization": "Bearer {{secrets.token}}"},
        "query": {"q": 1},
        "body": {"all": "{{ctx.input}}"},
        "bodyType": "form",
        "successCodes": [200, 404],
        "responseType": "text",
        "maxBytes": 10_000,
        "retryOn": [503],
        "auth": {"type": "basic", "value": "ann:{{secrets.password}}"},
    },
    "subWorkflow": {"workflowId": "child", "version": 3, "input": {"a": 1}},
    "emit": {"pattern": "order.placed", "payload": {"a": 1}, "correlationId": "{{ctx.input.id}}"},
    "set": {"values": {"n": "{{ctx.input.n + 1}}", "all": ["{{ctx.input}}", 1]}},
    "terminate": {"status": "FAILED", "output": {"a": 1}, "reason": "no {{ctx.input.id}}"},
    "approval": {
        "assignees": {"users": ["ann"], "roles": ["boss"]},
        "formSchema": _SCHEMA,
        "deadline": "P3D",
        "reminders": ["P1D", {"duration": "PT9H", "calendar": "board"}],
        "escalate": {"after": "P2D", "assignees": {"roles": ["board"]}, "calendar": "board"},
        "calendar": "office",
    },
}

ALTERNATIVES: dict[str, Settings] = {
    "eventWait": {
        "arms": [
            {"id": "paid", **_WAIT},
            {"id": "refused", "eventPattern": "payment.refused"},
        ],
        "eventTimeout": {"duration": "P3D"},
    },
    "delay": {"until": "{{ctx.input.at}}"},
    "loop": {
        "while": "ctx.last !== 7 && index < 5",
        "maxIterations": 5,
        "enough": "ctx.results[3]",
    },
}
"""What excludes some of the fields above."""

STEP_NAMES = {
    "start": "START",
    "end": "END",
    "task": "TASK",
    "eventWait": "EVENT_WAIT",
    "condition": "CONDITION",
    "delay": "DELAY",
    "loop": "LOOP",
    "javascript": "JAVASCRIPT",
    "dataQuery": "DATA_QUERY",
    "http": "HTTP",
    "subWorkflow": "SUB_WORKFLOW",
    "emit": "EMIT",
    "set": "SET",
    "terminate": "TERMINATE",
    "approval": "APPROVAL",
}

EXECUTES = ("task", "http", "dataQuery", "javascript", "subWorkflow")

FURTHER: list[tuple[str, Settings]] = [
    ("eventWait", {"eventPattern": "payment.received", "count": 3}),
]
"""What excludes fields of both."""

EVERY = [*OWN.items(), *ALTERNATIVES.items(), *FURTHER]


def settings(kind: str, own: Settings) -> Settings:
    """All common settings and the type's own."""
    return {**COMMON, **(EXECUTING if kind in EXECUTES else {}), **own}


def as_graph(kind: str, config: Settings, **node: Value) -> Settings:
    """A graph in which the node stands behind two tasks, beside those that it cancels and ends."""
    work = {"type": "task", "config": {"taskId": "t"}}
    named = [
        {"id": "other", **work},
        {"id": "each", "type": "loop", "config": {"source": [1]}},
        {"id": "inside", **work},
    ]
    body = {"upstreamNodeID": "each", "downstreamNodeID": "inside", "sourceHandle": "loop"}
    it = {"id": "it", "type": kind, "config": config, **node}
    if kind == "start":
        edges = [{"upstreamNodeID": "it", "downstreamNodeID": name} for name in ("other", "each")]
        return {"nodes": [it, *named], "edges": [*edges, body]}
    nodes = [{"id": "first", **work}, {"id": "second", **work}, named[0], it, *named[1:]]
    edges = [{"upstreamNodeID": name, "downstreamNodeID": "it"} for name in ("first", "second")]
    if kind == "loop":
        nodes.append({"id": "repeated", **work})
        edges.append({"source": "it", "target": "repeated", "sourceHandle": "loop"})
    return {"nodes": nodes, "edges": [*edges, body]}


def as_steps(kind: str, fields: Settings) -> Settings:
    """Steps in which the step stands behind another, beside those that it cancels and ends."""
    step = {"stepId": "it", "type": STEP_NAMES[kind], **fields}
    other = {"stepId": "other", "type": "TASK", "taskId": "t"}
    each = {"stepId": "each", "type": "LOOP", "source": [1], "transitions": {"loop": "inside"}}
    named = [other, each, {"stepId": "inside", "type": "TASK", "taskId": "t"}]
    if kind == "start":
        return {"steps": [{**step, "transitions": {"default": ["other", "each"]}}, *named]}
    first = {"stepId": "first", "type": "TASK", "taskId": "t"}
    first["transitions"] = {"default": ["it", "other", "each"]}  # type: ignore[assignment]
    if kind == "loop":
        step["transitions"] = {"loop": "repeated"}
        named.append({"stepId": "repeated", "type": "TASK", "taskId": "t"})
    return {"steps": [first, step, *named]}
