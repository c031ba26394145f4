"""Changes that commands make on a store without a service are lines of its audit log."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest
from rich.console import Console

from tenuto import Client, NotFound, Tenuto, TenutoError
from tenuto.api.registry import OPERATIONS
from tenuto.cli.backends import opened
from tenuto.cli.backends.backend import Backend
from tenuto.cli.backends.recorded import ACTIONS
from tenuto.cli.dev_files import deploy_files, read_files
from tenuto.cli.dev_hints import read_starts, started
from tenuto.cli.views import tables
from tenuto.cli.views.access import audit_table
from tenuto.client.operations import Operations
from tenuto.model.json import Object
from tenuto.model.task_definition import TaskDefinition
from tenuto.workspace import protocol
from tenuto.workspace.protocol import Instance, Workspace
from tenuto.workspace.values import DeadLetterFilter, InstanceFilter, Start
from tests.cli.conftest import WAIT, Terminal, one_of_each
from tests.cli.manual import commands, options_of

Call: TypeAlias = Callable[[Workspace, Instance], Awaitable[object]]

PARTS: dict[type, str] = {
    protocol.Workspace: "",
    protocol.Instance: "instance",
    protocol.Webhooks: "webhooks",
    protocol.Subscriptions: "subscriptions",
    protocol.DeadLetters: "dead_letters",
    protocol.TaskDefinitions: "task_definitions",
    protocol.Schedules: "schedules",
    protocol.Calendars: "calendars",
    protocol.DataSources: "data_sources",
    protocol.DataQueries: "data_queries",
    protocol.Secrets: "secrets",
    protocol.Limits: "limits",
    protocol.Workers: "workers",
    protocol.Approvals: "approvals",
    protocol.Bulk: "bulk",
    protocol.TestRuns: "test_runs",
    protocol.Keys: "keys",
    protocol.Audit: "audit",
}
LOOKS = {
    *("definition", "definition_ids", "definition_page", "newest_definitions"),
    *("instance", "at", "instances", "page", "details", "event", "events", "event_page", "stats"),
    *("id", "status", "state", "context", "waits", "explain", "widget", "history", "logs"),
    *("log_page", "changes", "result", "undo_plan", "queue", "rules"),
    *("get", "list", "groups", "deliveries", "export", "verify"),
    *("preview", "preview_document", "ticks", "tick_page", "uses", "days", "between"),
}
CALCULATES = {"calendars.add"}
UNKNOWN = "019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b"
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
CALENDAR: Object = {"id": "office", "timezone": "UTC", "week": {"mon": ["09:00-17:00"]}}
SOURCE: Object = {"id": "stock", "kind": "sqlite", "file": "stock.db"}
QUERY: Object = {"id": "by-sku", "dataSourceId": "stock", "sql": "SELECT 1 AS one"}
SCHEDULE: Object = {"id": "daily", "cron": "0 9 * * *", "target": {"workflowId": "wait"}}
TASK = TaskDefinition(id="charge", kind="pull")
CALLS: dict[str, Call] = {
    "deploy": lambda space, _: space.deploy({"id": "wait", **WAIT}),
    "save": lambda space, _: space.save({"id": "wait", **WAIT}),
    "start": lambda space, _: space.start("wait", {"id": 1}),
    "start_many": lambda space, _: space.start_many([Start(workflow="wait")]),
    "publish": lambda space, _: space.publish("nothing.waits", {}),
    "publish_all": lambda space, _: space.publish_all([{"pattern": "nothing.waits"}]),
    "instance.pause": lambda _, one: one.pause("stock is counted"),
    "instance.resume": lambda _, one: one.resume(),
    "instance.skip_delay": lambda _, one: one.skip_delay("wait"),
    "instance.retry": lambda _, one: one.retry(),
    "instance.retry_compensation": lambda _, one: one.retry_compensation("wait"),
    "instance.decide": lambda _, one: one.decide("wait", "approved"),
    "instance.rerun": lambda _, one: one.rerun(),
    "instance.cancel": lambda _, one: one.cancel("ordered twice"),
    "webhooks.add": lambda space, _: space.webhooks.add("https://example.com/x", "a.b"),
    "webhooks.change": lambda space, _: space.webhooks.change("w", "https://example.com/x", "a"),
    "webhooks.remove": lambda space, _: space.webhooks.remove("w"),
    "webhooks.resend": lambda space, _: space.webhooks.resend("w"),
    "webhooks.enable": lambda space, _: space.webhooks.enable("w"),
    "subscriptions.add": lambda space, _: space.subscriptions.add(
        "https://example.com/x", "a.b", subscriber_id="s"
    ),
    "subscriptions.remove": lambda space, _: space.subscriptions.remove("s"),
    "subscriptions.resend": lambda space, _: space.subscriptions.resend("s"),
    "subscriptions.enable": lambda space, _: space.subscriptions.enable("s"),
    "dead_letters.retry": lambda space, _: space.dead_letters.retry("d"),
    "dead_letters.discard": lambda space, _: space.dead_letters.discard("d"),
    "task_definitions.add": lambda space, _: space.task_definitions.add(TASK),
    "task_definitions.put": lambda space, _: space.task_definitions.put(TASK),
    "task_definitions.execute": lambda space, _: space.task_definitions.execute("none"),
    "task_definitions.remove": lambda space, _: space.task_definitions.remove("charge"),
    "calendars.save": lambda space, _: space.calendars.save(CALENDAR),
    "calendars.import_dates": lambda space, _: space.calendars.import_dates("office", "x"),
    "calendars.remove": lambda space, _: space.calendars.remove("office"),
    "data_sources.save": lambda space, _: space.data_sources.save(SOURCE),
    "data_sources.test": lambda space, _: space.data_sources.test("stock"),
    "data_queries.save": lambda space, _: space.data_queries.save(QUERY),
    "data_queries.run": lambda space, _: space.data_queries.run("by-sku"),
    "data_queries.remove": lambda space, _: space.data_queries.remove("by-sku"),
    "data_sources.remove": lambda space, _: space.data_sources.remove("stock"),
    "secrets.put": lambda space, _: space.secrets.put("API_KEY", "a value"),
    "secrets.remove": lambda space, _: space.secrets.remove("API_KEY"),
    "limits.set": lambda space, _: space.limits.set({"workflowTypeLimits": {"none": 5}}),
    "limits.promote": lambda space, _: space.limits.promote(UNKNOWN),
    "limits.hold": lambda space, _: space.limits.hold(UNKNOWN),
    "limits.release": lambda space, _: space.limits.release(UNKNOWN),
    "limits.add_rule": lambda space, _: space.limits.add_rule("ctx.input.n === 1", hold=True),
    "limits.remove_rule": lambda space, _: space.limits.remove_rule("none"),
    "schedules.save": lambda space, _: space.schedules.save(SCHEDULE),
    "schedules.pause": lambda space, _: space.schedules.pause("daily"),
    "schedules.resume": lambda space, _: space.schedules.resume("daily"),
    "schedules.trigger": lambda space, _: space.schedules.trigger("daily"),
    "schedules.backfill": lambda space, _: space.schedules.backfill("daily", LONG_AGO, LONG_AGO),
    "schedules.remove": lambda space, _: space.schedules.remove("daily"),
    "bulk.start": lambda space, _: space.bulk.start("pause", InstanceFilter(workflow="none")),
    "bulk.start_on_dead_letters": lambda space, _: space.bulk.start_on_dead_letters(
        "discard", DeadLetterFilter(workflow="none")
    ),
    "bulk.cancel": lambda space, _: space.bulk.cancel("b"),
    "test_runs.start": lambda space, _: space.test_runs.start({"steps": []}),
    "test_runs.publish": lambda space, _: space.test_runs.publish("t", {"pattern": "a.b"}),
    "test_runs.stop": lambda space, _: space.test_runs.stop("t"),
    "keys.create": lambda space, _: space.keys.create("build", role="viewer"),
    "keys.revoke": lambda space, _: space.keys.revoke("k"),
    "remove_definition": lambda space, _: space.remove_definition("none"),
}
OF_KEYS = {"keys.create": "create_key", "keys.revoke": "revoke_key"}


def named(part: type, method: str) -> str:
    return f"{PARTS[part]}.{method}".lstrip(".")


def action_of(call: str) -> str:
    actions = {
        named(part, method): action
        for part, methods in ACTIONS.items()
        for method, action in methods.items()
    }
    return (actions | OF_KEYS)[call]


async def lines(backend: Backend) -> list[Object]:
    found = (await backend.space.audit.page(limit=1_000)).items[::-1]
    # Without those of the ends of bulk operations.
    return [each for each in found if each["kind"] != "system"]


def test_every_method_of_the_workspace_looks_or_is_recorded() -> None:
    methods = {
        named(part, name)
        for part in PARTS
        for name, member in vars(part).items()
        if inspect.isfunction(member) and not name.startswith("_") and name not in LOOKS
    }
    assert methods - CALCULATES == {*CALLS}
    assert {action_of(each) for each in CALLS} <= {each.name for each in OPERATIONS}


@pytest.mark.slow  # every change, most of them with an engine of their own
@pytest.mark.asyncio
async def test_every_change_on_a_store_is_asked_for_and_has_an_outcome(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path / 'store.db'}") as backend:
        space = backend.space
        await space.save({"id": "wait", **WAIT})
        one = await space.start("wait", {"id": 7})
        number = len(await lines(backend))
        for name, call in CALLS.items():
            refused = None
            try:
                await call(space, one)
            except TenutoError as error:
                refused = error
            found = (await lines(backend))[number:]
            number += len(found)
            assert {each["action"] for each in found} == {action_of(name)}, name
            outcomes = [each["outcome"] for each in found]
            assert outcomes == ["asked", "done" if refused is None else "failed"], name
            assert len({each["requestId"] for each in found}) == 1, name
            assert {(each["actor"], each["kind"]) for each in found} == {("cli", "local")}, name
            if refused is not None:
                assert found[-1]["after"] == {"code": refused.code}, name
        await space.publish("nothing.waits", {}, dry_run=True)
        assert len(await lines(backend)) == number, "a dry run changes nothing"


@pytest.mark.asyncio
async def test_a_line_has_the_status_before_and_after_and_the_reason(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path / 'store.db'}") as backend:
        with pytest.raises(TenutoError):
            await backend.space.start("wait")
        saved = await backend.space.save({"id": "wait", **WAIT})
        one = await backend.space.start("wait", {"id": 7})
        backend.because("stock is counted")
        await one.pause()
        backend.because(None)
        await one.resume()
        with pytest.raises(NotFound):
            await backend.space.at("019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b").resume()
        asked, put, begun, started, why, paused, _, resumed, *_ = await lines(backend)
    assert (asked["target"], put["after"]) == ("wait", {"id": "wait", "version": saved.version})
    assert (begun["target"], started["after"]) == ("wait", {"instanceId": one.id})
    assert why["after"] == {"reason": "stock is counted"}
    assert paused["target"] == one.id
    assert paused["before"] == {"status": "WAITING_FOR_EVENT"}
    assert paused["after"] == {"reason": "stock is counted", "status": "PAUSED"}
    assert resumed["after"] == {"status": "WAITING_FOR_EVENT"}


def test_a_narrow_terminal_shows_the_reason_of_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(width=60, file=StringIO(), force_terminal=True, color_system=None)
    monkeypatch.setattr(tables, "data", lambda: console)
    line: Object = {
        "number": 1,
        "at": "2030-01-31T12:00:00.000Z",
        "outcome": "done",
        "kind": "local",
        "actor": "cli",
        "action": "cancel_instance",
        "target": "i",
        "source": "",
        "requestId": "9d992fe22d3eba7e",
        "before": {"status": "WAITING_FOR_EVENT"},
        "after": {"status": "CANCELLED", "should": "x" * 100, "reason": "ordered twice"},
    }
    assert 'ordered twice: {"status"' in audit_table([line]).plain


FLOW = {"id": "double", "steps": [{"stepId": "twice", "type": "TASK", "taskId": "double"}]}


PAID = {"stepId": "paid", "type": "EVENT_WAIT", "eventPattern": "paid"}


def lines_in(terminal: Terminal) -> list[tuple[str, str, str, object]]:
    items = terminal.call("audit", "list", "-o", "json").json["items"]
    names = ("action", "outcome", "target", "after")
    return [tuple(each[name] for name in names) for each in items[::-1]]


def test_run_records_what_it_saves_and_starts_and_a_reason(terminal: Terminal) -> None:
    terminal.write("double.json", FLOW)
    ended = terminal.run("run", "double.json", "--input", "4", "--reason", "a trial", "-o", "json")
    id = ended.json["id"]
    why = {"reason": "a trial"}
    assert lines_in(terminal) == [
        ("put_workflow", "asked", "double", why),
        ("put_workflow", "done", "double", {**why, "version": 1}),
        ("start_workflow", "asked", "double", why),
        ("start_workflow", "done", "double", {**why, "instanceId": id}),
    ]
    terminal.run("run", "double.json", "--input", "4")
    more = [action for action, *_ in lines_in(terminal)[4:]]
    assert more == ["start_workflow", "start_workflow"], "the same content is not saved again"


@pytest.mark.asyncio
async def test_dev_records_what_it_saves_and_starts_and_a_reload_nothing(tmp_path: Path) -> None:
    file = tmp_path / "wait.json"
    file.write_bytes(msgspec.json.encode({"id": "wait", "steps": [PAID]}))
    url = f"sqlite:///{tmp_path / 'store.db'}"
    said: list[str] = []
    begin = read_starts(['wait={"id": 7}'])
    for _ in range(2):
        async with Tenuto(url) as app:
            await deploy_files(app, read_files([], [file], "none"), said.append, "none")
            await started(app, begin)
    async with opened(url) as backend:
        found = [(each["action"], each["outcome"]) for each in await lines(backend)]
    assert found == [
        ("put_workflow", "asked"),
        ("put_workflow", "done"),
        ("start_workflow", "asked"),
        ("start_workflow", "done"),
    ]


@pytest.mark.asyncio
async def test_dev_records_schedules_and_calendars_and_a_reload_nothing(tmp_path: Path) -> None:
    wait = tmp_path / "wait.json"
    wait.write_bytes(msgspec.json.encode({"id": "wait", "steps": [PAID]}))
    office, daily = tmp_path / "office.json", tmp_path / "daily.json"
    office.write_bytes(msgspec.json.encode(CALENDAR))
    daily.write_bytes(msgspec.json.encode(SCHEDULE))
    url = f"sqlite:///{tmp_path / 'store.db'}"
    said: list[str] = []

    async def save() -> None:
        async with Tenuto(url) as app:
            read = read_files([], [wait, office, daily], "none")
            await deploy_files(app, read, said.append, "none")

    await save()
    await save()
    daily.write_bytes(msgspec.json.encode({**SCHEDULE, "cron": "0 8 * * *"}))
    await save()
    async with opened(url) as backend:
        found = [each for each in await lines(backend) if each["outcome"] == "done"]
    assert [(each["action"], each["target"]) for each in found] == [
        ("put_calendar", "office"),
        ("put_workflow", "wait"),
        ("put_schedule", "daily"),
        ("put_schedule", "daily"),
    ]


@pytest.mark.asyncio
async def test_dev_saves_data_sources_before_queries_and_a_reload_nothing(tmp_path: Path) -> None:
    by_sku, stock, wait = (tmp_path / f"{name}.json" for name in ("by-sku", "stock", "wait"))
    by_sku.write_bytes(msgspec.json.encode({"dataSourceId": "stock", "sql": "SELECT 1 AS one"}))
    stock.write_bytes(msgspec.json.encode({"kind": "sqlite", "file": "stock.db"}))
    wait.write_bytes(msgspec.json.encode({"id": "wait", "steps": [PAID]}))
    url = f"sqlite:///{tmp_path / 'store.db'}"
    said: list[str] = []

    async def save() -> None:
        async with Tenuto(url) as app:
            read = read_files([], [wait, by_sku, stock], "none")
            await deploy_files(app, read, said.append, "none")

    await save()
    await save()
    stock.write_bytes(msgspec.json.encode({"kind": "sqlite", "file": "other.db"}))
    await save()
    assert said[:3] == [
        f"data source stock@1 from {stock}",
        f"data query by-sku@1 from {by_sku}",
        f"wait@1 from {wait}",
    ]
    async with opened(url) as backend:
        found = [each for each in await lines(backend) if each["outcome"] == "done"]
    assert [(each["action"], each["target"]) for each in found] == [
        ("put_data_source", "stock"),
        ("put_data_query", "by-sku"),
        ("put_workflow", "wait"),
        ("put_data_source", "stock"),
    ]


@pytest.mark.asyncio
async def test_a_change_is_called_alike_at_a_service_and_on_a_store(tmp_path: Path) -> None:
    """Also documents that name their id otherwise, or not at all."""
    named: Object = {name: value for name, value in SCHEDULE.items() if name != "id"}
    documents = {
        "schedules.save of a scheduleId": lambda space, _: space.schedules.save(
            {"scheduleId": "hourly", **named}
        ),
        "schedules.save without an id": lambda space, _: space.schedules.save(named),
        "save without an id": lambda space, _: space.save(WAIT),
    }
    calls: dict[str, Call] = {**CALLS, **documents}
    async with opened(f"sqlite:///{tmp_path / 'store.db'}") as backend:
        for name in documents:
            with suppress(TenutoError):
                await calls[name](backend.space, backend.space.at(UNKNOWN))
        found = [str(each["action"]) for each in await lines(backend)]
        on_a_store = dict(zip(documents, found[::2], strict=True))
    asked: list[str] = []
    client = Client("http://127.0.0.1:1", "tnt_x", patience=0)

    class Recorded(Operations):
        def __getattribute__(self, name: str) -> object:
            if name in {each.name for each in OPERATIONS}:
                asked.append(name)
            return super().__getattribute__(name)

    client.operations.__class__ = Recorded
    async with client:
        for name, call in calls.items():
            asked.clear()
            with suppress(TenutoError, TypeError):
                await call(client, client.at(UNKNOWN))
            if name == "remove_definition":
                # It reads a header of the answer, and so sends the request itself.
                continue
            expected = on_a_store.get(name) or action_of(name)
            assert asked == [expected], name


@pytest.mark.parametrize(
    ("words", "action"),
    [
        (("show", "@last"), "get_instance"),
        (("history", "@last"), "get_history"),
        (("list",), "list_instances"),
        (("events", "list"), "list_events"),
        (("dead-letters", "list"), "list_dead_letters"),
        (("dead-letters", "show", "@last"), "get_dead_letter"),
        (("eval", "ctx", "--instance", "@last"), "get_instance"),
    ],
)
def test_masked_values_that_are_shown_have_a_line(
    terminal: Terminal, words: tuple[str, ...], action: str
) -> None:
    terminal.past(one_of_each)
    before = len(lines_in(terminal))
    assert terminal.call(*words).code == 0
    assert len(lines_in(terminal)) == before
    ended = terminal.call(*words, "--reveal")
    assert ended.code == 0, ended.err
    [line] = lines_in(terminal)[before:]
    assert (line[0], line[1], line[3]) == (action, "done", {"revealed": True})
    assert (line[2] == "") == (words[-1] == "list")


def test_every_command_that_reveals_is_in_the_table_of_lines() -> None:
    """Also `events show`, whose event a test sends."""
    revealing = {name for name in commands() if "--reveal" in options_of(name)}
    assert revealing == {
        *("show", "history", "list", "events list", "events show"),
        *("dead-letters list", "dead-letters show", "eval"),
    }


def test_an_event_that_is_revealed_has_a_line(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    terminal.call("events", "send", "user.made", '{"password": "hunter22"}', "--id", "e-1")
    before = len(lines_in(terminal))
    assert "hunter22" not in terminal.call("events", "show", "e-1").out
    assert "hunter22" in terminal.call("events", "show", "e-1", "--reveal").out
    assert lines_in(terminal)[before:] == [("get_event", "done", "e-1", {"revealed": True})]
