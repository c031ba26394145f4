"""What `list`, `show`, `dead-letters` and `verify` say about a store with a past."""

from __future__ import annotations

import apsw
import pytest

from tenuto import Tenuto
from tenuto.model.json import JSON, Object
from tests.cli.conftest import DOUBLE, WAIT, Terminal, one_of_each
from tests.cli.waiting import until, waits_for_event
from tests.engine.situations import until_waiting


@pytest.fixture
def past(terminal: Terminal) -> Terminal:
    terminal.past(one_of_each)
    return terminal


def test_list_shows_the_newest_first_with_status_step_and_error(past: Terminal) -> None:
    lines = past.call("list").out.splitlines()
    assert lines[0].split() == [
        "STATUS",
        "ID",
        "WORKFLOW",
        "STARTED",
        "TOOK",
        "STEP",
        "SCHEDULE",
        "ERROR",
    ]
    assert [line.split()[1] for line in lines[1:]] == ["WAITING_FOR_EVENT", "FAILED", "COMPLETED"]
    assert "wait@1" in lines[1]
    assert lines[2].endswith("OUT_OF_STOCK: none left")


def test_list_filters_and_gives_json_and_ids(past: Terminal) -> None:
    items = past.call("list", "--status", "failed", "-o", "json").json["items"]
    assert [(each["workflowDefinitionId"], each["correlationId"]) for each in items] == [
        ("refuse", "c-1")
    ]
    ids = past.call("list", "-o", "id", "--limit", "2").out.split()
    assert len(ids) == 2
    assert items[0]["id"] == ids[1]
    assert past.call("list", "--workflow", "nothing", "-o", "id").out == ""


def test_list_finds_by_values_of_searchable_variables(terminal: Terminal) -> None:
    async def found(app: Tenuto) -> None:
        options: Object = {"searchable": ["input.id", "input.who"]}
        await app.deploy({"id": "found", **WAIT, "options": options})
        for id, who in ((7, "ann"), ("7", "bob"), (8, "ann b")):
            waiting = await app.start("found", {"id": id, "who": who})
            await until(app, waiting, waits_for_event)

    terminal.past(found)

    def ids(*values: str) -> list[str]:
        words = [word for value in values for word in ("--variable", value)]
        return terminal.call("list", "--workflow", "found", *words, "-o", "id").out.split()

    newest, middle, oldest = ids()
    assert ids("input.id=7") == [oldest]
    assert ids('input.id="7"') == [middle]
    assert ids("input.who=ann b") == [newest]
    assert ids("input.who=ann", "input.id=7") == [oldest]
    assert ids("input.who=ann", "input.id=8") == []
    for words, advice in (
        (["--workflow", "found", "--variable", "id=7"], "options.searchable"),
        (["--variable", "input.id=7"], "--workflow"),
        (["--workflow", "found", "--variable", "7"], "orderId=7"),
    ):
        refused = terminal.call("list", *words)
        assert refused.code == 2
        assert advice in refused.err


def test_list_finds_by_family_by_awaited_event_and_by_time_of_change(terminal: Terminal) -> None:
    async def found(app: Tenuto) -> None:
        await app.deploy({"id": "wait", **WAIT})
        call: Object = {"stepId": "call", "type": "SUB_WORKFLOW", "workflowId": "wait"}
        await app.deploy({"id": "call", "steps": [call]})
        await app.start("call", {"id": 1})
        await until_waiting(app, 1, "wait")

    terminal.past(found)

    def ids(*words: str) -> list[str]:
        return terminal.call("list", *words, "-o", "id").out.split()

    child, parent = ids()
    assert ids("--roots") == [parent]
    assert ids("--parent", parent) == [child]
    assert ids("--waiting-for", "paid") == [child]
    assert ids("--waiting-for", "other") == []
    assert {*ids("--updated-since", "PT1H")} == {child, parent}
    assert ids("--updated-since", "2090-01-01T00:00Z") == []
    refused = terminal.call("list", "--updated-since", "yesterday")
    assert refused.code == 2
    assert "--updated-since" in refused.err


def test_a_status_that_is_none_is_refused_with_the_nearest(past: Terminal) -> None:
    ended = past.call("list", "--status", "COMPLETE")
    assert ended.code == 2
    assert "Did you mean `COMPLETED`?" in ended.err


def test_show_takes_ids_their_beginnings_and_names_for_the_newest(past: Terminal) -> None:
    newest = past.call("list", "-o", "id").out.split()[0]
    shown = {past.call("show", text).out.splitlines()[0] for text in (newest, newest[:23], "@last")}
    assert shown == {f"◌ WAITING_FOR_EVENT  {newest}"}
    failed = past.call("show", "@last-failed").out
    assert "last error  OUT_OF_STOCK in reserve, attempt 1: none left" in failed


def test_show_tells_steps_waits_and_the_log(past: Terminal) -> None:
    out = past.call("show", "@last", "--history").out
    assert "◌ wait" in out
    assert "waiting for paid" in out
    assert "times out in " in out
    assert "· twice" in out
    assert "waits  for paid where event.payload.id === workflow.input.id" in out
    assert "WAIT_OPENED" in out
    view = past.call("show", "@last", "--history", "-o", "json").json
    assert view["state"]["waitingForEvent"]["stepId"] == "wait"
    assert [entry["seq"] for entry in view["history"]] == [1, 2, 3, 4]


async def a_child_waits(app: Tenuto) -> None:
    await app.deploy({"id": "wait", **WAIT})
    call: JSON = {"stepId": "call", "type": "SUB_WORKFLOW", "workflowId": "wait"}
    await app.deploy({"id": "outer", "steps": [call]})
    await app.start("outer", {"id": 7})
    await until_waiting(app, 1, "wait")


def test_show_leads_from_parent_to_child_and_back(terminal: Terminal) -> None:
    terminal.past(a_child_waits)
    (parent,) = terminal.call("list", "--workflow", "outer", "-o", "id").out.split()
    (child,) = terminal.call("list", "--workflow", "wait", "-o", "id").out.split()
    assert f"● call  runs {child}" in terminal.call("show", parent).out
    assert f"a step of   {parent}  call" in terminal.call("show", child).out
    view = terminal.call("show", child, "-o", "json").json
    assert (view["parentId"], view["rootId"]) == (parent, parent)


def test_an_id_that_is_not_there_exits_3_with_the_nearest(past: Terminal) -> None:
    newest = past.call("list", "-o", "id").out.split()[0]
    wrong = newest[:-1] + ("0" if newest[-1] != "0" else "1")
    ended = past.call("show", wrong)
    assert ended.code == 3
    assert newest in ended.err
    assert past.call("show", wrong, "-o", "json").json["error"]["code"] == "TEN-3001"


def test_a_beginning_of_several_ids_is_refused_with_all_of_them(past: Terminal) -> None:
    ids = past.call("list", "-o", "id").out.split()
    ended = past.call("show", ids[0][:4])
    assert ended.code == 2
    assert all(each in ended.err for each in ids)


def test_a_store_that_is_not_there_exits_5(terminal: Terminal) -> None:
    ended = terminal.call("list", "--store", "sqlite:///nothing.db")
    assert ended.code == 5
    assert f"there is no store at {terminal.folder / 'nothing.db'}" in ended.err
    assert "tenuto init" in ended.err
    assert "No store here" in terminal.call("explain", "TEN-4021").out


def test_dead_letters_are_listed_with_their_error(past: Terminal) -> None:
    assert "OUT_OF_STOCK: none left" in past.call("dead-letters", "list").out
    item = past.call("dead-letters", "list", "-o", "json").json["items"][0]
    past.environment["COLUMNS"] = "60"
    assert item["id"] in past.call("dead-letters", "list").out, "the others ask for it"
    assert (item["kind"], item["stepId"], item["taskId"]) == ("task-failed", "reserve", "refuse")


def test_verify_counts_what_it_folded(past: Terminal) -> None:
    ended = past.call("verify")
    assert ended.code == 0
    assert "3 instances" in ended.out
    assert past.call("verify", "-o", "json").json["differences"] == []


def test_verify_exits_1_and_shows_the_difference(past: Terminal) -> None:
    with apsw.Connection(str(past.folder / "store.db")) as connection:
        connection.execute(
            "UPDATE workflow_instances SET status = 'RUNNING' WHERE status = 'FAILED'"
        )
    ended = past.call("verify")
    assert ended.code == 1
    assert "TEN-4007" in ended.err
    assert "stored   RUNNING" in ended.err
    assert "the log  FAILED" in ended.err


async def parent_of_one(app: Tenuto) -> None:
    await app.deploy({"id": "double", **DOUBLE})
    step: JSON = {"stepId": "twice", "type": "SUB_WORKFLOW", "workflowId": "double"}
    await app.deploy({"id": "parent", "steps": [step]})
    await (await app.start("parent", 21)).result(timeout=10)


def test_the_last_one_is_what_somebody_started_and_no_child(terminal: Terminal) -> None:
    terminal.past(parent_of_one)
    assert terminal.call("show", "@last", "-o", "json").json["workflowDefinitionId"] == "parent"


def test_a_store_that_is_not_there_is_reported_before_the_id(terminal: Terminal) -> None:
    for command in ("logs", "history", "cancel", "explain", "show"):
        ended = terminal.call(command, "nope-id", "--store", "sqlite:///none.db")
        assert (ended.code, "TEN-4021" in ended.err) == (5, True), command
