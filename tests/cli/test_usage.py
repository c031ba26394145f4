"""How commands are called, and what is said where that is wrong."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from tenuto import cli
from tenuto.cli import commands
from tenuto.cli.views import terminal as terminal_views
from tenuto.cli.wrong_usage import OTHER_WORDS
from tests.cli.conftest import Terminal
from tests.cli.manual import commands as commands_of_manual
from tests.cli.test_every_command import GROUPS
from tests.cli.whole import WHOLE, app

SECRET = f"tnt_{'0' * 16}_{'a' * 64}"


@pytest.mark.parametrize(
    "words",
    [
        ("list", "--bogus", "-o", "json"),
        ("list", "--limit", "many", "--output=json"),
        ("keys", "create", "-ojson"),
        ("lst", "--output", "json"),
        ("--bogus", "list", "-o", "json"),
        ("run", "-o", "json"),
    ],
)
def test_wrong_usage_is_json_where_json_was_asked_for(
    terminal: Terminal, words: tuple[str, ...]
) -> None:
    ended = terminal.call(*words)
    assert ended.code == 2
    assert ended.json["error"]["code"] == "TEN-2640"
    assert ended.json["error"]["message"] in ended.err.replace("\n", " ")


def test_every_group_of_a_module_is_a_command_and_known_ones_come_first() -> None:
    modules = [
        import_module(f"{commands.__name__}.{each.name}")
        for each in iter_modules(commands.__path__)
    ]
    groups = {
        each.info.name
        for module in modules
        for each in vars(module).values()
        if isinstance(each, typer.Typer)
    }
    listed = [each.typer_instance.info.name for each in app.registered_groups]  # type: ignore[union-attr]
    assert set(listed) == groups
    assert listed[:2] == ["events", "dead-letters"]


def test_a_step_whose_name_is_the_name_of_a_picture_is_shown_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal_views.data.cache_clear()
    terminal_views.show("i-1:a:1")
    assert capsys.readouterr().out == "i-1:a:1\n"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("cancle", "Did you mean 'cancel'"),
        ("emit", "Did you mean `tenuto events send`"),
        ("nosuch", "`tenuto --help` lists"),
    ],
)
def test_a_mistyped_command_leads_to_the_one_that_is_meant_or_to_all(
    terminal: Terminal, word: str, said: str
) -> None:
    ended = terminal.call(word)
    assert (ended.code, said in ended.err.replace("\n", " ")) == (2, True), ended.err


def test_wrong_usage_is_told_to_people_alone_otherwise(terminal: Terminal) -> None:
    ended = terminal.call("list", "--bogus")
    assert (ended.code, ended.out) == (2, "")
    assert "--bogus" in ended.err


@pytest.mark.parametrize("words", [("start", "double"), ("run", "double.json")])
def test_an_api_key_is_not_taken_for_the_key_of_a_start(
    terminal: Terminal, words: tuple[str, ...]
) -> None:
    ended = terminal.call(*words, "--key", SECRET)
    assert ended.code == 2
    assert "TENUTO_KEY" in ended.err
    assert SECRET not in ended.err + ended.out


def test_key_never_means_an_api_key(terminal: Terminal) -> None:
    for words in (("logs", "@last"), ("show", "@last"), ("worker", "tasks.py")):
        ended = terminal.call(*words, "--key", "k")
        assert (ended.code, "No such option: --key" in ended.err) == (2, True)


def test_a_worker_is_told_of_its_own_arguments(terminal: Terminal) -> None:
    ended = terminal.run("worker", "nofile.py")
    assert (ended.code, "there is no file nofile.py" in ended.err) == (3, True)
    assert "--tasks" not in ended.err
    ended = terminal.run("worker", "tasks.py", "--server", "foo")
    assert (ended.code, "The address 'foo' is not" in ended.err) == (2, True)


def test_a_stop_while_the_program_is_loaded_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tenuto.cli.program.program", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130


def test_what_needs_a_store_does_not_ask_a_server(terminal: Terminal) -> None:
    """TENUTO_SERVER is set for all commands; these have a store whatever it says."""
    terminal.call("migrate")
    terminal.environment["TENUTO_SERVER"] = "http://127.0.0.1:1"
    del terminal.environment["TENUTO_STORE"]
    pruned = terminal.call("prune", "--store", terminal.store)
    assert (pruned.code, "0 instances" in pruned.out) == (0, True), pruned.err
    shown = terminal.call("config", "show", "-o", "json").json["store"]
    assert (shown["value"], shown["origin"]) == ("sqlite:///.tenuto/tenuto.db", "default")
    refused = terminal.call("audit", "verify")
    assert (refused.code, "TEN-4030" in refused.err) == (5, True)


@pytest.mark.parametrize("words", [(), ("keys",), ("-o",)])
def test_no_words_or_half_of_them_are_wrong_usage_and_no_traceback(
    terminal: Terminal, words: tuple[str, ...]
) -> None:
    ended = terminal.call(*words)
    assert ended.code == 2
    assert "Usage: tenuto" in ended.out + ended.err or "`tenuto --help`" in ended.err
    assert "Traceback" not in ended.out + ended.err


def test_commands_of_other_tools_lead_to_commands_that_there_are() -> None:
    known = {*commands_of_manual(), *GROUPS, "--version", "--help"}
    assert {*OTHER_WORDS.values()} <= known
    assert not OTHER_WORDS.keys() & known


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("list", "--limit", "0"), "it has to be at least 1"),
        (("list", "--limit", "1001"), "it has to be at most 1000"),
        (("list", "--limit", "many"), "it is not a whole number"),
        (("start", "double", "--timeout", "soon"), "it is not a number"),
        (("list", "-o", "yaml"), "'yaml' is not one of 'table', 'json', 'csv', 'id'"),
        (("start",), "Missing argument 'WORKFLOW'"),
    ],
)
def test_wrong_usage_has_its_code_and_no_words_of_a_validator(
    terminal: Terminal, words: tuple[str, ...], said: str
) -> None:
    ended = terminal.call(*words)
    text = " ".join(ended.err.split())
    assert (ended.code, ended.out) == (2, "")
    assert "error TEN-2640 " in text
    assert said in text
    assert f"`tenuto {words[0]} --help` lists its arguments" in text
    assert "Input should" not in text
    assert "Value error" not in text
    as_json = terminal.call(*words[:1], "--bogus", "-o", "json").json["error"]
    assert as_json["advice"].startswith(f"`tenuto {words[0]} --help`")


def command_of(name: str) -> TyperCommand:
    """The command with this name, perhaps inside of a group."""
    found: object = WHOLE
    for word in name.split():
        assert isinstance(found, TyperGroup)
        found = found.commands[word]
    assert isinstance(found, TyperCommand)
    return found


LOOKS = {
    *("calendars add", "calendars between", "calendars days", "calendars list", "calendars show"),
    *("schedules list", "schedules preview", "schedules show", "schedules ticks"),
    *("audit export", "audit list", "audit verify", "bulk list", "bulk show", "completion"),
    *("dead-letters groups", "dead-letters list", "dead-letters show", "doctor"),
    *(
        "encryption status",
        "eval",
        "events list",
        "events show",
        "explain",
        "history",
        "keys list",
        "list",
        "logs",
        "schema",
    ),
    *("show", "stats", "subscriptions list", "tasks list", "validate", "verify", "webhooks list"),
    *("data-sources list", "data-sources show", "data-sources test"),
    *("data-queries list", "data-queries show", "data-queries run"),
    "secrets list",
    *("workers list", "workflows diff", "workflows export", "workflows list", "workflows show"),
    *("approvals list", "concurrency show", "concurrency usage", "queue list", "queue rules"),
    "views list",
}
ABOUT_FILES_OR_PROCESSES = {
    *("config list", "config remove", "config set", "config show", "config use", "init"),
    *("dev", "migrate", "prune", "reindex", "serve", "worker"),
    *("encryption generate", "encryption reencrypt"),
    *("views remove", "views save", "views use"),
}


def test_every_command_that_changes_something_takes_a_reason() -> None:
    options = {
        name: {word for each in command_of(name).params for word in each.opts}
        for name in commands_of_manual()
    }
    others = LOOKS | ABOUT_FILES_OR_PROCESSES
    without = {name for name, words in options.items() if "--reason" not in words}
    assert without - others == set()
    assert others <= options.keys()


def test_a_home_that_cannot_be_looked_into_has_no_profiles(terminal: Terminal) -> None:
    """As in a container whose HOME belongs to another user."""
    terminal.call("migrate")
    terminal.environment["XDG_CONFIG_HOME"] = f"/{'x' * 300}"
    ended = terminal.call("list")
    assert (ended.code, "no instances" in ended.err) == (0, True), ended.err


def test_a_defect_outside_of_the_work_of_a_command_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> None:
        raise LookupError("a defect")

    monkeypatch.setattr("tenuto.cli.program.program", broken)
    monkeypatch.setattr("sys.argv", ["tenuto", "list", "-o", "json"])
    terminal_views.data.cache_clear()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    shown = capsys.readouterr()
    assert ended.value.code == 1
    assert "TEN-4000" in shown.out
    assert "Traceback" not in shown.out + shown.err
