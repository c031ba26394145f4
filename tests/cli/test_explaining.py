"""`tenuto explain`: codes and instances."""

from __future__ import annotations

import pytest

from tenuto.model import failure
from tenuto.model.codes import FAILURES
from tests.cli.conftest import Terminal, one_of_each


@pytest.fixture
def past(terminal: Terminal) -> Terminal:
    terminal.past(one_of_each)
    return terminal


def test_an_instance_is_explained(past: Terminal) -> None:
    """`explain CODE|INSTANCE`."""
    ended = past.call("explain", "@last")
    assert ended.code == 0
    first, second = ended.out.splitlines()
    assert first.startswith("◌ WAITING_FOR_EVENT  ")
    assert "wait: waits for the event paid where event.payload.id === workflow.input.id" in second
    assert " left)" in second
    newest = past.call("list", "-o", "id").out.split()[0]
    found = past.call("explain", newest, "-o", "json").json
    assert found["instanceId"] == newest
    assert [each["kind"] for each in found["causes"]] == ["event"]


def test_a_failed_instance_is_explained_with_what_to_do(past: Terminal) -> None:
    out = past.call("explain", "@last-failed").out
    assert "reserve: it has failed: OUT_OF_STOCK: none left" in out
    assert "retry it" in out


def test_what_is_neither_code_nor_instance_is_refused(past: Terminal) -> None:
    assert past.call("explain", "nonsense").code == 3
    assert past.call("explain", "@nonsense").code == 2
    assert past.call("explain", "00000000-0000-7000-8000-000000000009").code == 3
    assert past.call("explain", "TEN-99").code == 3


def test_every_code_that_an_instance_fails_with_is_explained_without_a_store(
    terminal: Terminal,
) -> None:
    codes = {name for name, value in vars(failure).items() if name == value}
    assert codes == set(FAILURES)
    for code in codes:
        ended = terminal.call("explain", code.lower())
        assert (ended.code, ended.out.startswith(f"{code}  ")) == (0, True), ended.err
        assert "What to do: " in ended.out


def test_a_code_of_a_task_is_told_from_a_code_that_was_mistyped(terminal: Terminal) -> None:
    assert "Did you mean POISON?" in terminal.call("explain", "POISSON").err
    assert "a code of a task's own" in terminal.call("explain", "OUT_OF_STOCK").err
