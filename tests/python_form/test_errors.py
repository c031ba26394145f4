"""Whatever is wrong with a workflow function is told with its line, and what to write instead."""

# ruff: noqa: ANN401 - what a workflow is given does not matter here
from __future__ import annotations

import inspect
import linecache
from typing import Any

import pytest

from tenuto import InvalidDefinition, Problem, TenutoError, WorkflowFunction, sleep, workflow
from tenuto.model.codes import CATALOGUE
from tests.python_form.faults import FAULTS, Fault, Function, shelf
from tests.python_form.remedies import REMEDIES, Remedy
from tests.python_form.shop import bill, notify, pack, reserve, tidy


def faulty_line(fn: Function) -> int:
    lines, first = inspect.getsourcelines(fn)
    [number] = [n for n, line in enumerate(lines, start=first) if line.rstrip().endswith("# fault")]
    return number


def problems_of(fn: Function) -> tuple[Problem, ...]:
    with pytest.raises(InvalidDefinition) as caught:
        workflow(fn).checked()
    return caught.value.problems


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_with_its_line_and_what_to_write_instead(fault: Fault) -> None:
    """Using a future value where a present one is needed raises at once."""
    problems = problems_of(fault.function)
    line = faulty_line(fault.function)
    assert [(each.code, each.path) for each in problems] == [
        (fault.code, f"tests/python_form/faults.py:{line}")
    ]
    source = linecache.getline(inspect.getfile(fault.function), line).strip()
    assert f"`{source}`" in problems[0].message
    told = f"{problems[0].message} {problems[0].advice}".replace(source, "")
    assert [word for word in fault.words if word not in told] == []


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda remedy: remedy.function.__name__)
def test_what_is_advised_can_be_written(remedy: Remedy) -> None:
    [problem] = problems_of(FAULTS[remedy.function.__name__].function)
    assert f"`{remedy.advice}`" in (problem.advice or "")
    written = inspect.getsource(remedy.function).partition("\n")[2].replace('"', "'")
    assert remedy.advice.replace('"', "'") in written
    assert workflow(remedy.function).check().problems == ()


def test_every_code_has_a_fault_that_shows_it() -> None:
    shown = {fault.code for fault in FAULTS.values()}
    elsewhere = {"TEN-1101", "TEN-1118", "TEN-1122"}
    assert shown | elsewhere >= {code for code in CATALOGUE if code.startswith("TEN-11")}


def test_all_problems_of_a_function_are_told_at_once() -> None:
    def flow(order: Any) -> Any:
        paid = bill(order)
        if paid["amount"] > 1:
            tidy()
        for each in order["items"]:
            pack(each)
        tidy(1)  # type: ignore[call-arg]
        notify(f"{paid}")
        return object()

    codes = ["TEN-1104", "TEN-1105", "TEN-1110", "TEN-1106", "TEN-1109"]
    assert [each.code for each in problems_of(flow)] == codes


def test_what_follows_from_a_problem_is_not_told() -> None:
    def flow(order: Any) -> None:
        if order["a"]:
            paid = bill(order)
        notify(paid)  # type: ignore[possibly-undefined] # the `if` was not taken

    assert [each.code for each in problems_of(flow)] == ["TEN-1104"]


async def _coroutine(order: Any) -> None: ...


def _generator(order: Any) -> Any:
    yield order


def _starred(*orders: Any) -> None: ...


@pytest.mark.parametrize("fn", [_coroutine, _generator, _starred, 7, print, dict])
def test_only_plain_functions_describe_workflows(fn: Any) -> None:
    with pytest.raises(InvalidDefinition) as caught:
        WorkflowFunction(fn, None, {})  # type: ignore[arg-type]
    assert caught.value.code == "TEN-1101"


def test_an_empty_function_is_no_workflow() -> None:
    def flow(order: Any) -> None: ...

    [problem] = problems_of(flow)
    assert problem.code == "TEN-1017"
    assert problem.path.startswith("tests/python_form/test_errors.py:")


def test_constructs_mean_nothing_outside_a_workflow() -> None:
    for use in (lambda: sleep("PT1S"), lambda: pack.map(["a"]), lambda: reserve.after()({})):
        with pytest.raises(TenutoError, match="workflow function") as caught:
            use()
        assert caught.value.code == "TEN-1113"


def test_a_workflow_is_started_and_not_called() -> None:
    @workflow
    def flow(order: Any) -> Any:
        return reserve(order)

    with pytest.raises(TenutoError, match=r"app\.start"):
        flow({})


def test_a_value_that_got_away_is_refused_wherever_it_is_used() -> None:
    with pytest.raises(TenutoError, match="workflow `other`") as caught:
        bool(shelf.held)
    assert caught.value.code == "TEN-1104"
    assert "future value" in repr(shelf.held)


def test_a_function_may_name_what_is_defined_below_it() -> None:
    @workflow
    def flow(order: Any) -> Any:
        return defined_below(order)

    defined_below = reserve
    assert [each["id"] for each in flow.definition()["nodes"]] == ["reserve", "end"]  # type: ignore[union-attr,index,call-overload]


def test_a_name_that_is_never_defined_is_told_when_the_workflow_is_used() -> None:
    @workflow
    def flow(order: Any) -> Any:
        return never_defined(order)  # type: ignore[name-defined] # noqa: F821

    with pytest.raises(InvalidDefinition, match="never_defined") as caught:
        flow.definition()
    assert caught.value.code == "TEN-1102"
    assert "Define or import it." in str(caught.value)


def test_a_mistyped_name_is_told_with_the_one_that_is_meant() -> None:
    @workflow
    def flow(order: Any) -> Any:
        return reserv(order)  # type: ignore[name-defined] # noqa: F821

    with pytest.raises(InvalidDefinition, match="Did you mean `reserve`"):
        flow.definition()


def test_a_function_is_called_once() -> None:
    calls = []

    @workflow
    def flow(order: Any) -> Any:
        calls.append(1)
        return reserve(order)

    flow.checked()
    flow.definition()
    assert calls == [1]


def test_outside_a_workflow_a_task_is_its_function() -> None:
    assert reserve({"orderId": 7}) == {"reservation": 7}
