"""The four roles, and what each may do: each may do all that the one before it may."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from tenuto.access.permissions import Permission


class Role(StrEnum):
    """The role of a principal in a tenant."""

    VIEWER = "viewer"
    """Reads everything but keys, the values of secrets, and the audit log."""
    OPERATOR = "operator"
    """Also runs workflows: starts, steers and decides."""
    EDITOR = "editor"
    """Also changes definitions, tasks, schedules, calendars, secrets, data sources and webhooks."""
    ADMIN = "admin"
    """Also manages keys, and reads the audit log and the settings of the service."""

    def is_above(self, other: Role) -> bool:
        """Whether it may do more than another role."""
        order = list(Role)
        return order.index(self) > order.index(other)


_VIEWER = frozenset(
    {
        Permission.WORKFLOWS_READ,
        Permission.INSTANCES_READ,
        Permission.EVENTS_READ,
        Permission.TASKS_READ,
        Permission.LISTENERS_READ,
        Permission.SCHEDULES_READ,
        Permission.DATA_READ,
        Permission.SECRETS_READ,
        Permission.DEAD_LETTERS_READ,
        Permission.STATS_READ,
        Permission.LIMITS_READ,
    }
)
_OPERATOR = _VIEWER | {
    Permission.INSTANCES_START,
    Permission.INSTANCES_CONTROL,
    Permission.INSTANCES_DECIDE,
    Permission.EVENTS_PUBLISH,
    Permission.TASKS_EXECUTE,
    Permission.EXECUTIONS_WORK,
    Permission.SCHEDULES_CONTROL,
    Permission.DEAD_LETTERS_WRITE,
}
_EDITOR = _OPERATOR | {
    Permission.WORKFLOWS_WRITE,
    Permission.TASKS_WRITE,
    Permission.LISTENERS_WRITE,
    Permission.SCHEDULES_WRITE,
    Permission.DATA_WRITE,
    Permission.DATA_RUN,
    Permission.SECRETS_WRITE,
    Permission.TEST_RUNS_RUN,
}
_ADMIN = _EDITOR | {
    Permission.AUDIT_READ,
    Permission.KEYS_MANAGE,
    Permission.SETTINGS_READ,
    Permission.LIMITS_WRITE,
}

ROLE_PERMISSIONS: Mapping[Role, frozenset[Permission]] = MappingProxyType(
    {
        Role.VIEWER: _VIEWER,
        Role.OPERATOR: _OPERATOR,
        Role.EDITOR: _EDITOR,
        Role.ADMIN: _ADMIN,
    }
)
