"""Every operation of the service; one that is not listed here is not reachable."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from tenuto.api.operation import Operation
from tenuto.api.operations import (
    audit,
    bulk,
    dead_letters,
    documents,
    event_callbacks,
    events,
    executions,
    health,
    instance_commands,
    instance_starts,
    instances,
    keys,
    listeners,
    live,
    metrics,
    stats,
    task_callbacks,
    tasks,
    test_runs,
    workflows,
)

MODULES: tuple[ModuleType, ...] = (
    workflows,
    test_runs,
    instance_starts,
    instances,
    instance_commands,
    bulk,
    live,
    events,
    listeners,
    tasks,
    executions,
    task_callbacks,
    event_callbacks,
    dead_letters,
    keys,
    audit,
    stats,
    health,
    metrics,
    documents,
)

PUBLIC = frozenset({"health", "ready", "openapi", "docs", "task_callback", "event_callback"})
"""Names of the public operations; the declaration `is_public` alone is not enough."""


def operations_of(modules: Iterable[ModuleType]) -> tuple[Operation, ...]:
    """The operations that modules define, in their order."""
    return tuple(
        each for module in modules for each in vars(module).values() if isinstance(each, Operation)
    )


def is_reachable(operation: Operation) -> bool:
    """Whether it declares its permission, or is listed as public."""
    if operation.is_public:
        return operation.name in PUBLIC
    return operation.permission is not None


OPERATIONS = tuple(each for each in operations_of(MODULES) if is_reachable(each))
