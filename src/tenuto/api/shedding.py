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


AT_ONCE: Final = frozenset({"revoke_key", "put_concurrency", "stop_test_run", "cancel_bulk"})
"""Changes by which harm is ended, or an overload: they wait for no others of their tenant."""


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
    """Whether few of a tenant are made at once: it changes a record, of which there may be many."""
    return operation.method in ("PUT", "DELETE") and operation.name not in AT_ONCE


def is_list(operation: Operation) -> bool:
    """Whether an operation answers with a page, whose rows may be large."""
    return operation.method == "GET" and get_origin(operation.response) is Page
