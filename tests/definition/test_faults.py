"""Validation finds every problem at once, each with its code and its place."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenuto.definition import check, compile_definition
from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import InvalidDefinition
from tests.definition.faults import FAULTS, WARNINGS, Document, Expected, Fault, steps_document
from tests.definition.values import Value
from tests.kit.breadth import breadth


def found_in(document: Document) -> list[Expected]:
    return [(each.code, each.path) for each in check(document).problems]


def name_of(fault: Fault) -> str:
    return fault.__name__


def test_the_document_is_valid_before_it_is_spoiled() -> None:
    assert found_in(steps_document()) == []


@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_each_fault_alone_is_reported_where_it_is(fault: Fault) -> None:
    document = steps_document()
    expected = fault(document)
    checked = check(document)
    assert (checked.definition is not None) == (fault in WARNINGS)
    assert [(each.code, each.path) for each in checked.problems] == [expected]
    assert all(each.message and each.advice for each in checked.problems)


@pytest.mark.slow
def test_a_pair_of_faults_is_reported_together() -> None:
    """Each fault with several others; in `make soak` with all."""
    for apart in range(1, len(FAULTS), breadth(12, 1)):
        for first, second in zip(FAULTS, FAULTS[apart:], strict=False):
            document = steps_document()
            expected = {first(document), second(document)}
            missing = expected - set(found_in(document))
            assert not missing, (name_of(first), name_of(second), missing, found_in(document))


def test_one_fault_of_each_kind_gives_all_of_them_in_one_answer() -> None:
    document = steps_document()
    expected = {fault(document) for fault in FAULTS}
    assert expected <= set(found_in(document))


def test_every_code_of_definitions_has_a_test_that_provokes_it() -> None:
    provoked = {fault(steps_document())[0] for fault in FAULTS}
    elsewhere = {
        "TEN-1000": "the exception that holds the others",
        "TEN-1001": "test_documents",
        "TEN-1002": "test_documents",
        "TEN-1004": "test_sizes",
        "TEN-1005": "test_sizes",
        "TEN-1006": "test_forms",
        "TEN-1052": "test_forms",
        "TEN-1056": "test_forms",
        "TEN-1036": "test_definition_work",
        "TEN-1061": "test_schemas",
        "TEN-1063": "test_schema_work",
        "TEN-1070": "test_round_trip",
        "TEN-1600": "engine/test_code_checks",
        "TEN-1604": "engine/test_code_checks",
        "TEN-1661": "definition/test_secrets",
        "TEN-1662": "definition/test_secrets",
        "TEN-1680": "definition/test_encrypted",
    }
    definitions = {code for code in CATALOGUE if code < "TEN-1100" or code[:6] == "TEN-16"}
    assert provoked | set(elsewhere) == definitions


def test_the_exception_names_every_error_and_no_warning() -> None:
    document = steps_document()
    expected = {fault(document) for fault in FAULTS if fault not in WARNINGS}
    with pytest.raises(InvalidDefinition) as raised:
        compile_definition(document)
    problems = raised.value.problems
    assert expected <= {(each.code, each.path) for each in problems}
    assert {each.severity for each in problems} == {"error"}


def test_a_cycle_is_spelled_out() -> None:
    steps: Value = [
        {"stepId": a, "type": "TASK", "taskId": "t", "transitions": {"default": b}}
        for a, b in (("a", "b"), ("b", "c"), ("c", "b"))
    ]
    [problem] = check({"steps": steps}).problems
    assert problem.code == "TEN-1042"
    assert "b → c → b" in problem.message


def test_the_nearest_name_is_offered() -> None:
    document = steps_document()
    document["steps"][1]["transitions"]["default"] = "jion"
    [problem] = [each for each in check(document).problems if each.code == "TEN-1040"]
    assert "`join`" in problem.advice


def test_an_expression_fault_names_its_position() -> None:
    document = steps_document()
    document["steps"][1]["when"] = "ctx.a === )"
    [problem] = check(document).problems
    assert "at character 11" in problem.message


def test_a_condition_that_cannot_be_indexed_says_what_it_costs() -> None:
    document = steps_document()
    document["steps"][5]["eventCondition"] = "event.payload.amount > 5"
    [problem] = check(document).problems
    assert problem.severity == "warning"
    assert "every instance that waits" in problem.message


def test_a_lookback_beyond_what_is_kept_or_cheap_is_warned_about() -> None:
    def warned(lookback: str, **kept: int) -> list[str]:
        document = steps_document()
        document["steps"][5]["lookback"] = lookback
        problems = check(document, events_kept=timedelta(**kept or {"days": 7})).problems
        assert all(each.severity == "warning" for each in problems)
        assert [each.code for each in problems] in ([], ["TEN-1039"])
        return [each.message for each in problems]

    assert warned("P7D") == warned("PT0S") == []
    [beyond] = warned("PT169H")
    assert "the 7 days for which events are kept" in beyond
    assert warned("P2D", hours=36) == [
        "it looks back further than the 1.5 days for which events are kept"
    ]
    [costly] = warned("P1M", days=365)
    assert "all events of its pattern since then are read" in costly


def test_a_cancellation_trigger_that_compares_nothing_with_the_input_says_what_it_costs() -> None:
    """What else an instance has may change while the trigger stands: it cannot be looked up by."""

    def warned(condition: str) -> list[Expected]:
        trigger = {"eventPattern": "order.cancelled", "eventCondition": condition}
        document = steps_document() | {"cancellationTriggers": [trigger]}
        document["steps"][1]["outputVariable"] = "stage"
        return found_in(document)

    path = "$.cancellationTriggers[0].eventCondition"
    assert warned("event.payload.stage === ctx.stage") == [("TEN-1035", path)]
    assert warned("event.payload.amount > workflow.input.amount") == [("TEN-1035", path)]
    assert warned("event.payload.id === workflow.input.id") == []
    assert warned("event.payload.id === ctx.input.id && event.payload.s === ctx.stage") == []
    assert warned("event.payload.all === true") == []
