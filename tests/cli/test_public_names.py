"""What other people's programs are written against."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.util import find_spec

import tenuto

NAMES = [
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

APP = [
    "close",
    "deploy",
    "instance",
    "instances",
    "open",
    "publish",
    "start",
    "subscriptions",
    "task",
    "tasks",
    "webhooks",
]
INSTANCE = [
    "cancel",
    "changes",
    "context",
    "decide",
    "details",
    "explain",
    "history",
    "log_page",
    "logs",
    "pause",
    "rerun",
    "result",
    "resume",
    "retry",
    "retry_compensation",
    "skip_delay",
    "state",
    "status",
    "time_out_step",
    "undo_plan",
    "waits",
    "widget",
]


def test_the_package_exports_these_names_and_no_others() -> None:
    assert sorted(tenuto.__all__) == NAMES
    assert all(hasattr(tenuto, name) for name in NAMES)
    assert set(NAMES) <= set(dir(tenuto))


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(tenuto, "Workflow")


def test_apps_and_instances_have_these_methods() -> None:
    app = tenuto.Tenuto()
    assert set(APP) <= {name for name in dir(app) if not name.startswith("_")}
    public = [name for name in dir(tenuto.InstanceRef) if not name.startswith("_")]
    assert sorted(public) == INSTANCE


def test_arguments_keep_their_names() -> None:
    assert list(inspect.signature(tenuto.Tenuto.start).parameters)[1:] == [
        "workflow",
        "input",
        "key",
        "correlation_id",
        "priority",
        "deadline",
        "instance_id",
        "version",
    ]
    assert list(inspect.signature(tenuto.Tenuto.publish).parameters)[1:5] == [
        "pattern",
        "payload",
        "id",
        "correlation_id",
    ]


def test_every_error_is_a_tenuto_error_except_what_tasks_raise() -> None:
    for name in NAMES:
        found = getattr(tenuto, name)
        if inspect.isclass(found) and issubclass(found, Exception) and name != "TaskError":
            assert issubclass(found, tenuto.TenutoError)
            assert found.code.startswith("TEN-")


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = (
        "import sys, tenuto\n"
        "loaded = [name for name in sys.modules if name.startswith('tenuto.')]\n"
        "assert loaded == [], loaded\n"
        "assert 'apsw' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_public_name_is_that_of_a_module() -> None:
    """A module that is imported would take the place of what the name stands for."""
    assert [name for name in tenuto.__all__ if find_spec(f"tenuto.{name}") is not None] == []
