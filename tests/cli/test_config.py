"""`tenuto config show`, and what `serve` makes of its settings."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Terminal


def test_config_show_says_what_holds_and_who_says_so(terminal: Terminal) -> None:
    terminal.write("tenuto.toml", "port = 9000\n[engine]\nstop_grace = 3\nadmin = 1\n")
    wrong = terminal.call("config", "show")
    assert wrong.code == 2
    assert "tenuto.toml:4" in wrong.err
    terminal.write("tenuto.toml", "port = 9000\n[engine]\nstop_grace = 3\n")
    terminal.environment |= {
        "TENUTO_ADMIN_KEY": "canary-key",
        "TENUTO_STORE": "postgresql://me:canary-word@db/tenuto",
    }
    words = ("config", "show", "--host", "127.0.0.2", "--set", "engine.jobs_every=4")
    shown = terminal.call(*words, "-o", "json")
    assert shown.json["port"] == {"value": 9000, "origin": "tenuto.toml:1"}
    assert shown.json["host"] == {"value": "127.0.0.2", "origin": "--host"}
    assert shown.json["engine.jobs_every"] == {"value": 4.0, "origin": "--set engine.jobs_every"}
    assert shown.json["engine.stop_grace"] == {"value": 3.0, "origin": "tenuto.toml:3"}
    assert shown.json["admin_key"] == {"value": "…", "origin": "TENUTO_ADMIN_KEY"}
    assert shown.json["log_level"] == {"value": "info", "origin": "default"}
    table = terminal.call(*words)
    assert "canary" not in shown.out + table.out
    assert "engine.limits.input_bytes" in table.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "engine"], "TEN-2631"),
        (["--set", "engin.jobs_every=1"], "Did you mean engine.jobs_every?"),
        (["--config", "none.toml"], "TEN-4040"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_opened(
    terminal: Terminal, words: list[str], said: str
) -> None:
    ended = terminal.call("serve", *words)
    assert ended.code in (2, 3)
    assert said in ended.err
    assert not (terminal.folder / "store.db").exists()


def test_a_worker_is_configured_as_a_service_is(terminal: Terminal) -> None:
    """Flags go before the environment, the environment before the file."""
    terminal.write("far.py", "from tenuto import task\n\n@task\nasync def far() -> None: ...\n")
    terminal.write("tenuto.toml", 'tasks = ["far.py"]\n[worker]\nserver = "of-file"\n')
    asked = [terminal.call("worker")]
    terminal.environment["TENUTO_WORKER_SERVER"] = "of-variable"
    asked.append(terminal.call("worker"))
    terminal.environment["TENUTO_SERVER"] = "of-all-commands"
    asked.append(terminal.call("worker"))
    asked.append(terminal.call("worker", "far.py", "--server", "of-flag"))
    places = ["of-file", "of-variable", "of-all-commands", "of-flag"]
    for ended, place in zip(asked, places, strict=True):
        assert ended.code == 2
        assert f"{place} does not begin with http://" in ended.err.replace("Of-", "of-")
    terminal.write("tenuto.toml", "[worker]\nlease = 0\nleese = 1\n")
    wrong = terminal.call("worker", "far.py")
    assert "tenuto.toml:2" in wrong.err
    assert "Did you mean worker.lease?" in wrong.err
    terminal.write("tenuto.toml", '[worker]\nkey = "canary-key"\n')
    assert "canary" not in terminal.call("config", "show").out
