"""Lists of workflows, tasks, workers and so on: a table, JSON with its cursor, ids."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime
from io import StringIO
from typing import get_args

import msgspec
import pytest

from tenuto import TaskDefinition, Tenuto
from tenuto.cli.views.csv_rows import show_csv
from tenuto.cli.views.stats import show_stats
from tenuto.store.parts.workers import Sighting
from tests.cli.conftest import REFUSE, Terminal, one_of_each
from tests.cli.manual import commands, options_of

LISTS = (
    *("list", "workflows list", "events list", "tasks list", "workers list", "dead-letters list"),
)


async def two_of_each(app: Tenuto) -> None:
    await one_of_each(app)
    for name in ("far", "near"):
        retry = {"maxAttempts": 4}
        task = TaskDefinition(id=name, kind="pull", retry=retry, timeout="PT5S")  # type: ignore[arg-type]
        await app.task_definitions.add(task)
        await app.publish(f"order.{name}", {"id": name}, id=f"e-{name}")
    sightings = [
        Sighting(tenant="default", worker_id="packer", age=0, task_ids=("far", "pack")),
        Sighting(tenant="default", worker_id="silent", age=120_000),
    ]
    await app.engine.store.workers.saw(sightings, app.engine.clock.now())
    await app.deploy({"id": "other", "name": "Another", **REFUSE})
    with pytest.raises(Exception, match="OUT_OF_STOCK"):
        await (await app.start("other", {})).result(timeout=60)


@pytest.fixture
def past(terminal: Terminal) -> Terminal:
    terminal.past(two_of_each)
    return terminal


def test_every_list_gives_pages_whose_cursors_lead_through_all_of_it(past: Terminal) -> None:
    for words in LISTS:
        ended = past.call(*words.split(), "-o", "json")
        assert ended.code == 0, (words, ended.out)
        whole = ended.json
        assert whole["nextCursor"] is None, words
        found, cursor = [], None
        while True:
            more = () if cursor is None else ("--cursor", cursor)
            page = past.call(*words.split(), "--limit", "1", "-o", "json", *more).json
            found += page["items"]
            cursor = page["nextCursor"]
            if cursor is None:
                break
        assert found == whole["items"], words
        assert len(found) >= 2, words
        people = past.call(*words.split(), "--limit", "1")
        assert "more: --cursor " in people.err, words
        wrong = past.call(*words.split(), "--cursor", "nonsense")
        assert (wrong.code, "TEN-2009" in wrong.err) == (2, True), (words, wrong.err)


def test_every_list_is_csv_with_the_values_of_its_json(past: Terminal) -> None:
    formats = {name: options_of(name).get("--output") for name in commands()}
    with_csv = {name for name, kind in formats.items() if "csv" in get_args(kind)}
    assert {*LISTS, "audit list", "approvals list", "schedules ticks"} <= with_csv
    for words in sorted(with_csv - {"schedules ticks", "stats"}):
        items = past.call(*words.split(), "-o", "json").json["items"]
        ended = past.call(*words.split(), "-o", "csv")
        assert ended.code == 0, (words, ended.err)
        rows = [*csv.DictReader(StringIO(ended.out))]
        assert len(rows) == len(items), words
        for row, item in zip(rows, items, strict=True):
            for name, value in item.items():
                plain = "" if value is None else value
                text = plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()
                assert row[name] in (text, f"'{text}"), (words, name)


def test_lists_show_inputs_and_statistics_are_csv_where_asked(past: Terminal) -> None:
    [first, *_] = past.call("list", "--inputs", "--workflow", "wait", "-o", "json").json["items"]
    assert first["input"] == {"id": 7}
    assert '{"id":7}' in past.call("list", "--inputs").out
    rows = [*csv.DictReader(StringIO(past.call("stats", "-o", "csv").out))]
    assert sum(int(each["failed"]) for each in rows) == 2


def test_a_cell_that_a_spreadsheet_would_calculate_is_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_csv([{"a": "=1+1", "b": "two\nlines", "c": None, "d": 'a "quoted", cell'}])
    head, row = capsys.readouterr().out.splitlines()
    assert head == "a,b,c,d"
    assert row == '\'=1+1,two\\u000alines,,"a ""quoted"", cell"'


def test_the_tables_say_what_each_is(past: Terminal) -> None:
    workflows = past.call("workflows", "list").out
    assert "other" in workflows
    assert "Another" in workflows
    assert past.call("workflows", "list", "-o", "id").out.split() == [
        *("double", "other", "refuse", "wait"),
    ]
    tasks = past.call("tasks", "list").out
    assert re.search(r"far +worker +4 attempts +PT5S +- +any", tasks), tasks
    assert re.search(r"near +nowhere +4 attempts +PT5S +- +any", tasks), tasks
    assert re.search(r"pack +worker +- +- +- +any", tasks), tasks
    far, near, pack = past.call("tasks", "list", "-o", "json").json["items"]
    assert (far["workerIds"], near["workerIds"]) == (["packer"], [])
    assert (near["runs"], pack["isDeclared"]) == ([], False)
    workers = past.call("workers", "list").out
    assert re.search(r"packer +yes +0 .* far, pack", workers), workers
    assert re.search(r"silent +no +0 .* any", workers), workers
    assert past.call("workers", "list", "-o", "id").out.split() == ["packer", "silent"]
    events = past.call("events", "list", "--pattern", "order.far").out
    assert "e-far" in events
    assert "e-near" not in events
    nothing = past.call("events", "list", "--since", "2999-01-01T00:00:00Z")
    assert (nothing.code, "no events since" in nothing.err) == (0, True)
    assert past.call("events", "list", "--since", "yesterday").code == 2


def test_a_workflow_is_shown_and_removed(past: Terminal) -> None:
    shown = past.call("workflows", "show", "wait")
    assert "eventWait paid" in shown.out, shown.out
    document = past.call("workflows", "show", "wait", "-o", "json").json
    assert (document["version"], document["definition"]["id"]) == (1, "wait")
    refused = past.call("workflows", "remove", "wait")
    assert (refused.code, "TEN-3011" in refused.err) == (4, True)
    assert past.call("workflows", "remove", "other").code == 0
    gone = past.call("workflows", "show", "othr")
    assert (gone.code, "TEN-2002" in gone.err) == (3, True)


def test_statistics_are_told_and_given_as_the_api_gives_them(past: Terminal) -> None:
    told = past.call("stats")
    assert "4 instances" in told.out
    assert "✗ FAILED" in told.out
    assert "no process is running" in told.err
    found = past.call("stats", "-o", "json").json
    assert (found["total"], found["byStatus"]["FAILED"]) == (4, 2)
    found["isComplete"] = False
    show_stats(found, datetime.now(UTC), "here")


def test_a_list_of_nothing_says_so(terminal: Terminal) -> None:
    terminal.call("migrate")
    for words in LISTS:
        ended = terminal.call(*words.split())
        assert (ended.code, ended.out) == (0, ""), words
        assert "\nno " in f"\n{ended.err}", words


def test_statistics_of_nothing_and_an_empty_audit_log_lead_on(terminal: Terminal) -> None:
    async def nothing(app: Tenuto) -> None:
        await app.deploy({"id": "refuse", **REFUSE})

    terminal.past(nothing)
    counted = terminal.call("stats", "--hours", "2")
    assert "no instance was started in the last 2 h" in counted.err
    assert "tenuto start WORKFLOW --input JSON" in counted.err
    assert "tenuto start" in terminal.call("audit", "list").err
