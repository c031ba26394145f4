"""Decisions from the command line, with the store at rest and with an engine on it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tenuto import Tenuto
from tenuto.cli.lookup import step_and_iteration
from tenuto.model.json import Object
from tests.cli.conftest import Terminal
from tests.cli.waiting import until, waits_for_event

FORM: Object = {
    "type": "object",
    "required": ["note"],
    "properties": {"note": {"type": "string"}, "limit": {"type": "number"}},
    "additionalProperties": False,
}
ASKS: Object = {
    "id": "asks",
    "steps": [
        {
            "stepId": "ok",
            "type": "APPROVAL",
            "assignees": {"users": ["{{ctx.input.boss}}"], "roles": ["board"]},
            "formSchema": FORM,
            "deadline": "P3D",
            "outputVariable": "said",
            "transitions": {"approved": "done", "rejected": "late", "timeout": "late"},
        },
        {"stepId": "done", "type": "TASK", "taskId": "double", "input": 21},
        {"stepId": "late", "type": "TASK", "taskId": "refuse"},
    ],
}
EACH: Object = {
    "id": "each",
    "steps": [
        {
            "stepId": "all",
            "type": "LOOP",
            "source": ["ann", "bob"],
            "mode": "parallel",
            "transitions": {"loop": "ok"},
        },
        {"stepId": "ok", "type": "APPROVAL", "assignees": {"users": ["{{item}}"]}},
    ],
}
FINE = ("--form", '{"note": "fine"}')


async def one_asks(app: Tenuto) -> None:
    await app.deploy(ASKS)
    waiting = await app.start("asks", {"boss": "ann"})
    await until(app, waiting, waits_for_event)


async def each_asks(app: Tenuto) -> None:
    await app.deploy(EACH)
    waiting = await app.start("each")
    await until(app, waiting, waits_for_event)


@contextmanager
def asked_in(terminal: Terminal) -> Iterator[subprocess.Popen[str]]:
    """Another process has the store open, and an instance of its own that asks."""
    terminal.write("asks.json", ASKS)
    with terminal.start("run", "asks.json", "-i", '{"boss": "ann"}') as process:
        try:
            assert process.stderr is not None
            while "ann or anybody with the role board to decide" not in process.stderr.readline():
                pass
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=500)


def refused(terminal: Terminal, *words: str) -> tuple[int, str]:
    ended = terminal.call("decide", "@last", *words)
    assert ended.out == ""
    return ended.code, ended.err


def check_refusals(terminal: Terminal) -> None:
    code, said = refused(terminal, "ok", "approve", "--by", " ")
    assert (code, said.count("TEN-2111 ")) == (2, 2), said
    code, said = refused(terminal, "ok", "approved", "--by", "eve", "--role", "staff")
    assert (code, "TEN-5001" in said) == (6, True), said
    assert "eve may not decide on ok: that is for ann or anybody with the role board" in said
    code, said = refused(
        terminal, "ok", "approved", "--by", "ann", "--form", '{"limit": "x", "a": 1}'
    )
    assert (code, said.count("  TEN-2110  ")) == (2, 3), said
    code, said = refused(terminal, "ok", "approved", "--by", "ann", "--form", "{")
    assert (code, "TEN-2004" in said) == (2, True), said
    code, said = refused(terminal, "okk", "approved", "--by", "ann")
    assert (code, "its approvals are ok" in said) == (3, True), said
    code, said = refused(terminal, "ok[1]", "approved", "--by", "ann", *FINE)
    assert (code, "ok is in no loop" in said) == (3, True), said


@pytest.mark.slow
def test_what_is_refused_says_why_and_nothing_is_decided(terminal: Terminal) -> None:
    terminal.past(one_asks)
    check_refusals(terminal)
    shown = terminal.call("show", "@last")
    assert "decision  on ok: for ann or anybody with the role board" in shown.out
    assert '  form {"type":"object","required":["note"]' in shown.out
    assert "ok approved --by ann --form JSON" in shown.err
    [wait] = terminal.call("show", "@last", "-o", "json").json["state"]["waits"]
    assert wait["approval"]["users"] == ["ann"]


@pytest.mark.slow
def test_a_decision_is_made_and_stays(terminal: Terminal) -> None:
    terminal.past(one_asks)
    decided = terminal.call("decide", "@last", "ok", "approved", "--by", "ann", *FINE)
    assert (decided.code, "✓ ok approved by ann" in decided.out) == (0, True), decided.err
    assert "tenuto run --instance" in decided.err, "nobody is there to go on"
    code, said = refused(terminal, "ok", "rejected", "--by", "ann", *FINE)
    assert (code, "ok was approved by ann at " in said) == (4, True), said
    again = terminal.call("decide", "@last", "ok", "approved", "--by", "ann", *FINE, "-o", "json")
    assert (again.code, again.json["decision"]) == (0, "approved")
    assert "approved by ann" in terminal.call("show", "@last").out
    assert terminal.run("run", "--instance", "@last", "--tasks", "tasks.py").code == 0
    assert terminal.call("verify").code == 0


@pytest.mark.slow
def test_the_process_that_has_the_store_open_goes_on(on_each_store: Terminal) -> None:
    with asked_in(on_each_store) as process:
        decided = on_each_store.call(
            "decide", "@last", "ok", "approved", "--by", "bob", "--role", "board", *FINE
        )
        assert (decided.code, "No process" in decided.err) == (0, False), decided.err
        out, err = process.communicate(timeout=500)
    assert (process.returncode, out) == (0, "42\n"), err
    assert "approved by bob" in err
    assert on_each_store.call("verify").code == 0


@pytest.mark.slow
def test_in_a_loop_the_iteration_is_named(terminal: Terminal) -> None:
    terminal.past(each_asks)
    code, said = refused(terminal, "ok", "approved", "--by", "ann")
    assert (code, "say in which iteration; open are 0, 1" in said) == (3, True), said
    assert "ok[1]" in terminal.call("show", "@last").out
    assert terminal.call("decide", "@last", "ok[1]", "approved", "--by", "bob").code == 0
    last = ("ok", "rejected", "--by", "ann", "--iteration", "0")
    decided = terminal.call("decide", "@last", *last)
    assert (decided.code, "COMPLETED" in decided.out) == (0, True), decided.err


@pytest.mark.parametrize(
    ("step", "iteration", "found"),
    [
        ("ok", "", ("ok", "")),
        ("ok", "2", ("ok", "2")),
        ("ok[2/0]", "", ("ok", "2/0")),
        ("ok[2]", "3", ("ok[2]", "3")),
        ("ok[]", "", ("ok[]", "")),
    ],
)
def test_a_step_is_named_as_messages_name_it(
    step: str, iteration: str, found: tuple[str, str]
) -> None:
    assert step_and_iteration(step, iteration) == found
