"""Permissions: a kind of record and a verb each."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum


class Permission(StrEnum):
    """A permission that a role or a scope gives."""

    WORKFLOWS_READ = "workflows:read"
    WORKFLOWS_WRITE = "workflows:write"
    INSTANCES_READ = "instances:read"
    INSTANCES_START = "instances:start"
    INSTANCES_CONTROL = "instances:control"
    INSTANCES_DECIDE = "instances:decide"
    EVENTS_READ = "events:read"
    EVENTS_PUBLISH = "events:publish"
    TASKS_READ = "tasks:read"
    TASKS_WRITE = "tasks:write"
    TASKS_EXECUTE = "tasks:execute"
    EXECUTIONS_WORK = "executions:work"
    LISTENERS_READ = "listeners:read"
    LISTENERS_WRITE = "listeners:write"
    SCHEDULES_READ = "schedules:read"
    SCHEDULES_WRITE = "schedules:write"
    SCHEDULES_CONTROL = "schedules:control"
    DATA_READ = "data:read"
    DATA_WRITE = "data:write"
    DATA_RUN = "data:run"
    SECRETS_READ = "secrets:read"
    SECRETS_WRITE = "secrets:write"
    DEAD_LETTERS_READ = "dead-letters:read"
    DEAD_LETTERS_WRITE = "dead-letters:write"
    AUDIT_READ = "audit:read"
    KEYS_MANAGE = "keys:manage"
    SETTINGS_READ = "settings:read"
    LIMITS_READ = "limits:read"
    LIMITS_WRITE = "limits:write"
    STATS_READ = "stats:read"
    TEST_RUNS_RUN = "test-runs:run"

    @property
    def thing(self) -> str:
        """The kind of record: the part before the colon."""
        return self.value.partition(":")[0]


SCOPES: frozenset[str] = frozenset(
    {permission.value for permission in Permission}
    | {f"{permission.thing}:*" for permission in Permission}
)
"""What a key's scopes may say: a permission, or all of one thing."""


def includes(scopes: Collection[str], scope: str) -> bool:
    """Whether the scopes include a scope, in every version: a whole thing only as a whole."""
    return scope in scopes or f"{scope.partition(':')[0]}:*" in scopes


def within_scopes(permission: Permission, scopes: Collection[str]) -> bool:
    """Whether any of the scopes names the permission, or all of its thing."""
    return includes(scopes, permission.value)
