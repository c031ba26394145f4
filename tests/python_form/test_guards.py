"""A step behind a block is not held up by what waits in it: that is told."""

# ruff: noqa: ANN401, SIM117 - what a workflow is given does not matter here, nor how blocks nest
from __future__ import annotations

from typing import Any

import pytest

from tenuto import (
    Problem,
    approval,
    one_of,
    otherwise,
    sleep,
    terminate,
    wait_event,
    when,
    workflow,
)
from tests.python_form.faults import Function
from tests.python_form.shop import bill, notify, pack, score, send, tidy


def warnings_of(fn: Function) -> list[Problem]:
    checked = workflow(fn).check()
    assert checked.definition is not None
    return [each for each in checked.problems if each.severity == "warning"]


def asks_for_approval(order: Any) -> Any:
    with when(order["amount"] > 1000):
        wait_event("approved")
    return bill(order)


def asks_a_person(order: Any) -> Any:
    with when(order["amount"] > 1000):
        approval(users="ann")
    return bill(order)


def sleeps_first(order: Any) -> None:
    with when(order["amount"] > 1000):
        with when(order["late"]):
            sleep("PT1H")
        notify("late")


def asks_deep_inside(order: Any) -> Any:
    with when(order["amount"] > 1000):
        with when(order["new"]):
            wait_event("approved")
    return bill(order)


def ends_early(order: Any) -> Any:
    with when(order["amount"] > 1000):
        terminate("FAILED", reason="too much")
    return bill(order)


@pytest.mark.parametrize(
    ("fn", "step", "advice"),
    [
        (asks_for_approval, "`bill` does not wait for `wait_event`", "into the block behind that"),
        (asks_deep_inside, "`bill` does not wait for `wait_event`", "`.after_any(…)`"),
        (asks_a_person, "`bill` does not wait for `approval`", "into the block behind that"),
        (sleeps_first, "`notify` does not wait for `sleep`", "into the block behind that"),
        (ends_early, "`bill` does not wait for `terminate`", "`with otherwise():`"),
    ],
)
def test_a_step_that_only_looks_guarded_is_told(fn: Function, step: str, advice: str) -> None:
    [warning] = warnings_of(fn)
    assert warning.code == "TEN-1122"
    assert warning.path.startswith("tests/python_form/test_guards.py:")
    assert step in warning.message
    assert advice in warning.advice


def waits_in_both_sides(order: Any) -> Any:
    with when(order["amount"] > 1000):
        wait_event("approved")
        much = bill(order)
    with otherwise():
        little = bill(order)
    return one_of(much, little)


def begins_after_either_side(order: Any) -> Any:
    with when(order["amount"] > 1000):
        asked = wait_event("approved")
    with otherwise():
        free = score(order)
    return bill.after_any(asked, free)(order)


def works_while_it_waits(order: Any) -> Any:
    with when(order["amount"] > 1000):
        asked = wait_event("approved")
    with otherwise():
        free = score(order)
    packed = pack.map(order["items"])
    return send(packed, one_of(asked, free))


def goes_on_in_the_other_side(order: Any) -> None:
    with when(order["amount"] > 1000):
        terminate("FAILED", reason="too much")
    with otherwise():
        bill(order)


def waits_behind_the_block(order: Any) -> Any:
    with when(order["amount"] > 1000):
        sleep("PT1H")
    sleep("PT1S")
    return bill(order)


def has_nothing_behind_it(order: Any) -> None:
    tidy()
    with when(order["amount"] > 1000):
        sleep("PT1H")
        notify("late")


@pytest.mark.parametrize(
    "fn",
    [
        waits_in_both_sides,
        begins_after_either_side,
        works_while_it_waits,
        goes_on_in_the_other_side,
        waits_behind_the_block,
        has_nothing_behind_it,
    ],
)
def test_what_waits_for_either_side_is_fine(fn: Function) -> None:
    assert warnings_of(fn) == []
