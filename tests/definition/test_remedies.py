"""The advice of each problem, carried out as its text says, leads to a definition without it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tenuto.definition import check
from tenuto.model.codes import CATALOGUE
from tests.definition import faults
from tests.definition.faults import FAULTS, Document, Fault, steps_document

_PARTS = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]")


def _at(document: Document, path: str) -> tuple[Any, Any]:
    """The owner of a value, and its key or index in there."""
    keys = [name or int(index) for name, index in _PARTS.findall(path)]
    owner: Any = document
    for key in keys[:-1]:
        owner = owner[key]
    return owner, keys[-1]


Carry = Callable[[Document, str], None]


def written(value: Any) -> Carry:  # noqa: ANN401 - any JSON
    def carry(document: Document, path: str) -> None:
        owner, key = _at(document, path)
        owner[key] = value

    return carry


def added(name: str, value: str) -> Carry:
    def carry(document: Document, path: str) -> None:
        owner, key = _at(document, path)
        owner[key][name] = value

    return carry


def removed(document: Document, path: str) -> None:
    owner, key = _at(document, path)
    del owner[key]


def removed_step(document: Document, path: str) -> None:
    """The step, and the transitions to it."""
    owner, key = _at(document, path)
    name = owner[key]["stepId"]
    del owner[key]
    for step in document["steps"]:
        for handle, targets in list(step.get("transitions", {}).items()):
            if isinstance(targets, list) and name in targets:
                targets.remove(name)
            elif targets == name:
                del step["transitions"][handle]


def renamed(name: str) -> Carry:
    """The step, and the transition that leads to it."""

    def carry(document: Document, path: str) -> None:
        step, key = _at(document, path)
        targets = document["steps"][0]["transitions"]["default"]
        document["steps"][0]["transitions"]["default"] = [
            *(each for each in targets if each != step[key]),
            name,
        ]
        step[key] = name

    return carry


def other_name(document: Document, path: str) -> None:
    owner, key = _at(document, path)
    owner["n"] = owner.pop(key)


def reached(document: Document, path: str) -> None:
    owner, key = _at(document, path)
    document["steps"][0]["transitions"]["default"].append(owner[key]["stepId"])


def with_body(document: Document, path: str) -> None:
    owner, key = _at(document, path)
    owner[key]["transitions"] = {"loop": "first_of_body"}
    owner.append({"stepId": "first_of_body", "type": "TASK", "taskId": "work"})


def behind_done(document: Document, path: str) -> None:
    """The end moves from the body of the loop to the step after it."""
    owner, key = _at(document, path)
    name = owner[key]["stepId"]
    for step in document["steps"]:
        if step["stepId"] == "body":
            step["transitions"]["default"].remove(name)
        if step["stepId"] == "after":
            step["transitions"] = {"default": name}


def own_workflow(document: Document, path: str) -> None:
    """The innermost of the loops becomes a workflow of its own."""
    owner, key = _at(document, path)
    del owner[key + 1]
    owner[key] = {
        "stepId": owner[key]["stepId"],
        "type": "SUB_WORKFLOW",
        "workflowId": "inner",
        "transitions": {"default": owner[key]["transitions"]["done"]},
    }


def handles_declared(document: Document, path: str) -> None:
    step, _ = _at(document, path.rpartition(".transitions")[0] + ".x")
    step["handles"] = ["approved"]


class Remedy(NamedTuple):
    """What the advice says, and the same as a change of the document."""

    advice: str
    carry: Carry


REMEDIES: dict[Fault, Remedy] = {
    faults.unknown_top_field: Remedy("remove it", removed),
    faults.bad_definition_id: Remedy("letters, digits, `_` and `-`", written("no-spaces-please")),
    faults.wrong_type: Remedy("a value of the expected type", written("7")),
    faults.two_spellings: Remedy("Keep one of the two", removed),
    faults.bad_schema: Remedy("Correct the schema", written("object")),
    faults.unknown_field: Remedy("remove it", removed),
    faults.missing_field: Remedy("Add the field", added("taskId", "work")),
    faults.unknown_type: Remedy("one of the listed types", written("TERMINATE")),
    faults.bad_id: Remedy("without `-` at the beginning", renamed("1-st")),
    faults.duplicate_id: Remedy("Rename one of them", renamed("later")),
    faults.refused_variable: Remedy("another name", written("result")),
    faults.reserved_branch: Remedy("another id", written("broken")),
    faults.broken_expression: Remedy("Correct it", written("ctx.input.a === 1")),
    faults.broken_template: Remedy("Correct it", written("{{ctx.input.n}}")),
    faults.secret_in_an_operator: Remedy(
        "`{{secrets.NAME}}` alone or within text", written("{{secrets.KEY}}x")
    ),
    faults.secret_where_there_is_none: Remedy("exists at this place", written("ctx.input.x")),
    faults.unknown_step_in_an_expression: Remedy(
        "Name a step of this definition", written("{{steps.begin.output}}")
    ),
    faults.quoted_unknown_step: Remedy(
        "Name a step of this definition", written("steps.begin.status === 'COMPLETED'")
    ),
    faults.body_seen_from_outside: Remedy("`steps.ID.output`", written("{{steps.begin.output}}")),
    faults.context_item_outside_a_loop: Remedy("`ctx.input`", written("{{ctx.input.items}}")),
    faults.compensation_that_names_no_step: Remedy(
        "Name a step of this definition", written("steps.c.output.id")
    ),
    faults.text_that_is_meant_as_a_template: Remedy("as a template", written("{{ctx.input.id}}")),
    faults.variable_that_is_never_set: Remedy("`ctx.input`", written("{{ctx.input.id}}")),
    faults.later_step: Remedy("`steps.ID.output`", written("{{steps.begin.output}}")),
    faults.item_of_a_while: Remedy("Correct the name", written("{{index}}")),
    faults.field_that_events_do_not_have: Remedy(
        "`event.payload`", written("event.payload.orderId === ctx.input.orderId")
    ),
    faults.loop_without_a_body: Remedy("Lead the handle `loop`", with_body),
    faults.more_than_there_are_items: Remedy("Remove it", removed),
    faults.event_where_there_is_none: Remedy("exists at this place", written("ctx.input.x")),
    faults.item_outside_a_loop: Remedy("exists at this place", written("{{ctx.input.x}}")),
    faults.bad_payload_path: Remedy("`customer.id`", written("customer.id")),
    faults.bad_pattern: Remedy("`payment.received`", written("payment.received")),
    faults.reserved_event: Remedy("another first word", written("order.completed")),
    faults.reserved_task: Remedy("Choose another name", written("another.task")),
    faults.built_in_task: Remedy("Choose another name", written("another.task")),
    faults.url_as_a_host: Remedy("the name of the host alone", written("a.org")),
    faults.memory_in_bytes: Remedy("within the bounds", written(64)),
    faults.url_without_a_scheme: Remedy(
        "https://api.example.org/orders/{{ctx.input.id}}",
        written("https://api.example.org/orders/{{ctx.input.id}}"),
    ),
    faults.url_with_a_password: Remedy("with `auth`", written("https://a.org/")),
    faults.small_method: Remedy("one of the listed values", written("GET")),
    faults.form_of_a_list: Remedy("a body of that kind", written({"a": 1})),
    faults.auth_without_a_value: Remedy("Add the field", added("value", "{{secrets.token}}")),
    faults.too_many_events: Remedy("within the bounds", written(1_000)),
    faults.counted_and_mapped: Remedy("remove the others", removed),
    faults.no_values: Remedy("Fill it in", written({"n": 1})),
    faults.reserved_value: Remedy("another name", other_name),
    faults.long_pattern: Remedy("a shorter one", written("payment.x")),
    faults.long_task_id: Remedy("a shorter one", written("x")),
    faults.costly_condition: Remedy(
        "event.payload.orderId === workflow.input.orderId",
        written(
            "event.payload.orderId === workflow.input.orderId && event.payload.amount > ctx.input.n"
        ),
    ),
    faults.long_lookback: Remedy("Set the look-back to", written("P1D")),
    faults.unknown_target: Remedy("Name a step of this definition", written("late")),
    faults.unreachable: Remedy("Add a transition to it", reached),
    faults.cycle: Remedy("Remove one of the transitions", removed),
    faults.edge_twice: Remedy("Keep one of the two", removed),
    faults.foreign_handle: Remedy("declares its own in `handles`", handles_declared),
    faults.late_start: Remedy("Keep one start node", removed_step),
    faults.failing_and_handling: Remedy("`fail_workflow`", removed),
    faults.join_too_large: Remedy("Lower `atLeast`", written({"atLeast": 2})),
    faults.join_of_exclusive_handles: Remedy("Lower `atLeast`", written({"atLeast": 1})),
    faults.join_of_none: Remedy("within the bounds", written(1)),
    faults.cancels_itself: Remedy("Name other nodes", written("y")),
    faults.completes_no_loop: Remedy("Name a loop", written("each")),
    faults.into_a_loop: Remedy("Lead the body back to its loop node", removed),
    faults.end_in_a_loop: Remedy("Move it behind handle `done`", behind_done),
    faults.loops_too_deep: Remedy("a workflow of their own", own_workflow),
    faults.no_effect: Remedy("Remove it", removed),
    faults.bad_retry: Remedy("within the bounds", written(1)),
    faults.bad_duration: Remedy("`P3D`", written("P3D")),
    faults.bad_calendar: Remedy("a value of the expected type", written("office")),
    faults.late_warning: Remedy("a shorter `warnAfter`", written("PT4H")),
    faults.empty_sla: Remedy("remove the others", added("breachAfter", "P1D")),
    faults.bad_deadline: Remedy("`2026-11-15T20:12:14Z`", written("2026-11-15T20:12:14Z")),
    faults.empty_text: Remedy("Fill it in", written("work")),
    faults.exclusive_fields: Remedy("remove the others", removed),
    faults.unknown_choice: Remedy("one of the listed values", written("first")),
    faults.compensation_of_nothing: Remedy("Name a step of this definition", written("a")),
    faults.compensation_without_task: Remedy("Add the field", added("taskId", "undo")),
    faults.bad_cancellation_trigger: Remedy("the expected type", written(True)),
    faults.trigger_that_sees_an_instance: Remedy(
        "exists at this place", written("event.payload.id === 7")
    ),
    faults.bad_concurrency: Remedy("within the bounds", written(1)),
    faults.unknown_policy_of_a_limit: Remedy("one of the listed values", written("reject")),
    faults.debounce_without_a_period: Remedy("Add the field", added("period", "PT1S")),
    faults.rate_of_nothing: Remedy("within the bounds", written(1)),
    faults.unfit_text: Remedy("Replace the value", written("a b")),
}


def test_every_fault_has_its_remedy() -> None:
    assert REMEDIES.keys() == set(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_advice_that_is_carried_out_leads_to_a_valid_definition(fault: Fault) -> None:
    document = steps_document()
    code, path = fault(document)
    assert code in {each.code for each in check(document).problems}
    remedy = REMEDIES[fault]
    assert remedy.advice in CATALOGUE[code].advice
    remedy.carry(document, path)
    assert [(each.code, each.path, each.message) for each in check(document).problems] == []
