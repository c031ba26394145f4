"""Which operations are refused under load, and in which order.

New work goes first: starts. Then reads whose cost grows with what is stored: lists, searches,
exports, statistics. Nothing else is refused by the pressure on the process: results of attempts,
heartbeats, cancels, decisions, events and reads of single records end the load, or show it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, get_origin

from tenuto.api.operation import Operation
from tenuto.api.paging import Page
from tenuto.engine.load.pressure import Sheddable

STARTS: Final = frozenset(
    {
        *("start_workflow", "start_batch", "execute_task", "start_test_run"),
        *("rerun_instance", "trigger_schedule", "backfill_schedule"),
    }
)
"""Operations that make new instances. Bulk operations are not among them: cancels come that way."""
READS: Final = frozenset(
    {
        *("get_stats", "get_series", "get_attention", "list_task_queues"),
        *("export_audit", "verify_audit", "validate_workflow", "run_data_query"),
    }
)
"""Expensive reads beside lists."""
NEEDED: Final = frozenset({"list_queue"})
"""Lists by which an operator finds out what holds the service up."""
LARGE: Final = frozenset(
    {
        *("get_instance", "get_snapshot", "get_context", "get_variable", "get_graph", "get_waits"),
        *("get_undo_plan", "explain_instance", "shape_widget", "get_widget", "get_event"),
        *("list_approvals", "group_dead_letters", "get_dead_letter", "get_concurrency_usage"),
    }
)
"""Reads of single records that a tenant can make large. They are not refused under load."""

SAVES: Final = frozenset(
    {
        *("save_workflow", "put_workflow", "add_task", "put_task"),
        *("add_schedule", "put_schedule", "add_calendar", "put_calendar", "import_calendar_dates"),
        *("add_webhook", "put_webhook", "enable_webhook"),
        *("add_subscription", "enable_subscription"),
        *("add_data_source", "put_data_source", "add_data_query", "put_data_query"),
        *("put_secret", "create_key", "add_queue_rule"),
    }
)
"""Changes that save a record, of which a tenant may have many: they wait for their turn."""
UNDELAYED: Final = frozenset(
    {
        *STARTS,
        # Commands to instances, and to what waits or was put off.
        *("cancel_instance", "pause_instance", "resume_instance", "retry_instance"),
        *("decide_on_step", "skip_delay", "promote_queued", "hold_queued", "release_queued"),
        *("start_bulk", "start_bulk_of_dead_letters", "retry_dead_letter", "discard_dead_letter"),
        *("resend_webhook", "resend_subscription", "pause_schedule", "resume_schedule"),
        # Events and workers; tokens, which are signed and not saved.
        *("publish_events", "publish_in_test_run", "register_worker"),
        *("add_event_callback", "add_schedule_callback", "create_widget_token"),
        # Reads that are audited.
        *("run_data_query", "test_data_source"),
        # An overload is ended by it.
        "put_concurrency",
    }
)
"""Other audited operations: none waits behind changes of its tenant. Nor does what removes."""


def shed_kinds(operations: Iterable[Operation]) -> dict[str, Sheddable]:
    """The kind of each operation that may be refused, by name; the others are always taken."""
    return {each.name: kind for each in operations if (kind := _kind(each)) is not None}


def _kind(operation: Operation) -> Sheddable | None:
    if operation.name in STARTS:
        return "starts"
    if operation.name in READS or (is_list(operation) and operation.name not in NEEDED):
        return "reads"
    return None


def takes_turns(operation: Operation) -> bool:
    """Whether few of a tenant are made at once: each may read, and hold in memory, much."""
    return is_list(operation) or operation.name in READS | LARGE


def changes_in_turn(operation: Operation) -> bool:
    """Whether few of a tenant are made at once: each is several transactions of one writer."""
    return operation.name in SAVES


def is_list(operation: Operation) -> bool:
    """Whether an operation answers with a page, whose rows may be large."""
    return operation.method == "GET" and get_origin(operation.response) is Page
