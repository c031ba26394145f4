"""Secrets from a terminal: values come from stdin, and never from an argument."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from tests.cli.conftest import Terminal

VALUE = "sk-live-51Hxyz"
PAY = {
    "id": "pay",
    "steps": [{"stepId": "a", "type": "TASK", "taskId": "pay", "input": {"k": "{{secrets.KEY}}"}}],
}


def everything(folder: Path) -> bytes:
    """All bytes of the store, without its key."""
    files = [each for each in folder.rglob("*") if each.is_file() and each.suffix != ".key"]
    return b"".join(each.read_bytes() for each in files)


def test_a_secret_is_set_from_stdin_listed_and_removed(terminal: Terminal) -> None:
    """`tenuto secrets set NAME` reads it from stdin."""
    saved = terminal.call("secrets", "set", "KEY", "-d", "api.example.com", input=f"{VALUE}\n")
    assert (saved.code, saved.out) == (0, "✓ secret KEY, for api.example.com\n")
    assert VALUE not in saved.err
    [key] = terminal.folder.rglob("*.db.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert VALUE.encode() not in everything(terminal.folder)
    (terminal.folder / "pay.json").write_text(json.dumps(PAY))
    warned = terminal.call("deploy", "pay.json")
    assert "TEN-1662" in warned.out + warned.err
    shown = terminal.call("secrets", "list")
    assert ("KEY" in shown.out, "api.example.com" in shown.out, "pay" in shown.out) == (True,) * 3
    [item] = terminal.call("secrets", "list", "-o", "json").json["items"]
    assert item["usedBy"]["workflows"] == ["pay"]
    assert terminal.call("secrets", "list", "-o", "id").out == "KEY\n"
    refused = terminal.call("secrets", "remove", "KEY")
    assert refused.code == 4
    assert "TEN-3161" in refused.err
    assert terminal.call("secrets", "remove", "KEY", "--force").code == 0
    assert terminal.call("secrets", "remove", "KEY").code == 3


def test_a_value_is_no_argument_and_is_not_repeated(terminal: Terminal) -> None:
    wrong = terminal.call("secrets", "set", "KEY", VALUE)
    assert wrong.code == 2
    short = terminal.call("secrets", "set", "KEY", input="xyz\n")
    assert short.code == 2
    assert "TEN-2761" in short.err
    assert "xyz" not in short.err + short.out


def test_the_audit_log_has_names_and_no_values(terminal: Terminal) -> None:
    terminal.call("secrets", "set", "KEY", "--reason", "rotated", input=VALUE)
    terminal.call("secrets", "remove", "KEY")
    lines = terminal.call("audit", "list", "-o", "json").json["items"]
    assert {each["action"] for each in lines} == {"put_secret", "remove_secret"}
    assert VALUE not in str(lines)
    assert "rotated" in str(lines)
