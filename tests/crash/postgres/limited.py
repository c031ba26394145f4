"""Workflows under limits of every kind: keys, kinds of `onFull`, mutexes in loops and children."""

from __future__ import annotations

from tests.kit.workload import Document
from tests.kit.workload.drawing import Json, document, edges, node, task
from tests.kit.workload.families import call

TENANTS = ("default", "blue", "green")
USERS = ("ann", "bob", "cid")
LIMITS: dict[str, Document] = {
    "": {"globalMaxConcurrent": 12, "tenantLimits": {"*": 7}},
    **{
        tenant: {"workflowTypeLimits": {"*": 4, "plain": 3}, "userLimits": {"*": 4}}
        for tenant in TENANTS
    },
}
"""Those of the service under the empty name."""
NONE: dict[str, Document] = {"": {}, **{tenant: {} for tenant in TENANTS}}
OTHERS: tuple[dict[str, Document], ...] = (
    LIMITS | {"": {"globalMaxConcurrent": 4, "tenantLimits": {"*": 3}}},
    LIMITS | {"blue": {"workflowTypeLimits": {"plain": 1}}},
    LIMITS | {"": {"tenantLimits": {"green": 2}}},
    NONE,
    LIMITS | {"": {"globalMaxConcurrent": 20}, "green": {"userLimits": {"ann": 1, "*": 2}}},
)
"""Lowered, raised, and removed."""


def documents() -> dict[str, Document]:
    return {str(each["id"]): each for each in _all()}


def _all() -> list[Document]:
    nap = node("nap", "delay", duration="PT0.2S")
    straight = [_task("a"), nap, _task("b")]
    chain = edges("a > nap > b")
    by_key = "{{ctx.input.k}}"
    return [
        document("plain", [_task("a"), _task("b", mutex="one")], edges("a > b")),
        document("keyed", straight, chain, concurrency={"limit": 2, "key": by_key}),
        document("keeping", straight, chain, concurrency={"limit": 2, "holdWhileWaiting": True}),
        *(
            document(
                f"full-{on_full}",
                straight,
                chain,
                concurrency={"limit": 1, "key": by_key, "onFull": on_full},
            )
            for on_full in ("reject", "replace-oldest", "keep-newest")
        ),
        _looping(),
        document("parent", [_task("a"), call("call", "born")], edges("a > call")),
        document("born", [_task("x", mutex="one")], [], concurrency={"limit": 2}),
        _undone(),
    ]


def _looping() -> Document:
    """Mutexes within iterations, and one around all of them."""
    nodes = [
        node("each", "loop", source=[1, 2, 3], mode="parallel"),
        _task("m", mutex="loop {{ctx.input.k}}"),
        _task("last", mutex="two"),
    ]
    return document("looping", nodes, edges("each:loop > m", "each:done > last"))


def _undone() -> Document:
    """It fails with a mutex in hand, and what was done is undone."""
    nodes = [_task("a"), _task("b", mutex="two", retry={"maxAttempts": 1})]
    nodes[1]["config"]["input"]["fails"] = True
    steps = [{"stepId": "undo-a", "compensationFor": "a", "taskId": "quick"}]
    return document("undone", nodes, edges("a > b")) | {"compensationSteps": steps}


def _task(id: str, **config: Json) -> Document:
    return task(id, "quick", **config)
