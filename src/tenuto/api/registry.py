"""Every operation of the service; what is not listed here cannot be asked for."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from tenuto.api.operation import Operation
from tenuto.api.operations import (
    audit,
    bulk,
    callbacks,
    commanding,
    dead_letters,
    documents,
    event_callbacks,
    events,
    executions,
    health,
    instances,
    keys,
    listeners,
    live,
    metrics,
    starting,
    stats,
    tasks,
    trying_out,
    workflows,
)

MODULES: tuple[ModuleType, ...] = (
    workflows,
    trying_out,
    starting,
    instances,
    commanding,
    bulk,
    live,
    events,
    listeners,
    tasks,
    executions,
    callbacks,
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
"""By name, those that answer anybody; that one calls itself public is not enough."""


def operations_of(modules: Iterable[ModuleType]) -> tuple[Operation, ...]:
    """The operations that modules define, in the order in which they stand there."""
    return tuple(
        each for module in modules for each in vars(module).values() if isinstance(each, Operation)
    )


def is_reachable(operation: Operation) -> bool:
    """Whether it says who may ask; default is nobody."""
    if operation.is_public:
        return operation.name in PUBLIC
    return operation.permission is not None


OPERATIONS = tuple(each for each in operations_of(MODULES) if is_reachable(each))
