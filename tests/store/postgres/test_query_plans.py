"""Every look-up goes through an index, whatever is stored and whatever the planner believes."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import tenuto.store.postgres
from tenuto.store.postgres.driver import Connection
from tenuto.store.postgres.queries import (
    QUERIES,
    Statement,
    page_of_instances,
    statement,
    turn_statement,
)
from tenuto.store.postgres.server import _SETTINGS
from tenuto.store.postgres.turn_rows import _COLUMNS
from tests.kit.postgres_database import connected, fresh_database
from tests.store.postgres.conftest import Opener

FRAMES = {"turn", "turn_of_winners", "page_of_instances", "together", "for_each"}
PARTS = [
    name
    for name in _COLUMNS
    if f"{name}" in QUERIES and name not in {"owned", "owned_elsewhere", "take_back"}
]
FRAGMENTS = re.compile(r"_(?:check|result|then|then_too)$")
NOT_PLANNED = re.compile(r"(?:BEGIN|COMMIT|ROLLBACK|CREATE SCHEMA|LOCK TABLE|SET LOCAL)\b")

SMALL = {
    "listeners": "as many rows as there are listeners",
    "listening": "one row",
    "shares": "as many rows as there are listeners, and sixteen",
    "load_reports": "one row for each process that lives",
    "processes": "as many rows as processes; those that are gone for minutes, or a day",
    "moments": "as many rows as lanes of processes, and one",
    "quarantine": "as many rows as instances that processes died of",
    "schema_info": "one row",
}
IN_INDEX_ORDER = {
    ("next_due_schedule", "schedules_due"): "from its beginning, and stops at the first",
    ("claim_timers", "timers_by_due"): "from its beginning, and stops at its limit",
    ("claim_jobs", "jobs_leased"): "as many as are being worked on",
    ("next_lapse", "jobs_leased"): "from its beginning, and stops at the first that holds",
    ("pushed_with_jobs", "task_definitions_pushed"): "has those alone, and looks each up",
    ("leases_of", "jobs_leased"): "as many as are being worked on",
    ("forget_processes", "jobs_leased"): "as many as are being worked on, once for each process",
    ("unlooked_waits", "workflow_event_subscriptions_unlooked"): "has those alone",
    ("unmatched_events", "events_unmatched"): "has those alone",
    ("instances", "events_pkey"): "the number of the newest event, from the end",
    ("turn", "events_pkey"): "the number of the newest event, from the end",
    ("insert_definition", "events_pkey"): "the number of the newest event, from the end",
    ("waits_opened", "events_pkey"): "the number of the newest event, from the end",
    ("tenants_that_wait", "slots_queue"): "from its beginning, and stops at the first",
}

WALKED = {
    "freed_slots": "reads what was given back since the pass before, in order, and stops",
    "lines_waited_for": "the same, and one row of each tenant that waits",
    "concurrency_documents": "reads one row of each tenant that has limits of its own",
    "concurrency_rows": "reads one row of each tenant that has limits of its own",
    "slots_mark": "stops at the first slot",
    "concurrency_versions": "reads one row of each tenant that has limits of its own",
    "unapplied_rules": "reads the rules of queues after a change of limits, as each process does",
    "all_queue_rules": "reads the rules of queues, which every process holds in memory",
    "paces_mark": "stops at the first row of the index of moments",
    "next_pace": "stops at the first row of the index of moments",
    "forget_paces": "deletes a hundred rows, by their keys where there are many",
    "slots_depth": "counts the queue up to its bound, where one is set",
    "slots_are_waited_for": "stops at the first row",
    "calendars_mark": "takes the mark of all calendars, which every process holds in memory",
    "calendars_marks": "reads the same index, for one row of each tenant",
    "schedule_numbers": "counts up to its limit",
    "depths": "counts up to its limit in each table",
    "beat": "takes the mark of all declared tasks, which every process holds in memory",
}

LEFT_ALONE = """
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'tenuto' LOOP
        EXECUTE format('ALTER TABLE tenuto.%I SET (autovacuum_enabled = false)', name);
    END LOOP;
END $$
"""

ROWS = 3_000
FILL = f"""
INSERT INTO tenuto.workflow_instances
SELECT 'i' || n, 'default', 'd' || n % 7, 1, 'RUNNING', 'c' || n, 0, NULL, n, n, n, NULL, '["a"]',
    NULL, NULL, NULL, NULL, NULL, NULL FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.workflow_current_steps
SELECT 'i' || n, 'a', 'default', n FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.workflow_searchable_values
SELECT 'i' || n, name, 'default', 'd' || n % 7, n % 40, n
FROM generate_series(1, {ROWS}) AS n, unnest(ARRAY['x', 'y']) AS name;
INSERT INTO tenuto.workflow_snapshots SELECT 'i' || n, 1, '' FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.workflow_execution_history
SELECT 'i' || n, s, 'NODE_COMPLETED', 'a', '', s, NULL, NULL, NULL, NULL, 0, NULL
FROM generate_series(1, {ROWS}) AS n, generate_series(1, 3) AS s;
INSERT INTO tenuto.idempotency_keys
SELECT 'default', 'k' || n, 'i' || n, '' FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.workflow_definitions
SELECT 'default', 'd' || n % 50, n, '', '', 0 FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.workflow_event_subscriptions
SELECT 'i' || n, 'w', '', 1, 'default', 'p' || n % 3, n % 2, NULL, '', 't' || n % 5, n, 0, 0, NULL,
    n % 2, 0 FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.events (
    tenant, id, pattern, payload, received_at, content_hash, turn_id, matched_at
)
SELECT 'default', 'e' || n, 'p' || n % 3, '', n, '', 't', CASE WHEN n % 9 > 0 THEN 1 END
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.event_deliveries
SELECT 'i' || n, 'w', '', 'e' || n, 'matched' FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.timers
SELECT 'i' || n, 'delay', 'a', '', n, NULL FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.mailbox (id, instance_id, input, created_at, claimed_by)
SELECT 'm' || n, 'i' || n, '', 0, 'p' || n % 3 FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.owners SELECT 'i' || n, 'p' || n % 3, 1 FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.jobs
SELECT 'i' || n, 'a', '', 1, 't' || n % 20, n, n % 2, CASE WHEN n % 2 > 0 THEN 'p' || n % 3 END, n
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.dead_letters
SELECT 'i' || n, 'd', 'default', 'TASK', 'a', '', 1, NULL, NULL, NULL, NULL, n
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.listeners
SELECT 'default', 'webhook', 'l' || n, '[]', n % 3, n % 2, '', '', n, NULL
FROM generate_series(1, 30) AS n;
INSERT INTO tenuto.outbox (tenant, share, instance_id, first_seq, last_seq, status, event_number)
SELECT 'default', n % 16, 'i' || n, 1, 2, '', CASE WHEN n % 2 > 0 THEN n END
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.webhook_deliveries (
    listener_id, event_id, stream, body, created_at, attempts, due
)
SELECT 'l' || n % 30, 'e' || n, 'i' || n % 90, '', n, n % 2, CASE WHEN n % 9 = 0 THEN n END
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.slots
SELECT 'i' || n, '', '', 't' || n % 50, 'd', '[]', 'k' || n, 1, 'queue', 1, 2, n, 0, NULL, n,
    CASE WHEN n % 9 > 0 THEN 'waiting' ELSE 'held' END, 'l' || n % 90, n
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.slot_counts
SELECT 'default', 'l' || n, 1 FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.slots_freed (tenant, keys, amount)
SELECT 'default', '[]', 1 FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.access_keys
SELECT 'k' || n, 't' || n % 50, '', '', NULL, '', n, '', NULL, NULL, NULL
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.audit_log
SELECT 't' || n % 50, n, 'a' || n, n, '', '', '', '', '', '', '', NULL, NULL, '', ''
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.bulk_operations
SELECT 't' || n % 50, 'b' || n, '', '', n, CASE WHEN n % 99 = 0 THEN 1 ELSE 0 END, 0, 0, n
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.workers
SELECT 't' || n % 50, 'w' || n, NULL, 0, n, n FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.calendars
SELECT 't' || n % 50, 'c' || n % 500, n, '', n, NULL, 0, CASE WHEN n > 2500 THEN 1 ELSE 0 END
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.schedules
SELECT 't' || n % 50, 's' || n, '', 1, 1, 'active', n, n, n, 'd' || n % 7, 'c' || n % 500, NULL,
    NULL, 0, NULL, NULL, NULL, n, NULL, n, NULL, 0 FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.schedule_ticks
SELECT 't' || n % 50, 's' || n % 200, n, 0, n, 'started', 'i' || n, NULL, 1, NULL,
    CASE WHEN n % 9 = 0 THEN 1 ELSE 0 END, 1, '', n FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.data_sources
SELECT 't' || n % 50, 'd' || n, 1, '', n, NULL, n, NULL FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.data_queries
SELECT 't' || n % 50, 'q' || n, 1, 'd' || n % 500, '', n, NULL, n, NULL
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.tenant_secrets
SELECT 't' || n % 50, 's' || n, '', NULL, n, NULL FROM generate_series(1, {ROWS}) AS n;
INSERT INTO tenuto.audit_heads SELECT 't' || n, n, '' FROM generate_series(1, {ROWS}) AS n;
ANALYZE;
"""


def statements() -> dict[str, Statement]:
    """Everything that is sent to the server and has a plan."""
    alone = {
        name: statement(name, "tenuto")
        for name, query in QUERIES.items()
        if name not in FRAMES
        and not FRAGMENTS.search(name)
        and not name.startswith("positions_by_")
        and not NOT_PLANNED.match(query.sql)
    }
    lists = {
        name: page_of_instances(name, "tenuto")
        for name in QUERIES
        if name.startswith("positions_by_")
    }
    # Letters of a turn are sent or exchanged.
    parts = tuple(part for part in PARTS if part != "mail_exchanged")
    return alone | lists | {"turn": turn_statement("turn", parts, "tenuto")}


STATEMENTS = statements()


_filled: list[str] = []


@pytest_asyncio.fixture
async def filled(opened: Opener) -> str:
    """A database with some of everything, made once."""
    if not _filled:
        url = await fresh_database("tenuto_plans")
        (await opened(url)).abandon()
        async with connected(url) as connection:
            await connection.execute(FILL)
        _filled.append(url)
    return _filled[0]


async def plans(
    connection: Connection,
    statements: Mapping[str, Statement] = STATEMENTS,
    options: str = "FORMAT JSON",
) -> dict[str, Any]:
    """Generic plans: what they are does not depend on the values."""
    await connection.execute("SET plan_cache_mode = force_generic_plan")
    found = {}
    for name, sent in statements.items():
        await connection.execute(f"PREPARE explained AS {sent.sql}")
        values = ", ".join(["NULL"] * len(sent.parameters))
        execution = f"EXECUTE explained ({values})" if values else "EXECUTE explained"
        [(explained,)] = await connection.fetch(f"EXPLAIN ({options}) {execution}")
        await connection.execute("DEALLOCATE explained")
        found[name] = json.loads(explained)[0]["Plan"]
    return found


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def walks(name: str, plan: dict[str, Any]) -> list[str]:
    found = []
    for node in nodes(plan):
        kind, table = node["Node Type"], node.get("Relation Name", "")
        index = node.get("Index Name")
        if table in SMALL or table.startswith("pg_"):
            continue
        if kind == "Seq Scan":
            found.append(f"walks {table}")
        if index and "Index Cond" not in node and (name, index) not in IN_INDEX_ORDER:
            found.append(f"walks {index}")
        if kind in {"Hash Join", "Merge Join"}:
            found.append(kind)
    return found


async def walks_in(url: str) -> dict[str, list[str]]:
    """What is wrong with the plans that a store of ours gets."""
    async with connected(url) as connection:
        for name, value in _SETTINGS.items():
            await connection.fetch("SELECT set_config($1, $2, false)", name, value)
        found = {name: walks(name, plan) for name, plan in (await plans(connection)).items()}
    return {name: what for name, what in found.items() if what and name not in WALKED}


@pytest.mark.asyncio
async def test_nothing_walks_a_table_that_grows(filled: str) -> None:
    assert await walks_in(filled) == {}


LONG_LINE = f"""
INSERT INTO tenuto.slots
SELECT 'i' || n, '', '', CASE n WHEN 1 THEN 'a' WHEN 2 THEN 'z' ELSE 'large' END, 'd', '[]', NULL,
    0, 'queue', 1, 2, n, 0, NULL, n, 'waiting',
    'global', NULL FROM generate_series(1, {10 * ROWS}) AS n;
INSERT INTO tenuto.slot_counts VALUES ('a', 'turn:a', 1000), ('z', 'tenant:z', 7);
"""


@pytest.mark.asyncio
@pytest.mark.parametrize("is_analysed", [False, True])
@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
async def test_the_tenants_of_a_long_line_are_found_without_reading_it(
    opened: Opener, mode: str, *, is_analysed: bool
) -> None:
    """Each pass of admission asks for them, while turns and other passes wait for the lock."""
    url = await fresh_database("tenuto_plans_line")
    (await opened(url)).abandon()
    sent = STATEMENTS["lines_waited_for"]
    async with connected(url) as connection:
        await connection.execute(f"{LEFT_ALONE};{LONG_LINE}")
        if is_analysed:
            await connection.execute("ANALYZE tenuto.slots")
        await connection.execute(f"SET plan_cache_mode = {mode}")
        await connection.execute(f"PREPARE line AS {sent.sql}")
        for key in ("", "global"):
            asked = f"EXECUTE line (ARRAY['{key}'], 100, 2)"
            explained = f"EXPLAIN (ANALYZE, FORMAT JSON) {asked}"
            [(answer,)] = await connection.fetch(explained)
            read = sum(
                node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
                for node in nodes(json.loads(answer)[0]["Plan"])
                if node.get("Relation Name") == "slots"
            )
            assert read <= 8, "two rows of each tenant, and an end"
            found = [(*row[:2], *row[3:6]) for row in await connection.fetch(asked)]
            # Two of three tenants, the older row first: one has had a turn.
            here = [(key, None, "z", None, 7), (key, None, "large", None, None)]
            assert found == (here if key else []) + [(key, None, None, None, None)]


BEHIND_WALL = {
    *("access_keys", "audit", "audit_head", "audit_lines", "backlogs", "bulk", "bulks"),
    *("dead_letter", "dead_letters", "definition", "definition_ids", "deliveries_of_event"),
    *("durations", "postings_to"),
    *("entries_after", "event", "latest_events", "latest_events_of_pattern"),
    *("listeners", "newest_definition", "newest_definitions", "past_events"),
    *("past_events_of_pattern", "positions_by_correlation", "positions_by_definition"),
    *("positions_by_change", "positions_by_parent", "positions_by_root", "positions_by_wait"),
    *("positions_by_root_definition", "positions_by_root_status"),
    *("positions_by_id", "positions_by_status", "positions_by_step", "positions_by_value"),
    *("rarest_term", "tallies", "task", "task_ids", "tasks", "pushed_task_ids"),
    *("wait_terms", "waiting_jobs", "waits_for", "waits_near", "waits_of_instance"),
    *("leases_of_workers", "workers_seen", "waiting_by_task", "held_by_task"),
}
"""What is read for a tenant."""
PAGES = {
    "bulks": "created_at",
    "dead_letters": "at",
    "definition_ids": "id",
    "entries_after": "seq",
    "latest_events": "received_at",
    "latest_events_of_pattern": "number",
    "audit_lines": "number",
    "newest_definitions": "id",
    "positions_by_change": "updated_at",
    "positions_by_correlation": "created_at",
    "positions_by_definition": "created_at",
    "positions_by_parent": "created_at",
    "positions_by_root": "created_at",
    "positions_by_root_definition": "created_at",
    "positions_by_root_status": "created_at",
    "positions_by_status": "created_at",
    "positions_by_step": "created_at",
    "tasks": "id",
    "wait_terms": "term_paths",
    "workers_seen": "worker_id",
}
"""What an index has to find them by, beside the tenant: where they begin."""


@pytest.mark.asyncio
async def test_behind_the_wall_between_tenants_everything_is_looked_up_too(filled: str) -> None:
    """What guards the rows comes before comparisons of texts, and must not come before indexes."""
    async with connected(filled) as connection:
        for name, value in _SETTINGS.items():
            await connection.fetch("SELECT set_config($1, $2, false)", name, value)
        [(reader,)] = await connection.fetch("SELECT tenuto.reader_name()::text")
        await connection.execute(f"SET ROLE {reader}")
        sent = {name: STATEMENTS[name] for name in BEHIND_WALL}
        found = await plans(connection, sent, "FORMAT JSON, VERBOSE")
    guarded = {name for name, plan in found.items() if "tenuto_reader.tenant" in json.dumps(plan)}
    assert guarded == BEHIND_WALL
    assert {name: what for name, plan in found.items() if (what := walks(name, plan))} == {}
    conditions = {
        name: " ".join(node.get("Index Cond", "") for node in nodes(found[name])) for name in PAGES
    }
    assert {
        name: condition
        for name, condition in conditions.items()
        if not re.search(
            rf"(?:\b{PAGES[name]}|ROW\((?:\w+\.)?{PAGES[name]}\b.*?\)) [<>]", condition
        )
    } == {}
    # A plan that was made for a tenant with few rows must do for one with a million: by the setting
    # nothing is found, it only keeps rows back that were found by what was asked for.
    for name in ("entries_after", "positions_by_id"):
        used = {node.get("Index Name") for node in nodes(found[name])}
        assert "workflow_instances_pkey" in used
        assert not used & {"workflow_instances_by_status", "workflow_instances_by_definition"}


def test_a_pooled_connection_has_the_same_settings_in_each_transaction() -> None:
    there = dict(re.findall(r"SET LOCAL (\w+) = '?(\w+)'?;", QUERIES["begin_pooled"].sql))
    # The isolation is in BEGIN itself.
    kept = {"plan_cache_mode", "application_name", "default_transaction_isolation"}
    assert there == {name: value for name, value in _SETTINGS.items() if name not in kept}


@pytest.mark.asyncio
async def test_a_table_that_was_empty_when_it_was_planned_is_looked_up_all_the_same(
    empty_url: str, opened: Opener
) -> None:
    """Plans are kept: what is right for no rows must be right for a million."""
    await opened(empty_url)
    # To tables that it has found empty, and only to those, the server gives plans for no rows; it
    # makes new ones as soon as it has looked again.
    async with connected(empty_url) as connection:
        await connection.execute(LEFT_ALONE)
    assert await walks_in(empty_url) == {}


@pytest.mark.asyncio
async def test_every_exception_is_needed(filled: str) -> None:
    async with connected(filled) as connection:
        await connection.execute("SET enable_seqscan = off; SET enable_hashjoin = off")
        found = await plans(connection)
    assert all(
        any(node.get("Index Name") == index for node in nodes(found[name]))
        for name, index in IN_INDEX_ORDER
    )


@pytest.mark.asyncio
async def test_a_walk_would_be_seen(filled: str) -> None:
    """The tests above are not vacuous."""
    async with connected(filled) as connection:
        sql = "SELECT * FROM tenuto.events WHERE payload = ''"
        [(explained,)] = await connection.fetch(f"EXPLAIN (FORMAT JSON) {sql}")
    assert walks("walk", json.loads(explained)[0]["Plan"]) == ["walks events"]


def test_every_query_is_described_and_used() -> None:
    folder = Path(tenuto.store.postgres.__file__).parent
    folders = (folder, folder.parent / "cold", folder.parent / "parts")
    words = {
        word
        for each in folders
        for file in each.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for word in (node.value, FRAGMENTS.sub("", node.value))
    }
    assert [name for name in QUERIES if FRAGMENTS.sub("", name) not in words] == []
    assert all(query.description.endswith(".") for query in QUERIES.values())


def test_no_module_has_sql_in_it() -> None:
    folder = Path(tenuto.store.postgres.__file__).parent
    folders = (folder, folder.parent / "cold", folder.parent / "parts")
    looks_like_sql = re.compile(
        r"\b(?:SELECT .* FROM|INSERT INTO|DELETE FROM|UPDATE \w+ SET)\b", re.DOTALL
    )
    files = (file for each in folders for file in each.glob("*.py"))
    assert [file.name for file in files if looks_like_sql.search(file.read_text())] == []


def test_another_schema_has_its_own_tables_everywhere() -> None:
    for name in QUERIES:
        assert "tenuto." not in statement(name, "other").sql
