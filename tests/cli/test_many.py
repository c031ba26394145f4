"""Commands over several instances: by ids, ids on stdin, or a filter."""

from __future__ import annotations

import asyncio
from unittest.mock import AsyncMock, Mock

import msgspec
import pytest
import typer
from msgspec.structs import replace

from tenuto import Tenuto
from tenuto.cli import bulk
from tenuto.store.parts.bulk import Bulk, BulkRow
from tenuto.workspace.bulk.request import BulkAsked, Which
from tenuto.workspace.values import BulkOperation
from tests.cli.beside import in_use
from tests.cli.conftest import REFUSE, WAIT, Terminal, one_of_each
from tests.cli.waiting import until, waits_for_event


async def five(app: Tenuto) -> None:
    """Three wait and two have failed."""
    await app.deploy({"id": "wait", **WAIT})
    await app.deploy({"id": "refuse", **REFUSE})
    for number in range(3):
        waiting = await app.start("wait", {"id": number}, correlation_id=f"c-{number}")
        await until(app, waiting, waits_for_event)
    for _ in range(2):
        with pytest.raises(Exception, match="OUT_OF_STOCK"):
            await (await app.start("refuse", {})).result(timeout=60)


@pytest.fixture
def past(terminal: Terminal) -> Terminal:
    terminal.past(five)
    return terminal


def ids(terminal: Terminal, *words: str) -> list[str]:
    return terminal.call("list", "-o", "id", *words).out.split()


def statuses(terminal: Terminal, workflow: str) -> list[str]:
    found = terminal.call("list", "--workflow", workflow, "-o", "json").json["items"]
    return [each["status"] for each in found]


def test_a_filter_is_previewed_and_not_asked_about_without_a_terminal(past: Terminal) -> None:
    waiting = ids(past, "--workflow", "wait")
    seen = past.call("cancel", "--workflow", "wait", "--dry-run")
    assert (seen.code, seen.out.strip()) == (
        0,
        f"cancel 3 instances (wait 3), such as {', '.join(waiting)}",
    )
    asked = past.call("cancel", "--workflow", "wait", "-o", "json")
    assert (asked.code, asked.json["error"]["code"]) == (2, "TEN-2640")
    assert "--yes" in asked.err
    assert statuses(past, "wait") == ["WAITING_FOR_EVENT"] * 3
    as_json = past.call("pause", "--workflow", "wait", "--dry-run", "-o", "json").json
    assert (as_json["status"], as_json["matched"], as_json["done"]) == ("dry-run", 3, 0)
    assert as_json["examples"] == waiting


def test_all_that_a_filter_finds_are_paused_resumed_cancelled_and_retried(past: Terminal) -> None:
    for action, status in (
        ("pause", "PAUSED"),
        ("resume", "WAITING_FOR_EVENT"),
        ("cancel", "CANCELLED"),
    ):
        ended = past.call(action, "--workflow", "wait", "--yes")
        said = f"✓ {action}: 3 done in {past.folder / 'store.db'}\n"
        assert (ended.code, ended.out) == (0, said), ended.err
        assert statuses(past, "wait") == [status] * 3
    nothing = past.call("pause", "--workflow", "wait", "--yes")
    assert (nothing.code, "nothing to pause" in nothing.out) == (0, True)
    retried = past.call("retry", "--status", "FAILED", "--yes", "-o", "json").json
    assert (retried["done"], retried["failed"]) == (2, 0)
    assert statuses(past, "refuse") == ["RUNNING"] * 2


def test_ids_are_typed_or_come_from_stdin_and_refusals_are_counted(past: Terminal) -> None:
    failed, waiting = ids(past, "--status", "FAILED"), ids(past, "--workflow", "wait")
    mixed = past.call("retry", *failed, waiting[0], "-o", "json")
    assert (mixed.code, mixed.json["done"], mixed.json["failed"]) == (4, 2, 1)
    assert mixed.json["failures"][0]["id"] == waiting[0]
    assert mixed.json["failures"][0]["code"] == "TEN-3002"
    nowhere = "019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b"
    piped = past.call("cancel", "-", "--yes", input="\n".join([*waiting[:2], nowhere]))
    assert piped.code == 3
    assert "2 done, 1 refused" in piped.out
    assert nowhere in piped.err
    assert past.call("cancel", "-", input=waiting[2]).code == 2, "--yes is missing"
    assert past.call("cancel").code == 2
    assert past.call("cancel", waiting[2], "--workflow", "wait").code == 2
    assert past.call("cancel", "--status", "NONSENSE", "--yes").code == 2


def test_reruns_of_many_name_the_new_instances(past: Terminal) -> None:
    failed = ids(past, "--status", "FAILED")
    made = past.call("rerun", "--workflow", "refuse", "--yes", "-o", "json").json
    assert [each["rerunOf"] for each in made["items"]] == failed
    assert len(ids(past, "--workflow", "refuse")) == 4
    refused = past.call("rerun", *failed, "--from", "nowhere")
    assert (refused.code, "TEN-2010" in refused.err) == (2, True), refused.err


def test_retries_and_reruns_of_many_name_the_versions_that_they_use(past: Terminal) -> None:
    failed = ids(past, "--status", "FAILED")
    line = "  version   refuse@1 (the newest), 2 instances\n"
    for action in ("retry", "rerun"):
        assert line in past.call(action, *failed, "--dry-run").out
    rerun = past.call("rerun", *failed, "--input", "{}")
    assert line in rerun.err
    assert "  input     edited\n" in rerun.err
    assert line in past.call("retry", "--workflow", "refuse", "--status", "FAILED", "--yes").err
    seen = past.call("rerun", *failed, "--dry-run", "--version", "2", "-o", "json").json
    [version] = seen["versions"]
    assert (version["definitionVersion"], version["newestVersion"], version["matched"]) == (2, 1, 2)
    assert "version" not in past.call("pause", "--workflow", "wait", "--dry-run").out


def test_one_by_correlation_is_found(past: Terminal) -> None:
    ended = past.call("cancel", "--correlation-id", "c-1", "--yes", "-o", "json").json
    assert ended["matched"] == 1


def test_bulk_operations_are_listed_shown_and_stopped(past: Terminal) -> None:
    empty = past.call("bulk", "list")
    assert (empty.code, "no bulk operations" in empty.err) == (0, True)
    assert past.call("cancel", "--workflow", "wait", "--yes").code == 0
    [listed] = past.call("bulk", "list", "-o", "json").json["items"]
    assert (listed["action"], listed["status"], listed["done"]) == ("cancel", "done", 3)
    id = listed["id"]
    assert past.call("bulk", "list", "-o", "id").out.split() == [id]
    assert past.call("bulk", "show", id, "-o", "json").json == listed
    shown = past.call("bulk", "show", id).out
    assert id in shown
    assert "cancel instances" in shown
    assert past.call("bulk", "stop", id, "-o", "json").json["status"] == "done"
    nowhere = past.call("bulk", "stop", "nothing")
    assert (nowhere.code, "TEN-" in nowhere.err) == (3, True)


def test_stopping_to_watch_a_bulk_operation_names_the_command_that_stops_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(bulk, "say", lambda text, style="": said.append(text))
    monkeypatch.setattr(bulk, "say_command", said.append)
    operation = BulkOperation(
        id="b-1",
        target="instances",
        action="cancel",
        status="running",
        matched=3,
        done=0,
        failed=0,
        failures=(),
        requested_by="me",
    )
    backend = Mock(flag=" --store s", clock=Mock(wait=AsyncMock(return_value=True)))
    watching = bulk.watched(backend, operation, bulk.Outcome(), progress=Mock(), matched=3)
    assert asyncio.run(watching) == 130
    assert "b-1 goes on" in said[0]
    assert said[1] == "tenuto bulk stop b-1 --store s"


def test_a_bulk_operation_that_is_stopped_meanwhile_is_no_success(
    past: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Bulk.put

    async def put_and_stopped(part: Bulk, row: BulkRow) -> BulkRow:
        there = await put(part, row)
        asked = msgspec.json.decode(there.content, type=BulkAsked)
        content = msgspec.json.encode(replace(asked, stopped_by="ada"))
        await part.stop(there.tenant, there.id, content)
        return there

    monkeypatch.setattr(Bulk, "put", put_and_stopped)
    ended = past.call("cancel", "--workflow", "wait", "--yes")
    said = f"⊘ cancel: stopped by ada after 0 of 3 in {past.folder / 'store.db'}\n"
    assert (ended.code, ended.out) == (1, said), ended.err
    as_json = past.call("cancel", "--workflow", "wait", "--yes", "-o", "json")
    told = {name: as_json.json[name] for name in ("status", "stoppedBy", "matched", "done")}
    assert (as_json.code, told) == (
        1,
        {"status": "cancelled", "stoppedBy": "ada", "matched": 3, "done": 0},
    )
    letters_of = past.call("dead-letters", "discard", "--task", "refuse", "--yes")
    assert (letters_of.code, "stopped by ada after 0 of 2" in letters_of.out) == (1, True)
    newest, *_ = past.call("bulk", "list", "-o", "id").out.split()
    assert "stopped by ada after 0 of 2" in past.call("bulk", "show", newest).out
    assert statuses(past, "wait") == ["WAITING_FOR_EVENT"] * 3


def test_declining_to_go_on_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "sys", Mock())
    monkeypatch.setattr(typer, "confirm", Mock(return_value=False))
    with pytest.raises(typer.Exit) as declined:
        bulk.confirm("cancel", "cancel 3 instances")
    assert declined.value.exit_code == 1


@pytest.mark.parametrize(
    "words",
    [
        *("list", "cancel --yes", "retry --dry-run", "rerun --yes"),
        *("dead-letters list", "dead-letters groups", "dead-letters retry --yes"),
    ],
)
def test_a_mistyped_workflow_is_not_found_and_the_one_that_is_meant_is_named(
    past: Terminal, words: str
) -> None:
    ended = past.call(*words.split(), "--workflow", "refsue")
    assert (ended.code, "Did you mean `refuse`?" in ended.err) == (3, True), ended.err


def test_an_action_without_anything_to_do_says_why_and_leads_on(past: Terminal) -> None:
    nothing = past.call("resume", "--workflow", "wait", "--yes")
    assert (nothing.code, "None is PAUSED" in nothing.err) == (0, True)
    assert "tenuto list --workflow wait" in nothing.err
    letters_of = past.call("dead-letters", "discard", "--task", "other", "--yes")
    assert (letters_of.code, "tenuto dead-letters list" in letters_of.err) == (0, True)


@pytest.mark.slow
def test_a_program_that_has_the_store_does_it_one_by_one(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    with in_use(terminal):
        ended = terminal.call("pause", "--status", "WAITING_FOR_EVENT", "--yes", "-o", "json")
        assert (ended.code, ended.json["failed"]) == (0, 0), ended.err
        assert ended.json["done"] == ended.json["matched"] >= 1
        assert terminal.call("cancel", "--status", "PAUSED", "--yes").code == 0


def letters(terminal: Terminal, *words: str) -> list[str]:
    return terminal.call("dead-letters", "list", "-o", "id", *words).out.split()


def test_dead_letters_are_found_by_filters_and_acted_on_all_together(past: Terminal) -> None:
    both = letters(past)
    assert len(both) == 2
    for words in ("--task refuse", "--workflow refuse", "--step reserve", "--code OUT_OF_STOCK"):
        assert letters(past, *words.split()) == both, words
        other = "wait" if "workflow" in words else "other"
        assert letters(past, *words.split()[:1], other) == []
    exactly = "--kind task-failed --workflow refuse --step reserve --code OUT_OF_STOCK"
    assert f"tenuto dead-letters retry {exactly}" in past.call("dead-letters", "groups").err
    edited = past.call("dead-letters", "retry", "@last", "--input", "{}", "--dry-run")
    assert "  input     edited\n" in edited.out
    page = past.call("dead-letters", "list", "--task", "refuse", "--limit", "1", "-o", "json").json
    assert letters(past, "--task", "refuse", "--cursor", page["nextCursor"]) == both[1:]
    seen = past.call("dead-letters", "retry", "--task", "refuse", "--dry-run")
    assert seen.out.strip() == f"retry 2 dead letters (refuse 2), such as {', '.join(both)}"
    one = past.call("dead-letters", "discard", "@last", "--dry-run").out.strip()
    assert one == f"discard 1 dead letter (refuse 1), {both[0]}"
    assert past.call("dead-letters", "discard", "--task", "refuse").code == 2
    assert letters(past) == both
    retried = past.call("dead-letters", "retry", "--task", "refuse", "--yes", "-o", "json")
    assert (retried.code, retried.json["done"], retried.json["failed"]) == (0, 2, 0)


def test_a_bulk_operation_on_dead_letters_is_asked_for_by_its_filter(
    past: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, rows = Bulk.put, list[BulkRow]()

    async def noted(part: Bulk, row: BulkRow) -> BulkRow:
        rows.append(row)
        return await put(part, row)

    monkeypatch.setattr(Bulk, "put", noted)
    assert past.call("dead-letters", "retry", "--step", "reserve", "--yes").code == 0
    [asked] = [msgspec.json.decode(row.content, type=BulkAsked) for row in rows]
    assert asked.which == Which(step_id="reserve")


def test_dead_letters_are_discarded_by_a_filter_or_as_the_last(past: Terminal) -> None:
    both = letters(past)
    assert past.call("dead-letters", "discard", "@last").code == 0
    assert letters(past) == both[1:]
    ended = past.call("dead-letters", "discard", "--code", "OUT_OF_STOCK", "--yes")
    said = f"✓ discard: 1 done in {past.folder / 'store.db'}"
    assert (ended.code, ended.out.strip()) == (0, said)
    assert past.call("dead-letters", "discard", "@last").code == 3
    assert "nothing to discard" in past.call("dead-letters", "discard", "--task", "refuse").out


@pytest.mark.parametrize("words", ["retry", "discard", "retry x --task y", "retry --task y -i 1"])
def test_dead_letters_that_are_not_named_clearly_are_refused(
    terminal: Terminal, words: str
) -> None:
    assert terminal.call("dead-letters", *words.split()).code == 2
