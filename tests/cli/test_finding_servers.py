"""Where a command acts: what is typed, the service of this folder, TENUTO_SERVER, a profile."""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tenuto.cli.backends.backend import Backend
from tenuto.cli.backends.choice import chosen_place
from tenuto.cli.backends.place import ServerUrl, StoreUrl
from tenuto.cli.backends.said import saying_place
from tenuto.cli.backends.server import ServerBackend
from tenuto.cli.served_address import address_file, announced, find_served, kept_announced
from tenuto.cli.settings import configured
from tenuto.cli.views.terminal import talk
from tenuto.cli.worker import at_found_server
from tenuto.client import Client
from tenuto.client.connection import Answered
from tenuto.store.sqlite.lock import EngineLock
from tests.api.test_serve_command import running
from tests.cli.conftest import Terminal, one_of_each

URL = "http://127.0.0.1:4711"
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'tenuto.db'}"


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[EngineLock]:
    lock = EngineLock.take(str(tmp_path / "tenuto.db"), "p", shared=False)
    yield lock
    lock.release("p")


@pytest.mark.usefixtures("locked")
def test_the_address_is_beside_the_store_for_its_owner_alone_and_removed_at_the_end(
    store: str,
) -> None:
    file = address_file(store)
    assert file is not None
    with announced(store, URL, needs_key=False):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        found = find_served(store)
        assert found is not None
        assert found.url == URL
    assert not file.exists()
    assert find_served(store) is None


def test_an_address_that_a_killed_process_left_is_passed_over(
    store: str, locked: EngineLock
) -> None:
    file = address_file(store)
    assert file is not None
    with announced(store, URL, needs_key=False):
        left = file.read_bytes()
    file.write_bytes(left)
    assert find_served(store) is not None
    locked.release("p")
    assert find_served(store) is None
    file.write_text("half a fi")
    assert find_served(store) is None


def test_a_service_stays_announced_while_a_reload_has_no_process_on_its_store(
    store: str, locked: EngineLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = address_file(store)
    assert file is not None
    with kept_announced(store):
        assert find_served(store) is None
    with ExitStack() as old, monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "getpid", lambda: 1)
        old.enter_context(announced(store, URL, needs_key=True))
        elsewhere.undo()
        with kept_announced(store):
            old.close()
            locked.release("p")
            found = find_served(store)
            assert found is not None
            assert (found.url, found.needs_key) == (URL, True)
            left = file.read_bytes()
            fresh = EngineLock.take(store.removeprefix("sqlite:///"), "q", shared=False)
            old.enter_context(announced(store, NOWHERE, needs_key=False))
        found = find_served(store)
        assert found is not None
        assert found.url == NOWHERE
    fresh.release("q")
    file.write_bytes(left)
    assert find_served(store) is None


@pytest.mark.usefixtures("locked")
def test_what_is_typed_goes_before_what_is_found_and_that_before_the_environment(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def chosen(*, typed: str = "", server: str | None = None, source: str = "") -> str:
        return chosen_place((store, typed), (server, source), None, "default")

    assert chosen() == store
    assert chosen(server=NOWHERE, source="ENVIRONMENT") == NOWHERE
    with announced(store, URL, needs_key=False):
        assert chosen() == URL
        assert chosen(typed="ENVIRONMENT") == URL
        assert chosen(typed="COMMANDLINE") == store
        assert chosen(server=NOWHERE, source="COMMANDLINE") == NOWHERE
        assert capsys.readouterr().err == ""
        assert chosen(server=NOWHERE, source="ENVIRONMENT") == URL
        assert f"--server {NOWHERE}" in capsys.readouterr().err.replace("\n", " ")
        assert chosen_place((store, ""), (None, ""), None, "other-tenant") == store
    with announced(store, URL, needs_key=True):
        assert chosen() == store
        assert chosen_place((store, ""), (None, ""), "key", "default") == URL


def test_profiles_are_made_used_listed_and_removed_without_showing_keys(terminal: Terminal) -> None:
    del terminal.environment["TENUTO_STORE"]
    secret = {"TENUTO_KEY": "canary-key"}
    terminal.environment |= secret
    made = terminal.call("config", "set", "prod", "--server", NOWHERE)
    assert made.code == 0, made.err
    del terminal.environment["TENUTO_KEY"]
    terminal.call("config", "set", "test", "--server", "http://127.0.0.1:2")
    file = terminal.folder / "config" / "tenuto" / "profiles.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    listed = terminal.call("config", "list")
    assert "prod" in listed.out
    assert "canary" not in made.out + made.err + listed.out + listed.err
    assert terminal.call("config", "list", "-o", "json").json["prod"] == {
        "server": NOWHERE,
        "hasKey": True,
        "isUsed": False,
    }
    assert "TEN-4021" in terminal.call("list").err
    assert terminal.call("config", "use", "prod").code == 0
    away = terminal.call("list")
    assert away.code == 5
    assert f"cannot reach {NOWHERE}" in away.err
    assert "profile prod" in away.err
    terminal.environment["TENUTO_PROFILE"] = "test"
    assert "http://127.0.0.1:2" in terminal.call("list").err
    terminal.environment["TENUTO_PROFILE"] = ""
    assert "TEN-4021" in terminal.call("list").err
    del terminal.environment["TENUTO_PROFILE"]
    assert terminal.call("config", "remove", "prod").code == 0
    assert "TEN-4021" in terminal.call("list").err
    unknown = terminal.call("config", "use", "prod")
    assert (unknown.code, "There are test." in unknown.err) == (3, True)


def test_a_profile_that_cannot_be_read_is_named(terminal: Terminal) -> None:
    folder = terminal.folder / "config" / "tenuto"
    folder.mkdir(parents=True)
    (folder / "profiles.json").write_text("{")
    for words in (("config", "list"), ("config", "use", "prod")):
        ended = terminal.call(*words)
        assert (ended.code, "TEN-2633" in ended.err) == (2, True)
    wrong = terminal.call("config", "set", "prod", "--server", "nowhere")
    assert (wrong.code, "TEN-2602" in wrong.err) == (2, True)


def test_a_command_whose_profile_is_not_there_or_cannot_be_read_is_refused(
    terminal: Terminal,
) -> None:
    del terminal.environment["TENUTO_STORE"]
    terminal.environment["TENUTO_PROFILE"] = "nosuch"
    unknown = terminal.call("list")
    assert (unknown.code, "there is no profile nosuch" in unknown.err) == (3, True)
    assert terminal.call("show", "@last", "-o", "json").json["error"]["code"] == "TEN-3001"
    folder = terminal.folder / "config" / "tenuto"
    folder.mkdir(parents=True)
    (folder / "profiles.json").write_text("{")
    damaged = terminal.call("events", "list")
    assert (damaged.code, "TEN-2633" in damaged.err) == (2, True)


def test_a_server_that_is_dead_is_given_up_before_a_second_has_passed(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in pauses, not in time: the machine may be slow."""
    slept: list[float] = []

    async def sleep(_: object, seconds: float) -> None:
        slept.append(seconds)
        began.append(began[-1] + seconds)

    began = [time.monotonic()]
    monkeypatch.setattr("tenuto.ports.SystemClock.sleep", sleep)
    monkeypatch.setattr("tenuto.ports.SystemClock.ticks", lambda _: began[-1])
    ended = terminal.call("list", "--server", NOWHERE)
    assert ended.code == 5
    assert f"TEN-4030  cannot reach {NOWHERE}" in ended.err
    assert sum(slept) <= 0.8


def test_what_a_killed_service_of_this_folder_had_is_read_from_its_store_and_not_changed(
    terminal: Terminal,
) -> None:
    terminal.past(one_of_each)
    lock = EngineLock.take(terminal.store.removeprefix("sqlite:///"), "p", shared=False)
    with announced(terminal.store, NOWHERE, needs_key=False):
        listed = terminal.call("list", "-o", "id")
        changed = terminal.call("pause", "@last")
        typed = terminal.call("list", "--server", NOWHERE)
    lock.release("p")
    assert (listed.code, len(listed.out.split()) > 0) == (0, True)
    assert "does not answer; read from" in listed.err
    assert (changed.code, typed.code) == (5, 5)
    assert f"kill {os.getpid()}" in changed.err
    assert "kill" not in typed.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("list table", "from here\n"),
        ("retry table", "in here\n"),
        ("list json", ""),
        ("deploy table", "in here\n"),
        ("start table", "in here\n"),
        ("create table", "in here\n"),
        ("run table", ""),
    ],
)
def test_the_place_is_said_to_those_who_ask_for_no_json(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = StoreUrl.of_tenant("sqlite:///x", "default")
    place.command, output = words.split()
    talk.cache_clear()
    try:
        with saying_place(place, cast("Backend", _Here()), output):
            assert capsys.readouterr().err == said
    finally:
        talk.cache_clear()


class _Here:
    described = "here"

    def once_known(self, tell: Callable[[], None]) -> AbstractContextManager[object]:
        tell()
        return nullcontext()


@pytest.mark.parametrize(
    ("answers", "described"),
    [
        ([(200, {"tenuto-environment": "pr%C3%B6d"})], f"{URL} (pröd)"),
        ([(503, {}), (200, {"tenuto-environment": "eu"})], f"{URL} (eu)"),
        ([(404, {"tenuto-environment": "eu"})], f"{URL} (eu)"),
        ([(200, {})], URL),
        ([], URL),
    ],
)
def test_a_server_is_shown_with_the_environment_that_its_first_answer_names(
    answers: list[tuple[int, dict[str, str]]], described: str
) -> None:
    connection = SimpleNamespace(answered=None)
    client = cast("Client", SimpleNamespace(connection=connection))
    backend = ServerBackend(ServerUrl.of(URL, None), client)
    told: list[str] = []
    with backend.once_known(lambda: told.append(backend.described)):
        for status, headers in answers:
            connection.answered(Answered(status, headers, b"", URL))
        assert len(told) == bool(answers)
    assert told == [described]
    assert connection.answered is None


@pytest.mark.slow
def test_commands_find_the_service_of_their_folder_and_are_told_where_it_is(
    terminal: Terminal,
) -> None:
    with running("serve", "--tasks", "tasks.py", folder=terminal.folder) as (process, url):
        terminal.write(
            "double.json",
            {"id": "double", "steps": [{"stepId": "a", "taskId": "double", "type": "TASK"}]},
        )
        ended = terminal.call("deploy", "double.json")
        assert ended.code == 0, ended.err
        followed = terminal.call("start", "double", "-i", "21", "--follow")
        assert (followed.code, followed.json) == (0, 42), followed.err
        started = terminal.call("start", "double", "-i", "1")
        assert "--server" not in started.err
        refused = terminal.call("deploy", "double.json", "--store", terminal.store)
        assert (refused.code, "TEN-4002" in refused.err) == (5, True)
        assert f"--server {url}" in refused.err
        twice = terminal.run("serve", "--port", "0")
        assert (twice.code, f"tenuto list --server {url}" in twice.err) == (5, True), twice.err
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    listed = terminal.call("list")
    assert listed.code == 0, listed.err


@pytest.mark.usefixtures("locked")
def test_a_worker_works_for_the_service_of_its_folder_unless_it_is_told_otherwise(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENUTO_STORE", store)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with announced(store, URL, needs_key=False):
        assert at_found_server(configured({}, None, None)).worker.server == URL
        told = configured({"worker.server": NOWHERE}, None, None)
        assert at_found_server(told).worker.server == NOWHERE
