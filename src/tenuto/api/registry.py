"""Every operation of the service: those of all modules in `api/operations`."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from tenuto.api import operations as package
from tenuto.api.operation import Operation

_ORDER = (
    "workflows",
    "test_runs",
    "instance_starts",
    "instances",
    "instance_commands",
    "bulk",
    "live",
    "events",
    "listeners",
    "schedules",
    "calendars",
    "secrets",
    "tasks",
    "executions",
    "task_callbacks",
    "event_callbacks",
    "schedule_callbacks",
    "dead_letters",
    "keys",
    "audit",
    "stats",
    "health",
    "metrics",
    "documents",
)
"""How documents order them: what is used first comes first, and others follow by name."""

PUBLIC = frozenset(
    {
        *("health", "ready", "openapi", "workflow_schema", "docs", "me"),
        *("task_callback", "event_callback", "schedule_callback"),
        *("get_widget", "watch_widget"),
    }
)
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


def _modules() -> Iterable[ModuleType]:
    places = {name: place for place, name in enumerate(_ORDER)}
    names = [each.name for each in iter_modules(package.__path__)]
    for name in sorted(names, key=lambda name: (places.get(name, len(places)), name)):
        yield import_module(f"{package.__name__}.{name}")


MODULES = tuple(_modules())

OPERATIONS = tuple(each for each in operations_of(MODULES) if is_reachable(each))
