"""Every look-up goes through an index, whatever is stored."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import tenuto.store.sqlite
from tenuto.store.sql import Named
from tenuto.store.sqlite.migrations import migrate
from tenuto.store.sqlite.queries import QUERIES, WIDTHS, Query
from tenuto.store.sqlite.session import Session

NOT_PLANNED = re.compile(r"(?:BEGIN|COMMIT|ROLLBACK|PRAGMA)\b")

SMALL = {
    "access_keys": "the first row of them, if there is one",
    "concurrency": "one row for each tenant that has limits of its own",
    "listeners": "as many rows as there are listeners",
    "listening": "one row",
    "load_reports": "one row for each process that lives",
    "processes": "as many rows as processes own something",
    "quarantine": "as many rows as instances that processes died of",
    "schema_info": "one row",
    "slots_freed": "as many rows as a pass takes back, oldest first",
    "sqlite_schema": "one row per table and index",
}

IN_INDEX_ORDER = {
    "slots_depth": "counts the queue up to its bound, where one is set",
    "slots_are_waited_for": "stops at the first row",
    "pass_is_due": "stops at the first row of each state",
    "unapplied_rules": "reads the rules of queues, which every process holds",
    "all_queue_rules": "reads the rules of queues, which every process holds",
    "calendars_mark": "reads the partial index of newest versions, which every process holds",
    "calendars_marks": "reads the same index, for one row of each tenant",
    "forget_processes": "reads the partial index of jobs that are being worked on",
    "has_offered_jobs": "reads the first row of the partial index of jobs that nobody works on",
    "lapsed_jobs": "reads the partial index of leases: as many as are being worked on",
    "pushed_with_jobs": "reads the partial index of tasks that are pushed, and looks each up",
    "first_timers": "reads the first rows of the index of due times, and stops at its limit",
    "unlooked_waits": "reads the partial index of waits that have not looked back",
    "unmatched_events": "reads the partial index of events that are not matched",
}

WALKED = {
    "depths": "counts up to its limit in each table",
    "families": "looks through what nobody has taken or was told, when instances are forgotten",
    "erase_mail": "as many letters as nobody has taken yet, when something is erased",
    "erase_outbox": "as many rows as nobody was told of yet, when something is erased",
}

SORTED = {
    "load_reports": "one row for each process that lives",
    "outbox_events": "as many rows as a claim of the outbox has",
    "open_ticks": "as many rows as ticks of the schedules are open",
    "leases_of_workers": "as many rows as are being worked on",
    "held_by_task": "as many rows as are being worked on",
    "waiting_by_task": "as many rows as its limit",
    "latest_events_of_pattern": "as many rows as its limit",
    "postings_due": "as many rows as its limit, twice",
    "lines_waited_for": "as many rows as tenants wait",
    "positions_by_id": "as many rows as ids were asked for",
    "positions_by_wait": "as many rows as waits for the pattern are open",
    "rarest_term": "as many rows as terms were asked for",
    "tenants": "as many rows as there are tenants, three times",
    "those_schedules": "as many rows as were asked for",
    "tallies": "as many rows as its bound",
    "wait_terms": "as many rows as there are distinct terms",
}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(str(tmp_path / "plans.db"), "writer_settings", may_create=True)
    migrate(made)
    yield made
    made.close()


def plan(session: Session, query: Query) -> list[str]:
    """How each of its statements is done: there may be several, one after the other."""
    names = re.findall(r":(\w+)", query.sql)
    parameters = dict.fromkeys(names) if names else (None,) * query.sql.count("?")
    explained = session.connection.execute(
        re.sub(r"(?:\A|(?<=;\n))", "EXPLAIN QUERY PLAN ", query.sql), parameters
    )
    return [row[3] for row in explained]


def aliases(sql: str) -> dict[str, str]:
    """Alias → table, and each table under its own name."""
    found = re.findall(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)(?:\s+AS\s+(\w+))?", sql)
    return {alias or table: table for table, alias in found} | {table: table for table, _ in found}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_no_query_walks_a_table_that_grows(session: Session, query: Query) -> None:
    if NOT_PLANNED.match(query.sql):
        return
    tables = {row[0] for row in session.connection.execute("SELECT name FROM sqlite_schema")}
    for line in plan(session, query):
        scanned = re.match(r"SCAN (\w+)", line)
        table = aliases(query.sql).get(scanned.group(1)) if scanned else None
        if table in tables and table not in SMALL and query.name not in WALKED:
            assert query.name in IN_INDEX_ORDER, line
            assert " INDEX " in line, line
        if "TEMP B-TREE" in line:
            assert query.name in SORTED, line
        assert "AUTOMATIC" not in line, line


def test_the_tenants_of_a_long_line_are_found_without_reading_it(session: Session) -> None:
    """Each pass of admission asks for them, and a plan does not show how far an index is read."""
    connection = session.connection
    connection.execute("PRAGMA foreign_keys = off")
    connection.execute(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)"
        " INSERT INTO slots (instance_id, node, iteration, tenant, definition_id, keys, own_limit,"
        " on_full, number, rank_class, rank, priority, asked_at, state, blocked_on) SELECT"
        " 'i' || n, '', '', 'large', 'd', '[]', 0, 'queue', 1, 2, n, 0, n, 'waiting', 'global:'"
        " FROM n"
    )
    nothing = (None,) * 3
    for key, tenants in (("", [None]), ("global:", ["large", None])):
        steps = 0

        def step() -> bool:
            nonlocal steps
            steps += 1
            return False

        connection.set_progress_handler(step, 1)
        which = {"keys": json.dumps([key]), "limit": 10, "most_tenants": 10}
        found = list(connection.execute(QUERIES["lines_waited_for"].sql, which))
        assert found == [(key, None, None, tenant, *nothing) for tenant in tenants]
        connection.set_progress_handler(None)
        assert steps < 1_000


def test_a_walk_would_be_seen(session: Session) -> None:
    """The test above is not vacuous."""
    walk = Query(Named("walk", "All.", "SELECT * FROM events WHERE payload = ?;"))
    assert plan(session, walk) == ["SCAN events"]
    assert aliases(walk.sql) == {"events": "events"}


def test_every_exception_is_needed(session: Session) -> None:
    plans = {
        query.name: "\n".join(plan(session, query))
        for query in QUERIES.values()
        if not NOT_PLANNED.match(query.sql)
    }
    assert all(re.search(r"SCAN \w+ USING", plans[name]) for name in IN_INDEX_ORDER)
    assert all(re.search(r"SCAN \w+", plans[name]) for name in WALKED)
    assert all("TEMP B-TREE" in plans[name] for name in SORTED)


def test_every_query_is_described_and_used() -> None:
    folder = Path(tenuto.store.sqlite.__file__).parent
    folders = (folder, folder.parent / "cold", folder.parent / "parts")
    words = {
        node.value
        for each in folders
        for file in each.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert [name for name in QUERIES if name not in words] == []
    assert all(query.description.endswith(".") for query in QUERIES.values())


def test_no_module_has_sql_in_it() -> None:
    folder = Path(tenuto.store.sqlite.__file__).parent
    folders = (folder, folder.parent / "cold", folder.parent / "parts")
    looks_like_sql = re.compile(
        r"\b(?:SELECT .* FROM|INSERT INTO|DELETE FROM|UPDATE \w+ SET)\b", re.DOTALL
    )
    files = (file for each in folders for file in each.glob("*.py"))
    assert [file.name for file in files if looks_like_sql.search(file.read_text())] == []


def test_wide_forms_are_valid_and_stay_prepared(session: Session) -> None:
    """SQLite's statement cache leaves texts over 16 KB out."""
    for query in QUERIES.values():
        if "for each row" in query.sql:
            assert [width for width in WIDTHS if width <= 256] == list(query.wide)[-9:]
            for width, sql in query.wide.items():
                marks = query.sql.count("?") * width
                session.connection.execute(f"EXPLAIN {sql}", (None,) * marks).fetchall()
                assert len(sql.encode()) < 16_384, query.name


def test_a_query_that_repeats_nothing_has_no_wide_forms() -> None:
    plain = Query(Named("a", "One.", "SELECT 1;"))
    with pytest.raises(LookupError):
        _ = plain.wide
    assert repr(plain) == "<a: One.>"


def test_the_bundled_sqlite_is_safe() -> None:
    assert apsw.SQLITE_VERSION_NUMBER >= tenuto.store.sqlite.store.SAFE_SQLITE


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("positions_by_change", "workflow_instances_by_change (tenant=? AND updated_at>? AND"),
        ("positions_by_parent", "workflow_instances_by_parent (tenant=? AND parent_id=? AND"),
        ("positions_by_root", "workflow_instances_by_parent (tenant=? AND parent_id=? AND"),
        ("positions_by_root_definition", "workflow_instances_by_definition (tenant=?"),
        ("positions_by_root_status", "workflow_instances_by_status (tenant=? AND status=?"),
        ("positions_by_wait", "workflow_event_subscriptions_by_term (tenant=? AND pattern=?)"),
    ],
)
def test_a_list_by_family_wait_or_change_begins_where_its_page_does(
    session: Session, name: str, index: str
) -> None:
    assert any(index in line for line in plan(session, QUERIES[name])), plan(session, QUERIES[name])
