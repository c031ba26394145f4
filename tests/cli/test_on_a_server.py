"""Every command that works on a store works on a server that has one, and says the same."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tenuto.api.config import ServiceConfig
from tenuto.cli import doctor
from tenuto.client.connection import Answered, Ask, Connection
from tenuto.model.errors import StoreUnavailable
from tenuto.model.status import Status, read_status
from tests.api.conftest import DOUBLE, REFUSE, WAIT, served
from tests.cli.conftest import Ended
from tests.cli.whole import app
from tests.client.strangers import AWAY, STARTED, Answer, answering, reply

Do = Callable[..., Ended]

APPROVE = {
    "id": "approve",
    "steps": [{"stepId": "review", "type": "APPROVAL", "assignees": {"users": ["ann"]}}],
}


@contextmanager
def a_server(config: ServiceConfig | None = None) -> Iterator[str]:
    """A service in a thread of its own: commands have their loop in this one."""
    loop, is_up = asyncio.new_event_loop(), threading.Event()
    urls: list[str] = []
    stop = asyncio.Event()

    async def serve() -> None:
        async with served(config=config) as caller:
            for document in (DOUBLE, WAIT, REFUSE):
                await caller.app.deploy(document)
            urls.append(caller.url)
            is_up.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert is_up.wait(60)
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with a_server() as url:
        yield url


@pytest.fixture
def do(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Do:
    monkeypatch.chdir(tmp_path)

    def run(*words: str, **environment: str) -> Ended:
        result = CliRunner().invoke(
            app,
            list(words),
            prog_name="tenuto",
            env={"TENUTO_SERVER": server, "TENUTO_STORE": None, "COLUMNS": "200", **environment},
        )
        assert not (tmp_path / ".tenuto").exists(), "no store is opened"
        return Ended(result.exit_code, result.stdout, result.stderr)

    return run


def started(do: Do, workflow: str, input: object = None) -> str:
    ended = do("start", workflow, "-i", json.dumps(input), "-o", "json")
    assert ended.code == 0, ended.err
    return str(ended.json["instanceId"])


def test_run_deploys_starts_and_follows(do: Do, tmp_path: Path) -> None:
    file = tmp_path / "again.json"
    file.write_text(json.dumps({**DOUBLE, "id": "again"}))
    ended = do("run", str(file), "--input", '{"number": 4}')
    assert (ended.code, ended.json) == (0, 8), ended.err
    assert "✓ COMPLETED" in ended.err
    file.write_text(json.dumps({**REFUSE, "id": "never"}))
    ended = do("run", str(file))
    assert ended.code == 1
    assert "OUT_OF_STOCK" in ended.err


def test_deploy_tells_versions_and_errors(do: Do, tmp_path: Path) -> None:
    file = tmp_path / "deployed.json"
    file.write_text(json.dumps({**DOUBLE, "id": "deployed"}))
    assert do("deploy", str(file)).out == "✓ deployed@1\n"
    [item] = do("deploy", str(file), "-o", "json").json["items"]
    assert item == {"id": "deployed", "version": 1, "problems": []}
    file.write_text('{"steps": []}')
    assert do("deploy", str(file)).code == 2


def test_start_follows_and_says_what_was_meant(do: Do) -> None:
    ended = do("start", "double", "-i", '{"number": 5}', "--follow")
    assert (ended.code, ended.json) == (0, 10)
    ended = do("start", "doubel")
    assert ended.code == 3
    assert "Did you mean" in ended.err
    assert "double" in ended.err
    assert do("start", "double", "-i", "{}").code == 2
    ended = do("start", "wait", "-i", '{"orderId": "t"}', "--follow", "--timeout", "0.1")
    assert ended.code == 124
    assert "It goes on" in ended.err


def test_list_finds_by_values_as_in_a_store(do: Do, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    file.write_text(json.dumps({**WAIT, "id": "found", "options": {"searchable": ["input.n"]}}))
    assert do("deploy", str(file)).code == 0
    id = started(do, "found", {"n": 7})
    asked = ["list", "--workflow", "found", "-o", "id", "--variable"]
    assert do(*asked, "input.n=7").out.split() == [id]
    assert do(*asked, "input.n=8").out.split() == []
    refused = do(*asked, "n=7")
    assert refused.code == 2
    assert "options.searchable" in refused.err


def test_looking_shows_what_a_store_shows(do: Do) -> None:
    id = started(do, "wait", {"orderId": "look"})
    assert id in do("list", "--workflow", "wait", "-o", "id").out
    assert do("list", "--status", "WAITING_FOR_EVENT").out.count("wait@1") >= 1
    shown = do("show", id[:23], "--history", "--undo-plan")
    assert shown.code == 0, shown.err
    assert "waits  for payment.received" in shown.out
    assert "INPUT_SET" in shown.out
    assert do("show", "@last", "-o", "json").json["id"] == id
    assert "INPUT_SET" in do("history", id).out
    lines = do("history", id, "-o", "json").out.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert do("show", "019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b").code == 3


def test_lists_of_a_server_are_those_of_a_store(do: Do, tmp_path: Path) -> None:
    assert "double" in do("workflows", "list", "-o", "id").out.split()
    first = do("workflows", "list", "--limit", "1", "-o", "json").json
    second = do("workflows", "list", "--cursor", first["nextCursor"], "-o", "json").json
    assert first["items"][0]["id"] < second["items"][0]["id"]
    assert do("events", "send", "listed", "{}", "--id", "l-1").code == 0
    assert do("events", "list", "--pattern", "listed", "-o", "id").out == "l-1\n"
    assert do("tasks", "list").code == 0
    assert do("dead-letters", "list", "-o", "json").json["nextCursor"] is None
    assert "instances" in do("stats").out
    assert do("workflows", "show", "double", "-o", "json").json["definition"]["id"] == "double"
    file = tmp_path / "removed.json"
    file.write_text(json.dumps({**DOUBLE, "id": "removed"}))
    assert do("deploy", str(file)).code == 0
    assert do("workflows", "remove", "removed").code == 0


def test_many_are_acted_on_and_foreseen_at_a_server(do: Do, tmp_path: Path) -> None:
    file = tmp_path / "many.json"
    file.write_text(json.dumps({**WAIT, "id": "many"}))
    assert do("deploy", str(file)).code == 0
    ids = [started(do, "many", {"orderId": n}) for n in range(2)]
    assert "cancel 2 instances (many 2)" in do("cancel", "--workflow", "many", "--dry-run").out
    assert do("pause", "--workflow", "many").code == 2, "--yes is missing"
    paused = do("pause", "--workflow", "many", "--yes", "-o", "json").json
    assert (paused["done"], paused["failed"]) == (2, 0)
    assert do("resume", *ids).out.startswith("✓ resume: 2 done in http")
    assert do("rerun", ids[0], "--from", "paid", "--dry-run", "-o", "json").json["again"]
    assert do("rerun", "--workflow", "many", "--status", "WAITING_FOR_EVENT", "--yes").code == 0
    assert "✓ cancel: 4 done in http" in do("cancel", "--workflow", "many", "--yes").out
    assert do("bulk", "list", "-o", "json").json["items"][0]["done"] == 4
    failed = started(do, "refuse", {})
    assert do("logs", failed, "-f").code == 0
    assert "kept" in do("retry", failed, "--dry-run").out


def test_history_goes_on_until_the_end(do: Do) -> None:
    id = started(do, "double", {"number": 1})
    ended = do("history", id, "-f")
    assert ended.code == 0
    assert '"to":"COMPLETED"' in ended.out


@pytest.mark.parametrize("words", [("history", "-f"), ("run", "--timeout", "60", "--instance")])
def test_what_is_followed_is_told_by_the_server_and_not_asked_for(
    do: Do, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """A stream that breaks is asked for anew, from the last message that came."""
    asked: list[Ask] = []
    lines = Connection.lines

    async def breaking(self: Connection, ask: Ask) -> AsyncGenerator[str, None]:
        asked.append(ask)
        if len(asked) == 1:
            raise StoreUnavailable("it broke")
        body = {"pattern": "payment.received", "payload": {"orderId": words[0]}}
        await self.ask(Ask("POST", "/events", body=body), dict[str, object])
        async for line in lines(self, ask):
            yield line

    id = started(do, "wait", {"orderId": words[0]})
    monkeypatch.setattr(Connection, "lines", breaking)
    followed = do(*words, id)
    assert followed.code == 0, followed.err
    assert len(asked) == 2
    assert all(each.path.endswith(f"/instances/{id}/stream") for each in asked)


@pytest.mark.parametrize(
    "words",
    [("history", "-f"), ("logs", "-f"), ("run", "--follow", "--timeout", "60", "--instance")],
)
def test_who_follows_is_not_sent_away_by_a_restart(
    do: Do, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """A service may be away for a minute; who only asks is told so sooner."""
    id = started(do, "wait", {"orderId": f"again {words[0]}"})
    once, lines, refused = Connection._once, Connection.lines, 0
    is_away = False

    async def restarting(self: Connection, ask: Ask) -> AsyncGenerator[str, None]:
        nonlocal is_away
        if not refused:
            # Before: what is asked beside it would be answered with all that it leads to.
            is_away = True
            body = {"pattern": "payment.received", "payload": {"orderId": f"again {words[0]}"}}
            await self.ask(Ask("POST", "/events", body=body), dict[str, object])
        async for line in lines(self, ask):
            yield line

    async def away(self: Connection, ask: Ask, server: str, silence: float | None) -> Answered:
        nonlocal refused
        if is_away and refused < 3 and ask.method == "GET":
            refused += 1
            raise StoreUnavailable("nobody answers", code="TEN-4030")
        return await once(self, ask, server, silence)

    monkeypatch.setattr("tenuto.cli.backends.server.PATIENCE", 0)
    monkeypatch.setattr(Connection, "lines", restarting)
    monkeypatch.setattr(Connection, "_once", away)
    followed = do(*words, id)
    assert (followed.code, refused) == (0, 3), followed.err


def test_near_misses_are_shown(do: Do) -> None:
    id = started(do, "wait", {"orderId": "near"})
    do("events", "send", "payment.received", '{"orderId": "far"}')
    shown = do("show", id)
    assert 'was "far" === "near"' in shown.out, shown.out


def test_instances_take_commands(do: Do) -> None:
    id = started(do, "wait", {"orderId": "commands"})
    assert "PAUSED" in do("pause", id, "--reason", "lunch").out
    assert do("resume", id, "--reason", "Mahlzeit: müde", "-o", "json").json["id"] == id
    done, asked = do("audit", "list", "--action", "resume_instance", "-o", "json").json["items"][:2]
    assert asked["after"] == {"reason": "Mahlzeit: müde"}
    assert done["after"] == {"reason": "Mahlzeit: müde", "status": "WAITING_FOR_EVENT"}
    again = do("rerun", id, "-o", "json").json
    assert again["rerunOf"] == id
    cancelled = do("cancel", id, "--reason", "enough")
    assert cancelled.code == 0
    assert do("cancel", id).code == 0, "asking again is no mistake"
    assert do("pause", id).code == 4
    shown = do("show", id)
    assert "enough" in shown.out


def test_approvals_are_decided(do: Do, tmp_path: Path) -> None:
    (tmp_path / "approve.json").write_text(json.dumps(APPROVE))
    assert do("deploy", "approve.json").code == 0
    id = started(do, "approve")
    ended = do("decide", id, "review", "approved", "--by", "ann")
    assert "✓ review approved by ann" in ended.out
    maybe = do("decide", id, "review", "maybe", "--by", "ann").err
    assert "Write one of approved, rejected." in maybe
    assert "enum" not in maybe
    assert do("decide", id, "review", "rejected", "--by", "ann").code == 4


def test_events_are_sent_and_shown(do: Do, tmp_path: Path) -> None:
    id = started(do, "wait", {"orderId": "sent"})
    dry = do("events", "send", "payment.received", '{"orderId": "sent"}', "--dry-run")
    assert f"resumed  {id}" in dry.out
    sent = do("events", "send", "payment.received", '{"orderId": "sent"}', "--id", "e-sent")
    assert "1 wait resumed" in sent.out
    again = do("events", "send", "payment.received", '{"orderId": "sent"}', "--id", "e-sent")
    assert "sent before" in again.out
    assert id in do("events", "show", "e-sent").out
    assert do("events", "show", "e-sent", "-o", "json").json["resumed"] == 1
    assert do("events", "show", "nothing").code == 3
    (tmp_path / "events.json").write_text('[{"pattern": "a.b"}, {"pattern": "workflow.x"}]')
    ended = do("events", "send", "--from", "events.json")
    assert ended.code == 2
    assert "stored" in ended.out


def test_dead_letters_are_looked_at_tried_again_and_discarded(do: Do) -> None:
    id = started(do, "refuse")
    do("history", id, "-f")
    assert id in do("dead-letters", "list").out
    (letter,) = [
        each for each in do("dead-letters", "list", "-o", "id").out.split() if each.startswith(id)
    ]
    assert "OUT_OF_STOCK" in do("dead-letters", "show", letter).out
    assert do("dead-letters", "retry", letter).code == 0
    do("history", id, "-f")
    (letter,) = [
        each for each in do("dead-letters", "list", "-o", "id").out.split() if each.startswith(id)
    ]
    assert do("dead-letters", "discard", letter).code == 0
    assert do("dead-letters", "show", letter).code == 3


def test_listeners_are_kept(do: Do) -> None:
    added = do("webhooks", "add", "https://example.com/h", "order.**", "-o", "json").json
    assert added["secret"]
    assert added["id"] in do("webhooks", "list").out
    assert do("webhooks", "enable", added["id"]).code == 0
    assert do("webhooks", "remove", added["id"]).code == 0
    assert do("webhooks", "remove", added["id"]).code == 3
    ended = do(
        "subscriptions", "add", "https://example.com/s", "a.b", "--subscriber", "shop", "-o", "json"
    )
    assert do("subscriptions", "remove", ended.json["id"]).code == 0


def test_a_store_and_a_server_are_not_named_together(do: Do, server: str, tmp_path: Path) -> None:
    ended = do("list", "--store", "sqlite:///x.db", "--server", server)
    assert ended.code == 2
    assert "--store, --server" in ended.err
    assert do("list", TENUTO_STORE="sqlite:///x.db").code == 2
    typed = do("list", "--store", f"sqlite:///{tmp_path / 'none.db'}")
    assert typed.code == 5, "what is typed counts before what the environment says"
    assert do("list", "--server", server, TENUTO_STORE="sqlite:///x.db").code == 0
    assert do("run", "--outstanding").code == 2


@pytest.mark.parametrize("command", ["verify", "migrate", "reindex", "prune"])
def test_what_works_on_a_store_alone_refuses_a_server(
    do: Do, server: str, tmp_path: Path, command: str
) -> None:
    """Else it would do so to another store than the one that was meant."""
    meant = do(command)
    assert (meant.code, "works on a store" in meant.err) == (2, True), meant
    store = f"sqlite:///{tmp_path / 'own.db'}"
    typed = do(command, "--server", server, "--store", store)
    assert (typed.code, "--server" in typed.err) == (2, True), typed
    assert do("migrate", "--store", store).code == 0
    assert do(command, "--store", store).code == 0, "the store that is typed is the one meant"
    assert do(command, TENUTO_STORE=store).code == 0


@pytest.mark.parametrize("words", [("list",), ("show", "@last"), ("start", "double")])
def test_that_nobody_is_there_exits_5(
    do: Do, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenuto.cli.backends.server.PATIENCE", 0.0)
    ended = do(*words, TENUTO_SERVER="http://127.0.0.1:1")
    assert ended.code == 5
    assert "TEN-4030" in ended.err


def test_an_address_that_is_none_exits_2(do: Do) -> None:
    assert do("list", TENUTO_SERVER="nowhere").code == 2


def test_a_command_that_is_nearly_one_is_told_from_nothing(do: Do) -> None:
    ended = do("strat", "double")
    assert ended.code == 2
    assert "start" in ended.err


def test_the_doctor_finds_nothing_wrong_with_a_server_that_is_well(do: Do) -> None:
    ended = do("doctor", "-o", "json")
    assert ended.code == 0, ended.out
    states = {each["what"]: each["state"] for each in ended.json["findings"]}
    assert states == dict.fromkeys(("python", "server", "clock", "access", "limits", "disk"), "ok")


def test_the_doctor_says_what_to_do_about_a_server_that_is_away(
    do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenuto.cli.backends.server.PATIENCE", 0.0)
    ended = do("doctor", TENUTO_SERVER="http://127.0.0.1:1")
    assert (ended.code, ended.err) == (5, "")
    assert "See whether the service runs" in ended.out
    assert "tenuto doctor" not in ended.out
    assert "✗ server    TEN-4030" in ended.out


def test_the_doctor_tells_of_connections_that_were_refused() -> None:
    page = """tenuto_connections_limit 768.0
tenuto_connections_open 768.0
tenuto_connections_refused_total 1.2e+03
"""
    found = doctor._connections(page)
    assert (found.state, found.message) == (
        *("warning", "768 of 768 connections are open, 1,200 were refused"),
    )


def test_the_doctor_compares_versions_and_clocks(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenuto.cli.doctor.__version__", "9.9.9")
    monkeypatch.setattr("tenuto.cli.doctor._FAR", timedelta(days=-1))
    ended = do("doctor", "-o", "json")
    assert ended.code == 0, "a warning is no problem"
    warned = {each["what"] for each in ended.json["findings"] if each["state"] == "warning"}
    assert warned == {"server", "clock"}
    assert all(each["advice"] for each in ended.json["findings"] if each["state"] == "warning")


def test_the_audit_log_is_listed_page_after_page(do: Do) -> None:
    for number in range(4):
        started(do, "double", {"number": number})
    first = do("audit", "list", "--limit", "2", "-o", "json").json
    again = do("audit", "list", "--limit", "2", "--cursor", first["nextCursor"], "-o", "json").json
    numbers = [each["number"] for page in (first, again) for each in page["items"]]
    assert numbers == list(range(numbers[0], numbers[0] - 4, -1))
    whole = do("audit", "list", "--limit", "2", "--all", "-o", "json").json
    assert [each["number"] for each in whole["items"]] == list(range(numbers[0], 0, -1))
    assert whole["nextCursor"] is None
    assert f"--cursor {first['nextCursor']}" in do("audit", "list", "--limit", "2").err


def test_the_audit_log_of_a_server_is_proved_there(do: Do) -> None:
    started(do, "double", {"number": 1})
    proved = do("audit", "verify", "-o", "json")
    assert proved.code == 0, proved.err
    assert proved.json["lines"] > 0


def test_a_workflow_that_is_not_there_is_to_be_deployed(do: Do) -> None:
    ended = do("start", "zzz")
    assert (ended.code, "`tenuto deploy FILE`" in ended.err) == (3, True)
    assert re.search(r"Deployed are .*\bdouble\b", " ".join(ended.err.split()))


def test_the_name_of_a_workflow_is_not_the_id_of_an_instance(do: Do) -> None:
    started(do, "wait", {"orderId": "named"})
    ended = do("show", "wait")
    assert (ended.code, "`tenuto list --workflow wait`" in ended.err) == (2, True), ended.err


def test_a_failed_task_is_retried_there_with_another_input(do: Do) -> None:
    id = started(do, "refuse")
    do("history", id, "--follow")
    retried = do("retry", id, "--input", '{"less": 1}', "-o", "json")
    assert (retried.code, retried.json["inputEdited"]) == (0, True), retried.err
    do("history", id, "--follow")
    step = do("show", id, "--step", retried_step(do, id), "-o", "json").json
    assert step["input"] == {"less": 1}


def retried_step(do: Do, id: str) -> str:
    return str(do("show", id, "-o", "json").json["lastError"]["stepId"])


def test_masked_values_that_are_shown_have_lines_at_the_server(do: Do) -> None:
    id = started(do, "wait", {"orderId": "revealed", "password": "hunter22"})
    target = f"/api/v1/instances/{id}/snapshot"
    assert "hunter22" not in do("show", id).out
    assert do("audit", "list", "--target", target, "-o", "json").json["items"] == []
    assert "hunter22" in do("show", id, "--reveal").out
    [line] = do("audit", "list", "--target", target, "-o", "json").json["items"]
    assert (line["action"], line["after"]) == ("get_snapshot", {"revealed": True})


@contextmanager
def a_stranger(answer: Answer) -> Iterator[str]:
    """A server that answers as it is told, in a thread of its own."""
    loop, is_up, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    urls: list[str] = []

    async def serve() -> None:
        async with answering(answer) as url:
            urls.append(url)
            is_up.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert is_up.wait(60)
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@pytest.mark.parametrize("words", [(), ("-o", "json"), ("--follow",)])
def test_a_start_that_was_accepted_is_told_whatever_comes_next(
    do: Do, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("tenuto.cli.backends.server.PATIENCE", 0)

    def answer(head: str, body: bytes) -> bytes:
        is_start = head.split(" ")[1].partition("?")[0].endswith("/start")
        return reply(201, STARTED) if is_start else reply(503, AWAY)

    with a_stranger(answer) as url:
        ended = do("start", "order", *words, TENUTO_SERVER=url)
    assert ended.code == 7
    assert STARTED["instanceId"] in ended.out
    assert "Do not start it again" in ended.err
    if "json" in words:
        assert ended.json == {"instanceId": STARTED["instanceId"], "status": None}


def test_who_shows_no_key_is_told_where_to_put_one(do: Do) -> None:
    def answer(head: str, body: bytes) -> bytes:
        said = {"status": 401, "code": "TEN-5010", "detail": "who?", "advice": "Send the header"}
        return reply(401, said)

    with a_stranger(answer) as url:
        ended = do("list", TENUTO_SERVER=url)
        assert (ended.code, "TENUTO_KEY" in ended.err, "header" in ended.err) == (6, True, False)
        assert "right one" in do("list", "--api-key", "tnt_x", TENUTO_SERVER=url).err


def test_keys_that_lock_out_and_keys_that_cannot_show_are_told() -> None:
    """The first key of an open server ends its openness; one without workflows:read sees half."""
    with a_server() as url:

        def ask(*words: str) -> Ended:
            result = CliRunner().invoke(app, [*words, "--server", url], prog_name="tenuto")
            return Ended(result.exit_code, result.stdout, result.stderr)

        id = ask("start", "wait", "-i", '{"orderId": 1}', "-o", "json").json["instanceId"]
        words = ("keys", "create", "b", "--role", "operator", "--scope", "instances:*")
        refused = ask(*words)
        assert (refused.code, "--yes" in refused.err, refused.out) == (2, True, "")
        made = ask(*words, "--yes")
        assert "may not make others" in made.err
        key = made.out.split()[-1]
        ended = ask("show", id, "--api-key", key)
        assert (ended.code, "workflows:read" in ended.err) == (6, True)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Ask]:
    """The requests that commands send."""
    found: list[Ask] = []
    send = Connection.send

    async def counted(connection: Connection, ask: Ask) -> Answered:
        found.append(ask)
        return await send(connection, ask)

    monkeypatch.setattr(Connection, "send", counted)
    return found


@pytest.mark.parametrize("words", ["--step twice", "--history"])
def test_the_log_is_asked_for_once(do: Do, words: str, asked: list[Ask]) -> None:
    id = started(do, "double", {"number": 1})
    asked.clear()
    assert do("show", id, *words.split(), "-o", "json").code == 0
    assert sum(each.path.endswith("/history") for each in asked) == 1


@pytest.mark.parametrize("words", ["show", "show -o json", "explain"])
def test_an_instance_is_shown_without_its_log(do: Do, words: str, asked: list[Ask]) -> None:
    """A log may have 100,000 entries: the server has folded it."""
    id = started(do, "wait", {"orderId": "x" * 20_000})
    command, *options = words.split()
    ended = do(command, id, *options)
    assert ended.code == 0
    assert "WAITING_FOR_EVENT" in ended.out
    assert not [each for each in asked if each.path.endswith("/history")]


def test_what_the_server_folded_is_what_is_folded_here(do: Do) -> None:
    for id in (started(do, "wait", {"orderId": "x" * 20_000}), started(do, "refuse", {})):
        here = do("show", id, "--history", "-o", "json").json
        here.pop("history")
        assert do("show", id, "-o", "json").json == here


@pytest.mark.parametrize("tail", [0, 1, 3, 50])
def test_the_end_of_a_log_is_read_from_its_end(do: Do, tail: int, asked: list[Ask]) -> None:
    id = started(do, "wait", {"orderId": 3})
    whole = do("history", id, "-o", "json").out.splitlines()
    asked.clear()
    assert do("history", id, "--tail", str(tail), "-o", "json").out.splitlines() == (
        whole[-tail:] if tail else []
    )
    assert sum(each.path.endswith("/history") for each in asked) == 1
    assert not [each for each in asked if each.path.endswith(id)], "it is not folded"


NEWER = {
    "id": "01a1ec57-752f-7795-b9c4-b46e0af0aae1",
    "workflowDefinitionId": "order",
    "definitionVersion": 1,
    "status": "HIBERNATING",
    "correlationId": None,
    "currentSteps": [],
    "priority": 0,
    "deadline": None,
    "createdAt": "2026-11-16T20:31:00Z",
    "updatedAt": "2026-11-16T20:31:00Z",
    "startedAt": None,
    "completedAt": None,
    "tenant": "default",
    "rootId": "01a1ec57-752f-7795-b9c4-b46e0af0aae1",
}
EXPLAINED = {"instanceId": NEWER["id"], "status": "HIBERNATING", "summary": "deep", "causes": []}


@pytest.mark.parametrize(
    "words",
    ["list", "list -o json", "list -o csv", "explain @last", "pause @last", "cancel @last --yes"],
)
def test_a_status_of_a_newer_server_is_shown_as_its_name(do: Do, words: str) -> None:
    def answer(head: str, _: bytes) -> bytes:
        path = head.split()[1]
        if path.endswith("/explain"):
            return reply(200, EXPLAINED)
        if path.endswith(("/pause", "/cancel")):
            return reply(200, {"instanceId": NEWER["id"], "status": "HIBERNATING"})
        return reply(200, {"items": [NEWER], "nextCursor": None})

    with a_stranger(answer) as url:
        ended = do(*words.split(), TENUTO_SERVER=url)
    assert ended.code == 0, ended.err
    assert "HIBERNATING" in ended.out + ended.err


def test_a_status_of_a_newer_program_is_no_status_of_this_one() -> None:
    newer = read_status("HIBERNATING")
    assert (newer.value, str(newer), newer.is_final) == ("HIBERNATING", "HIBERNATING", False)
    assert [read_status(each.value) for each in Status] == list(Status)
    with pytest.raises(ValueError, match="HIBERNATING"):
        Status("HIBERNATING")


def test_a_server_below_a_path_is_used_and_followed_there(do: Do) -> None:
    """As behind a proxy that leaves the path where it is; the web UI has journeys of its own."""
    below = "/sub/path"
    public = f"http://127.0.0.1:8484{below}"
    with a_server(ServiceConfig(port=0, drain_seconds=2, public_url=public)) as url:
        for server in (f"{url}{below}", f"{url}{below}/"):
            ended = do("start", "double", "-i", "number=4", "-f", "--server", server)
            assert (ended.code, ended.json) == (0, 8), ended.err
            assert "COMPLETED" in do("show", "@last", "--server", server).out
            assert "COMPLETED" in do("history", "@last", "-f", "--server", server).out
