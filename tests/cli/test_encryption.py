"""Encryption keys, from a terminal: made, seen in use, rotated, and missed."""

from __future__ import annotations

from tests.cli.conftest import Terminal

WAITING = {
    "id": "secret",
    "options": {"encrypt": True},
    "steps": [{"stepId": "wait", "type": "EVENT_WAIT", "eventPattern": "paid"}],
}


def test_keys_are_made_used_rotated_and_missed(terminal: Terminal) -> None:
    made = terminal.call("encryption", "generate", "one", "-o", "json").json
    assert made["key"].startswith("one:")
    assert terminal.call("encryption", "generate", "one", "--file", "keys.txt").code == 0
    terminal.environment["TENUTO_ENCRYPTION_KEYS_FILE"] = "keys.txt"
    terminal.write("secret.json", WAITING)
    assert terminal.call("deploy", "secret.json").code == 0
    started = terminal.call("start", "secret", "--input", '{"canary": "c4n4ry"}', "-o", "json").json
    status = terminal.call("encryption", "status", "-o", "json").json
    [one] = status["keys"]
    assert (status["current"], one["id"], one["isCurrent"]) == ("one", "one", True)
    assert "c4n4ry" in terminal.call("show", started["instanceId"]).out
    assert "encrypted with one" in terminal.call("doctor").out

    second = terminal.call("encryption", "generate", "two", "--file", "keys.txt")
    assert "two is the first of 2" in second.out
    done = terminal.call("encryption", "reencrypt", "-o", "json").json
    assert (done["encrypted"], done["left"]) == (one["values"], {})
    assert "two  " in terminal.call("encryption", "status").out
    assert terminal.call("encryption", "reencrypt").out.startswith("0 values")

    terminal.environment["TENUTO_ENCRYPTION_KEYS_FILE"] = "others.txt"
    terminal.call("encryption", "generate", "three", "--file", "others.txt")
    lost = terminal.call("show", started["instanceId"])
    assert (lost.code, "TEN-4122" in lost.err, "'two'" in lost.err) == (4, True, True)
    assert started["instanceId"] in terminal.call("list").out
    assert "not here: two" in terminal.call("doctor").out
    missing = terminal.call("encryption", "reencrypt")
    assert (missing.code, "left with two" in missing.err) == (1, True)


def test_what_is_wrong_with_keys_is_told_with_its_code(terminal: Terminal) -> None:
    terminal.write("secret.json", WAITING)
    refused = terminal.call("deploy", "secret.json")
    assert "TEN-4120" in refused.err
    terminal.environment["TENUTO_ENCRYPTION_KEYS"] = "nonsense"
    assert "TEN-4121" in terminal.call("list").err
    terminal.environment["TENUTO_ENCRYPTION_KEYS"] = "a"
    terminal.environment["TENUTO_ENCRYPTION_KEYS_COMMAND"] = "false"
    assert "several ways" in terminal.call("list").err
    del terminal.environment["TENUTO_ENCRYPTION_KEYS"]
    assert "TEN-4124" in terminal.call("list").err
    assert "TEN-4121" in terminal.call("encryption", "generate", "a key").err
