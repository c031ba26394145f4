"""Every table of the stores: what is kept for ever, and what is owed and goes once it is done.

A table that is in neither list is one that nobody has thought of, and fails its test.
"""

from __future__ import annotations

KEPT = frozenset(
    {
        "access_keys",
        "audit_heads",
        "audit_log",
        "bulk_operations",
        "calendars",
        "concurrency",
        "data_queries",
        "data_sources",
        "dead_letters",
        "encryption_marks",
        "event_deliveries",
        "events",
        "idempotency_keys",
        "listeners",
        "listening",
        "load_reports",
        "moments",
        "paces",
        "processes",
        "push_targets",
        "quarantine",
        "queue_rules",
        "schedule_ticks",
        "schedules",
        "schema_info",
        "secrets",
        "shares",
        "slot_counts",
        "slots_freed",
        "task_definitions",
        "task_logs",
        "task_rates",
        "tenant_secrets",
        "workers",
        "workflow_definitions",
        "workflow_execution_history",
        "workflow_instances",
        "workflow_searchable_values",
        "workflow_snapshots",
    }
)
"""What has happened, who is there, and who has which part in hand."""

OWED = {
    "jobs": "instance_id",
    "mailbox": "instance_id",
    "outbox": "instance_id",
    "owners": "instance_id",
    "slots": "instance_id",
    "timers": "instance_id",
    "webhook_deliveries": "stream",
    "workflow_current_steps": "instance_id",
    "workflow_event_subscriptions": "instance_id",
}
"""Table → the column that says for which instance a row is there."""

IN_MEMORY = {
    "claims": "shares",
    "deliveries": "event_deliveries",
    "definition_versions": "workflow_definitions",
    "definitions": "workflow_definitions",
    "event_numbers": "events",
    "followed": "workflow_instances",
    "instances": "workflow_instances",
    "keys": "idempotency_keys",
    "log": "workflow_execution_history",
    "limits_known": "processes",
    "log_ends": "workflow_execution_history",
    "mail": "mailbox",
    "mail_numbers": "mailbox",
    "node_rows": "workflow_execution_history",
    "searchable": "workflow_searchable_values",
    "posting_numbers": "webhook_deliveries",
    "postings": "webhook_deliveries",
    "snapshots": "workflow_snapshots",
    "turn_ids": "workflow_execution_history",
    "waits": "workflow_event_subscriptions",
}
"""What the tables in memory are called elsewhere; those that are not here have the same name."""
