"""Everything that can be asked of an instance, or of a tenant, with ids that may be another's.

The tables name every public method: one that is added is added here, or a test fails.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tenuto.workspace.engine_workspace import EngineWorkspace
from tenuto.workspace.instance import InstanceRef
from tenuto.workspace.values import Start

OfInstance: TypeAlias = Callable[[InstanceRef], Awaitable[object]]
OfWorkspace: TypeAlias = Callable[[EngineWorkspace, str], Awaitable[object]]

OF_INSTANCE: dict[str, OfInstance] = {
    "status": lambda it: it.status(),
    "state": lambda it: it.state(),
    "waits": lambda it: it.waits(),
    "explain": lambda it: it.explain(),
    "widget": lambda it: it.widget("text", {"path": "input"}),
    "context": lambda it: it.context(),
    "details": lambda it: it.details(),
    "history": lambda it: it.history(),
    "result": lambda it: it.result(timeout=5),
    "cancel": lambda it: it.cancel("mine now"),
    "undo_plan": lambda it: it.undo_plan(),
    "pause": lambda it: it.pause(),
    "resume": lambda it: it.resume(),
    "retry": lambda it: it.retry(),
    "decide": lambda it: it.decide("ask", "approved", by="ann"),
    "retry_compensation": lambda it: it.retry_compensation("a"),
    "rerun": lambda it: it.rerun(),
}

BY_INSTANCE: dict[str, OfWorkspace] = {
    "instance": lambda mine, id: mine.instance(id),
    "held": lambda mine, id: mine.held(id),
    "stop_rehearsal": lambda mine, id: mine.stop_rehearsal(id),
    "publish_in_rehearsal": lambda mine, id: mine.publish_in_rehearsal(id, {"pattern": "a.b"}),
}
BY_DEAD_LETTER: dict[str, OfWorkspace] = {
    "dead_letter": lambda mine, id: mine.dead_letter(id),
    "retry_dead_letter": lambda mine, id: mine.retry_dead_letter(id),
    "discard_dead_letter": lambda mine, id: mine.discard_dead_letter(id),
}
BY_WORKFLOW: dict[str, OfWorkspace] = {
    "definition": lambda mine, id: mine.definition(id),
    "remove_definition": lambda mine, id: mine.remove_definition(id),
    "withdraw_definition": lambda mine, id: mine.withdraw_definition(id),
    "start": lambda mine, id: mine.start(id),
    "begin": lambda mine, id: mine.begin(Start(workflow=id)),
    "begin_of": lambda mine, id: mine.begin_of({"id": id}, Start(workflow=id, version=1)),
}
BY_EVENT: dict[str, OfWorkspace] = {"event": lambda mine, id: mine.event(id)}
BY_WEBHOOK: dict[str, OfWorkspace] = {
    "webhooks.remove": lambda mine, id: mine.webhooks.remove(id),
    "webhooks.get": lambda mine, id: mine.webhooks.get(id),
    "webhooks.change": lambda mine, id: mine.webhooks.change(id, "https://example.com/x", "a.b"),
    "webhooks.enable": lambda mine, id: mine.webhooks.enable(id),
}
BY_SUBSCRIPTION: dict[str, OfWorkspace] = {
    "subscriptions.remove": lambda mine, id: mine.subscriptions.remove(id),
    "subscriptions.get": lambda mine, id: mine.subscriptions.get(id),
    "subscriptions.enable": lambda mine, id: mine.subscriptions.enable(id),
}

ONLY_OWN = frozenset(
    {
        "begin_many",
        "begun",
        "definition_ids",
        "dead_letters",
        "deploy",
        "instances",
        "newest",
        "page",
        "publish",
        "publish_all",
        "publish_given",
        "rehearse",
        "save",
        "start_many",
        "versions",
    }
)
"""What names nothing that could be another's, or leaves out what is; seen in what it answers."""


def methods_of(kind: type) -> set[str]:
    """What can be asked of it and waited for."""
    return {
        name
        for name, each in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }
