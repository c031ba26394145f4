"""`tenuto test-runs`: definitions that are not saved run with mocks, and leave nothing behind."""

from __future__ import annotations

import pytest

from tenuto import Tenuto
from tenuto.cli.test_runs import read_mocks
from tenuto.model.errors import InvalidInput
from tenuto.model.json import JSON, Object
from tests.cli.conftest import Terminal

ORDER: Object = {
    "id": "order",
    "steps": [
        {"stepId": "charge", "type": "TASK", "taskId": "far", "transitions": {"default": "paid"}},
        {
            "stepId": "paid",
            "type": "EVENT_WAIT",
            "eventPattern": "order.paid",
            "transitions": {"default": "rest"},
        },
        {"stepId": "rest", "type": "DELAY", "duration": "P3D", "transitions": {"default": "ship"}},
        {
            "stepId": "ship",
            "type": "TASK",
            "taskId": "double",
            "input": "{{steps.charge.output.amount}}",
            "outputVariable": "shipped",
        },
    ],
}
EVENT = ("--event", 'order.paid={"id": 7}')


async def nothing(app: Tenuto) -> None:
    del app


def test_a_test_run_has_mocks_events_and_no_delays_and_is_erased(terminal: Terminal) -> None:
    terminal.past(nothing)
    terminal.write("order.json", ORDER)
    mocked = ("--mock", 'charge={"amount": 21}', "--mock", "ship=42", "--skip-delays")
    ended = terminal.call("test-runs", "start", "order.json", *mocked, *EVENT, "-o", "json")
    assert ended.code == 0, ended.err
    found = ended.json
    assert (found["status"], found["notRun"]) == ("COMPLETED", [])
    assert terminal.call("show", found["id"]).code == 3, "it is erased"
    assert terminal.call("list", "-o", "json").json["items"] == []
    assert terminal.call("workflows", "list", "-o", "json").json["items"] == []
    actions = terminal.call("audit", "list", "-o", "json").json["items"]
    assert {each["action"] for each in actions} == {"start_test_run"}


def test_a_step_fails_as_its_mock_says(terminal: Terminal) -> None:
    terminal.past(nothing)
    terminal.write("order.json", ORDER)
    failed = terminal.call(
        *("test-runs", "start", "order.json", "--fail", "charge=CARD_DECLINED: no funds")
    )
    assert failed.code == 1
    assert "in charge: CARD_DECLINED: no funds" in failed.err
    assert "not run, and without a mock: ship" in failed.err
    assert "tenuto show" not in failed.err, "what is erased is not offered"


def test_a_test_run_that_is_kept_takes_events_and_is_stopped(terminal: Terminal) -> None:
    terminal.past(nothing)
    terminal.write("order.json", ORDER)
    late = terminal.call("test-runs", "start", "order.json", "--keep", "--timeout", "0")
    assert late.code == 124, late.err
    [id] = [each.split()[3] for each in late.err.splitlines() if "test-runs send" in each]
    assert "test-runs stop" in late.err
    sent = terminal.call("test-runs", "send", id, "order.paid", '{"id": 7}', "-o", "json")
    assert (sent.code, sent.json["duplicate"]) == (0, False)
    assert terminal.call("test-runs", "stop", id, "--reason", "seen").code == 0
    assert terminal.call("test-runs", "stop", id).code == 3


def test_a_test_run_ends_with_a_step_and_may_run_it_alone(terminal: Terminal) -> None:
    terminal.past(nothing)
    terminal.write("order.json", ORDER)
    up_to = terminal.call("test-runs", "start", "order.json", "--up-to", "charge", "-o", "json")
    assert (up_to.code, up_to.json["status"]) == (0, "WAITING_FOR_EVENT"), up_to.err
    amount = ("--mock", 'charge={"amount": 21}', "--skip-delays", *EVENT)
    only = terminal.call("test-runs", "start", "order.json", "--only", "ship", *amount)
    assert (only.code, only.json) == (0, 42), only.err
    unknown = terminal.call("test-runs", "start", "order.json", "--only", "shop")
    assert (unknown.code, "Did you mean `ship`?" in unknown.err) == (2, True), unknown.err


def test_mocks_that_cannot_be_read_are_refused() -> None:
    given: Object = {"a": {"output": 1}, "b": {"error": {"code": "X"}}}
    mocks = read_mocks(given, ["c=7", "d=seven"], ["e=X: y"])
    assert [mocks[each].output for each in "acd"] == [1, 7, "seven"]
    assert (mocks["b"].error, mocks["e"].error) != (None, None)
    faulty: list[JSON] = [{"a": {"outptu": 1}}, {"a": 1}, [1]]
    for wrong in faulty:
        with pytest.raises(InvalidInput):
            read_mocks(wrong, [], [])
    with pytest.raises(InvalidInput):
        read_mocks(None, ["charge"], [])
