"""Who has the store has every tenant's part of it: commands say whose they are about."""

from __future__ import annotations

import json

from tests.cli.conftest import DOUBLE, Terminal

WAITS = {"id": "waits", "steps": [{"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "go"}]}


def test_commands_are_about_the_tenant_that_is_named(terminal: Terminal) -> None:
    acme = ("--tenant", "acme")
    for document in (WAITS, {**DOUBLE, "id": "double"}):
        terminal.write("flow.json", json.dumps(document))
        assert terminal.call("deploy", "flow.json", *acme).code == 0
    assert terminal.call("start", "waits").code != 0, "the other tenant has no such workflow"
    begun = terminal.call("start", "waits", *acme, "-o", "json")
    id = begun.json["instanceId"]
    assert terminal.call("list", "-o", "id").out == ""
    assert terminal.call("list", *acme, "-o", "id").out.split() == [id]
    assert terminal.call("show", id).code != 0
    assert terminal.call("show", "@last", *acme, "-o", "json").json["id"] == id
    assert terminal.call("pause", id).code != 0
    paused = terminal.call("pause", "@last", *acme)
    assert paused.code == 0
    resumed = terminal.call("resume", id, *acme)
    assert resumed.code == 0
    assert "--tenant acme" in resumed.err, "what is told to be typed names the tenant"
    assert "resumed" not in terminal.call("events", "send", "go", "1", "--dry-run").out
    assert id in terminal.call("events", "send", "go", "1", "--dry-run", *acme).out
    sent = terminal.call("events", "send", "go", "1", "--id", "e1", *acme, "-o", "json")
    assert sent.json["resumed"] == 1
    assert terminal.call("events", "show", "e1").code != 0
    assert terminal.call("events", "show", "e1", *acme).code == 0


def test_listeners_are_those_of_the_tenant_that_is_named(terminal: Terminal) -> None:
    terminal.call("migrate")
    added = terminal.call("webhooks", "add", "https://example.com/x", "order.*", "--tenant", "acme")
    assert added.code == 0, added.err
    assert terminal.call("webhooks", "list", "-o", "json").json["items"] == []
    found = terminal.call("webhooks", "list", "--tenant", "acme", "-o", "json").json["items"]
    assert [each["url"] for each in found] == ["https://example.com/x"]


def test_what_is_outstanding_is_that_of_the_tenant_that_is_named(terminal: Terminal) -> None:
    terminal.write("waits.json", json.dumps(WAITS))
    for tenant in ("acme", "default"):
        assert terminal.call("deploy", "waits.json", "--tenant", tenant).code == 0
    id = terminal.call("start", "waits", "--tenant", "acme", "-o", "json").json["instanceId"]
    others = terminal.call("run", "--outstanding", "--timeout", "0")
    assert (others.code, "nothing is outstanding" in others.err) == (0, True), others.err
    theirs = terminal.call("run", "--outstanding", "--timeout", "0", "--tenant", "acme")
    assert (theirs.code, id in theirs.err) == (124, True), theirs.err
