"""Tenuto: workflows that reach their end."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.client import Client, SyncClient
    from tenuto.engine.outbox.endpoints import Gap
    from tenuto.engine.outbox.signatures import verify_signature
    from tenuto.engine.settings import Settings
    from tenuto.model.edited import EditedInput
    from tenuto.model.errors import (
        Conflict,
        Forbidden,
        InvalidDefinition,
        InvalidInput,
        NotFound,
        Overloaded,
        Problem,
        StoreUnavailable,
        TaskError,
        TenutoError,
        Unauthenticated,
        WorkflowCancelled,
        WorkflowFailed,
    )
    from tenuto.model.failure import Failure
    from tenuto.model.status import Status
    from tenuto.model.task_definition import TaskDefinition, TaskLimits
    from tenuto.model.test_run import Mock
    from tenuto.python_form.approvals import Escalate, approval
    from tenuto.python_form.barriers import publish, sleep, terminate
    from tenuto.python_form.blocks import otherwise, when
    from tenuto.python_form.built_in import http, javascript, query
    from tenuto.python_form.child import child
    from tenuto.python_form.events import event
    from tenuto.python_form.joins import one_of
    from tenuto.python_form.loops import for_each, repeat_while
    from tenuto.python_form.variables import set_values
    from tenuto.python_form.waits import wait_event, wait_first
    from tenuto.python_form.workflow import WorkflowFunction, workflow
    from tenuto.tasks.context import Context
    from tenuto.tasks.output import Result
    from tenuto.tasks.registry import task
    from tenuto.tasks.retry import Retry
    from tenuto.tasks.undo import Undo
    from tenuto.workspace.data_values import (
        QueryRun,
        SavedDataQuery,
        SavedDataSource,
        SourceTest,
    )
    from tenuto.workspace.instance import InstanceRef
    from tenuto.workspace.protocol import Instance, Workspace
    from tenuto.workspace.schedule_values import (
        SavedCalendar,
        SavedSchedule,
        ScheduleFilter,
        SchedulePreview,
        TickRecord,
        WorkingSpan,
    )
    from tenuto.workspace.values import (
        ApprovalFilter,
        BulkOperation,
        DeadLetterFilter,
        DeclaredTask,
        DefinitionVersion,
        InstanceFilter,
        OpenApproval,
        Page,
        Published,
        Start,
        Subscription,
        Summary,
        TestRun,
        Webhook,
        WorkerStatus,
    )

__version__ = "0.1.0"

_HOMES = {
    "ApprovalFilter": "tenuto.workspace.values",
    "BulkOperation": "tenuto.workspace.values",
    "Client": "tenuto.client",
    "Conflict": "tenuto.model.errors",
    "Context": "tenuto.tasks.context",
    "DeadLetterFilter": "tenuto.workspace.values",
    "DeclaredTask": "tenuto.workspace.values",
    "DefinitionVersion": "tenuto.workspace.values",
    "EditedInput": "tenuto.model.edited",
    "Escalate": "tenuto.python_form.approvals",
    "Failure": "tenuto.model.failure",
    "Forbidden": "tenuto.model.errors",
    "Gap": "tenuto.engine.outbox.endpoints",
    "Instance": "tenuto.workspace.protocol",
    "InstanceFilter": "tenuto.workspace.values",
    "InstanceRef": "tenuto.workspace.instance",
    "InvalidDefinition": "tenuto.model.errors",
    "InvalidInput": "tenuto.model.errors",
    "Mock": "tenuto.model.test_run",
    "NotFound": "tenuto.model.errors",
    "OpenApproval": "tenuto.workspace.values",
    "Overloaded": "tenuto.model.errors",
    "Page": "tenuto.workspace.values",
    "Problem": "tenuto.model.errors",
    "Published": "tenuto.workspace.values",
    "Result": "tenuto.tasks.output",
    "Retry": "tenuto.tasks.retry",
    "QueryRun": "tenuto.workspace.data_values",
    "SavedCalendar": "tenuto.workspace.schedule_values",
    "SavedDataQuery": "tenuto.workspace.data_values",
    "SavedDataSource": "tenuto.workspace.data_values",
    "SourceTest": "tenuto.workspace.data_values",
    "SavedSchedule": "tenuto.workspace.schedule_values",
    "ScheduleFilter": "tenuto.workspace.schedule_values",
    "SchedulePreview": "tenuto.workspace.schedule_values",
    "Settings": "tenuto.engine.settings",
    "Start": "tenuto.workspace.values",
    "Status": "tenuto.model.status",
    "StoreUnavailable": "tenuto.model.errors",
    "Subscription": "tenuto.workspace.values",
    "Summary": "tenuto.workspace.values",
    "SyncClient": "tenuto.client",
    "TaskDefinition": "tenuto.model.task_definition",
    "TaskLimits": "tenuto.model.task_definition",
    "TaskError": "tenuto.model.errors",
    "Tenuto": "tenuto.app",
    "TenutoError": "tenuto.model.errors",
    "TestRun": "tenuto.workspace.values",
    "TickRecord": "tenuto.workspace.schedule_values",
    "Unauthenticated": "tenuto.model.errors",
    "Undo": "tenuto.tasks.undo",
    "Webhook": "tenuto.workspace.values",
    "WorkerStatus": "tenuto.workspace.values",
    "WorkflowCancelled": "tenuto.model.errors",
    "WorkflowFailed": "tenuto.model.errors",
    "WorkflowFunction": "tenuto.python_form.workflow",
    "WorkingSpan": "tenuto.workspace.schedule_values",
    "Workspace": "tenuto.workspace.protocol",
    "approval": "tenuto.python_form.approvals",
    "child": "tenuto.python_form.child",
    "event": "tenuto.python_form.events",
    "for_each": "tenuto.python_form.loops",
    "http": "tenuto.python_form.built_in",
    "javascript": "tenuto.python_form.built_in",
    "one_of": "tenuto.python_form.joins",
    "otherwise": "tenuto.python_form.blocks",
    "publish": "tenuto.python_form.barriers",
    "query": "tenuto.python_form.built_in",
    "repeat_while": "tenuto.python_form.loops",
    "set_values": "tenuto.python_form.variables",
    "sleep": "tenuto.python_form.barriers",
    "task": "tenuto.tasks.registry",
    "terminate": "tenuto.python_form.barriers",
    "verify_signature": "tenuto.engine.outbox.signatures",
    "wait_event": "tenuto.python_form.waits",
    "wait_first": "tenuto.python_form.waits",
    "when": "tenuto.python_form.blocks",
    "workflow": "tenuto.python_form.workflow",
}
"""Each public name and its module, loaded when it is first used: importing the package is cheap."""


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tenuto' has no attribute {name!r}")
    try:
        found: object = getattr(import_module(home), name)
    except ModuleNotFoundError as error:
        error.add_note(f"tenuto.{name} needs all packages of Tenuto: pip install tenuto")
        raise
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


__all__ = [
    "ApprovalFilter",
    "BulkOperation",
    "Client",
    "Conflict",
    "Context",
    "DeadLetterFilter",
    "DeclaredTask",
    "DefinitionVersion",
    "EditedInput",
    "Escalate",
    "Failure",
    "Forbidden",
    "Gap",
    "Instance",
    "InstanceFilter",
    "InstanceRef",
    "InvalidDefinition",
    "InvalidInput",
    "Mock",
    "NotFound",
    "OpenApproval",
    "Overloaded",
    "Page",
    "Problem",
    "Published",
    "QueryRun",
    "Result",
    "Retry",
    "SavedCalendar",
    "SavedDataQuery",
    "SavedDataSource",
    "SavedSchedule",
    "ScheduleFilter",
    "SchedulePreview",
    "Settings",
    "SourceTest",
    "Start",
    "Status",
    "StoreUnavailable",
    "Subscription",
    "Summary",
    "SyncClient",
    "TaskDefinition",
    "TaskError",
    "TaskLimits",
    "Tenuto",
    "TenutoError",
    "TestRun",
    "TickRecord",
    "Unauthenticated",
    "Undo",
    "Webhook",
    "WorkerStatus",
    "WorkflowCancelled",
    "WorkflowFailed",
    "WorkflowFunction",
    "WorkingSpan",
    "Workspace",
    "__version__",
    "approval",
    "child",
    "event",
    "for_each",
    "http",
    "javascript",
    "one_of",
    "otherwise",
    "publish",
    "query",
    "repeat_while",
    "set_values",
    "sleep",
    "task",
    "terminate",
    "verify_signature",
    "wait_event",
    "wait_first",
    "when",
    "workflow",
]
