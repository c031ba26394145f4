"""One way to spoil a valid document for each kind of fault, and what must then be reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.definition.values import Value

Document = dict[str, Any]
Expected = tuple[str, str]
"""The code, and the path."""

Fault = Callable[[Document], Expected]


def steps_document() -> Document:
    """A valid document in which every fault below finds a place of its own."""
    return {
        "id": "orders",
        "name": "Orders",
        "inputSchema": {"type": "object", "required": ["orderId"]},
        "steps": [
            _task("begin", transitions={"default": ["a", "b", "c", "d", "wait", "each", "decide"]}),
            _task("a", transitions={"default": "join"}),
            _task("b", transitions={"default": "join"}),
            _task("c", input={"n": "{{ctx.input.n}}"}),
            _task("d", retry={"maxAttempts": 2}, outputVariable="d", errorHandling="continue"),
            {
                "stepId": "wait",
                "type": "EVENT_WAIT",
                "eventPattern": "payment.received",
                "eventCondition": "event.payload.id === ctx.input.id",
                "eventPayloadMapping": {"paid": "amount"},
                "eventTimeout": {"duration": "P3D", "timeoutHandlerStepId": "late"},
            },
            _task("late"),
            _task("join", joinMode={"atLeast": 2}),
            {
                "stepId": "each",
                "type": "LOOP",
                "source": "{{ctx.input.items}}",
                "transitions": {"loop": "body", "done": "after"},
            },
            _task("body", transitions={"default": "each"}),
            _task("after"),
            {
                "stepId": "decide",
                "type": "CONDITION",
                "branches": [{"id": "yes", "when": "true"}, {"id": "no", "when": "false"}],
                "transitions": {"yes": "y", "no": "n"},
            },
            _task("y"),
            _task("n"),
        ],
        "compensationSteps": [
            {"stepId": "undo_a", "compensationFor": "a", "type": "TASK", "taskId": "undo"}
        ],
        "cancellationTriggers": [{"eventPattern": "order.cancelled", "reason": "gone"}],
        "triggers": [{"eventPattern": "order.placed", "inputMapping": {"orderId": "id"}}],
        "options": {"timeout": "P30D", "concurrency": {"limit": 10}, "retention": "P90D"},
    }


def _task(name: str, **fields: Value) -> Document:
    return {"stepId": name, "type": "TASK", "taskId": "work", **fields}


def _step(document: Document, name: str) -> tuple[Document, str]:
    for index, step in enumerate(document["steps"]):
        if step["stepId"] == name:
            return step, f"$.steps[{index}]"
    raise AssertionError(name)


def _reached(document: Document, step: Document) -> str:
    """Add a step that `begin` leads to; its path."""
    document["steps"].append(step)
    document["steps"][0]["transitions"]["default"].append(step["stepId"])
    return f"$.steps[{len(document['steps']) - 1}]"


def unknown_top_field(document: Document) -> Expected:
    document["stepz"] = []
    return "TEN-1012", "$.stepz"


def bad_definition_id(document: Document) -> Expected:
    document["id"] = "no spaces please"
    return "TEN-1020", "$.id"


def wrong_type(document: Document) -> Expected:
    document["name"] = 7
    return "TEN-1010", "$.name"


def two_spellings(document: Document) -> Expected:
    document["workflowOptions"] = {}
    return "TEN-1019", "$.workflowOptions"


def bad_schema(document: Document) -> Expected:
    document["inputSchema"]["type"] = "objekt"
    return "TEN-1060", "$.inputSchema.type"


def unknown_field(document: Document) -> Expected:
    step, path = _step(document, "c")
    step["inptu"] = 1
    return "TEN-1012", f"{path}.inptu"


def missing_field(document: Document) -> Expected:
    path = _reached(document, {"stepId": "without_task", "type": "TASK"})
    return "TEN-1011", path


def unknown_type(document: Document) -> Expected:
    path = _reached(document, {"stepId": "odd", "type": "TASKK"})
    return "TEN-1022", f"{path}.type"


def bad_id(document: Document) -> Expected:
    path = _reached(document, _task("1.st"))
    return "TEN-1020", f"{path}.stepId"


def duplicate_id(document: Document) -> Expected:
    document["steps"].append(_task("late"))
    return "TEN-1021", f"$.steps[{len(document['steps']) - 1}].stepId"


def refused_variable(document: Document) -> Expected:
    step, path = _step(document, "d")
    step["outputVariable"] = "input"
    return "TEN-1023", f"{path}.outputVariable"


def reserved_branch(document: Document) -> Expected:
    path = _reached(
        document,
        {"stepId": "fork", "type": "CONDITION", "branches": [{"id": "error", "when": "1"}]},
    )
    return "TEN-1024", f"{path}.branches[0].id"


def broken_expression(document: Document) -> Expected:
    step, path = _step(document, "a")
    step["when"] = "ctx.a ==="
    return "TEN-1030", f"{path}.when"


def broken_template(document: Document) -> Expected:
    step, path = _step(document, "c")
    step["input"]["n"] = "{{ctx.}}"
    return "TEN-1031", f"{path}.input.n"


def event_where_there_is_none(document: Document) -> Expected:
    step, path = _step(document, "b")
    step["when"] = "event.payload.x"
    return "TEN-1032", f"{path}.when"


def item_outside_a_loop(document: Document) -> Expected:
    step, path = _step(document, "after")
    step["input"] = "{{item}}"
    return "TEN-1032", f"{path}.input"


def secret_in_an_operator(document: Document) -> Expected:
    path = _reached(document, _task("signs", input={"a": ["{{secrets.KEY + 'x'}}"]}))
    return "TEN-1660", f"{path}.input.a[0]"


def secret_where_there_is_none(document: Document) -> Expected:
    step, path = _step(document, "b")
    step["when"] = "secrets.KEY"
    return "TEN-1032", f"{path}.when"


def unknown_step_in_an_expression(document: Document) -> Expected:
    path = _reached(document, _task("looks", input={"a": ["{{steps.jion.output}}"]}))
    return "TEN-1057", f"{path}.input.a[0]"


def quoted_unknown_step(document: Document) -> Expected:
    path = _reached(document, _task("quotes", when="steps['no-such'].status === 'COMPLETED'"))
    return "TEN-1057", f"{path}.when"


def body_seen_from_outside(document: Document) -> Expected:
    path = _reached(document, _task("peeks", input="{{steps.body.output}}"))
    return "TEN-1058", f"{path}.input"


def context_item_outside_a_loop(document: Document) -> Expected:
    path = _reached(document, _task("no_item", input="{{ctx.item}}"))
    return "TEN-1058", f"{path}.input"


def compensation_that_names_no_step(document: Document) -> Expected:
    undo: Document = {"stepId": "undo_c", "compensationFor": "c", "taskId": "undo"}
    document["compensationSteps"].append({**undo, "input": {"id": "steps.cc.output.id"}})
    return "TEN-1057", f"$.compensationSteps[{len(document['compensationSteps']) - 1}].input.id"


def text_that_is_meant_as_a_template(document: Document) -> Expected:
    path = _reached(document, _task("bare", input={"id": "ctx.input.id"}))
    return "TEN-1064", f"{path}.input.id"


def variable_that_is_never_set(document: Document) -> Expected:
    path = _reached(document, _task("unset", input="{{ctx.nowhere.id}}"))
    return "TEN-1058", f"{path}.input"


def later_step(document: Document) -> Expected:
    path = _reached(
        document,
        _task("early", input="{{steps.follows.output}}", transitions={"default": "follows"}),
    )
    document["steps"].append(_task("follows"))
    return "TEN-1058", f"{path}.input"


def item_of_a_while(document: Document) -> Expected:
    loop: Document = {"stepId": "again", "type": "LOOP", "while": "index < 3"}
    _reached(document, {**loop, "transitions": {"loop": "repeated"}})
    document["steps"].append(_task("repeated", input="{{item}}"))
    return "TEN-1058", f"$.steps[{len(document['steps']) - 1}].input"


def field_that_events_do_not_have(document: Document) -> Expected:
    wait: Document = {"stepId": "hears", "type": "EVENT_WAIT", "eventPattern": "p"}
    path = _reached(document, {**wait, "eventCondition": "event.orderId === ctx.input.orderId"})
    return "TEN-1058", f"{path}.eventCondition"


def loop_without_a_body(document: Document) -> Expected:
    return "TEN-1059", _reached(document, {"stepId": "idle", "type": "LOOP", "source": [1]})


def more_than_there_are_items(document: Document) -> Expected:
    loop: Document = {"stepId": "few", "type": "LOOP", "source": [1, 2], "enough": 3}
    path = _reached(document, {**loop, "transitions": {"loop": "one_of_few"}})
    document["steps"].append(_task("one_of_few"))
    return "TEN-1053", f"{path}.enough"


def bad_payload_path(document: Document) -> Expected:
    step, path = _step(document, "wait")
    step["eventPayloadMapping"]["paid"] = "a[[0"
    return "TEN-1033", f"{path}.eventPayloadMapping.paid"


def bad_pattern(document: Document) -> Expected:
    step, path = _step(document, "wait")
    step["eventPattern"] = "payment received"
    return "TEN-1034", f"{path}.eventPattern"


def reserved_event(document: Document) -> Expected:
    path = _reached(document, {"stepId": "told", "type": "EMIT", "pattern": "workflow.completed"})
    return "TEN-1038", f"{path}.pattern"


def reserved_task(document: Document) -> Expected:
    path = _reached(document, {"stepId": "sent", "type": "TASK", "taskId": "tenuto.callback"})
    return "TEN-1065", f"{path}.taskId"


def built_in_task(document: Document) -> Expected:
    path = _reached(document, {"stepId": "inner", "type": "TASK", "taskId": "@http"})
    return "TEN-1065", f"{path}.taskId"


def _code(name: str, **fields: Value) -> Document:
    return {"stepId": name, "type": "JAVASCRIPT", "code": "return 1", **fields}


def url_as_a_host(document: Document) -> Expected:
    path = _reached(document, _code("calls", allowHosts=["a.org", "https://a.org/x"]))
    return "TEN-1601", f"{path}.allowHosts[1]"


def memory_in_bytes(document: Document) -> Expected:
    path = _reached(document, _code("large", memoryLimit=64 << 20))
    return "TEN-1014", f"{path}.memoryLimit"


def _request(name: str, **fields: Value) -> Document:
    return {"stepId": name, "type": "HTTP", "url": "https://a.org", **fields}


def url_without_a_scheme(document: Document) -> Expected:
    path = _reached(document, _request("called", url="a.org/{{ctx.input.n}}"))
    return "TEN-1602", f"{path}.url"


def url_with_a_password(document: Document) -> Expected:
    path = _reached(document, _request("known", url="https://ann:{{secrets.key}}@a.org/"))
    return "TEN-1602", f"{path}.url"


def small_method(document: Document) -> Expected:
    path = _reached(document, _request("got", method="get"))
    return "TEN-1013", f"{path}.method"


def form_of_a_list(document: Document) -> Expected:
    path = _reached(document, _request("posted", method="POST", bodyType="form", body=[1]))
    return "TEN-1603", f"{path}.body"


def auth_without_a_value(document: Document) -> Expected:
    path = _reached(document, _request("signed", auth={"type": "bearer"}))
    return "TEN-1011", f"{path}.auth"


def too_many_events(document: Document) -> Expected:
    wait: Document = {"stepId": "many", "type": "EVENT_WAIT", "eventPattern": "p", "count": 1_001}
    return "TEN-1014", f"{_reached(document, wait)}.count"


def counted_and_mapped(document: Document) -> Expected:
    wait: Document = {"stepId": "mapped", "type": "EVENT_WAIT", "eventPattern": "p", "count": 2}
    path = _reached(document, {**wait, "eventPayloadMapping": {"x": "a"}})
    return "TEN-1018", f"{path}.eventPayloadMapping"


def no_values(document: Document) -> Expected:
    path = _reached(document, {"stepId": "counted", "type": "SET", "values": {}})
    return "TEN-1017", f"{path}.values"


def reserved_value(document: Document) -> Expected:
    path = _reached(document, {"stepId": "counted", "type": "SET", "values": {"input": 1}})
    return "TEN-1023", f"{path}.values.input"


def long_pattern(document: Document) -> Expected:
    document["triggers"].append({"eventPattern": "payment." + "x" * 248})
    return "TEN-1025", f"$.triggers[{len(document['triggers']) - 1}].eventPattern"


def long_task_id(document: Document) -> Expected:
    path = _reached(document, {**_task("long"), "taskId": "x" * 256})
    return "TEN-1025", f"{path}.taskId"


def costly_condition(document: Document) -> Expected:
    step, path = _step(document, "wait")
    step["eventCondition"] = "event.payload.amount > ctx.input.n"
    return "TEN-1035", f"{path}.eventCondition"


def long_lookback(document: Document) -> Expected:
    step, path = _step(document, "wait")
    step["lookback"] = "P1Y"
    return "TEN-1039", f"{path}.lookback"


def unknown_target(document: Document) -> Expected:
    step, path = _step(document, "d")
    step.setdefault("transitions", {})["default"] = "nowhere"
    return "TEN-1040", f"{path}.transitions.default"


def unreachable(document: Document) -> Expected:
    document["steps"].append(_task("island"))
    return "TEN-1041", f"$.steps[{len(document['steps']) - 1}]"


def cycle(document: Document) -> Expected:
    _reached(document, _task("ping", transitions={"default": "pong"}))
    document["steps"].append(_task("pong", transitions={"default": "ping"}))
    return "TEN-1042", f"$.steps[{len(document['steps']) - 1}].transitions.default"


def edge_twice(document: Document) -> Expected:
    path = _reached(document, _task("twice", transitions={"default": ["join", "join"]}))
    return "TEN-1043", f"{path}.transitions.default[1]"


def foreign_handle(document: Document) -> Expected:
    path = _reached(document, _task("stray", transitions={"approved": "late"}))
    return "TEN-1044", f"{path}.transitions.approved"


def late_start(document: Document) -> Expected:
    path = _reached(document, {"stepId": "late_start", "type": "START"})
    return "TEN-1045", path


def failing_and_handling(document: Document) -> Expected:
    step, path = _step(document, "d")
    step["errorHandling"] = "fail_workflow"
    step.setdefault("transitions", {})["error"] = "late"
    return "TEN-1046", f"{path}.errorHandling"


def join_too_large(document: Document) -> Expected:
    step, path = _step(document, "join")
    step["joinMode"] = {"atLeast": 9}
    return "TEN-1047", f"{path}.joinMode"


def join_of_exclusive_handles(document: Document) -> Expected:
    decide, _ = _step(document, "decide")
    decide["transitions"]["yes"] = ["y", "both"]
    decide["transitions"]["no"] = ["n", "both"]
    document["steps"].append(_task("both", joinMode={"atLeast": 2}))
    return "TEN-1048", f"$.steps[{len(document['steps']) - 1}].joinMode"


def join_of_none(document: Document) -> Expected:
    path = _reached(document, _task("none_needed", joinMode={"atLeast": 0}))
    return "TEN-1014", f"{path}.joinMode.atLeast"


def cancels_itself(document: Document) -> Expected:
    step, path = _step(document, "n")
    step["cancels"] = ["n"]
    return "TEN-1049", f"{path}.cancels[0]"


def completes_no_loop(document: Document) -> Expected:
    path = _reached(document, _task("ends_nothing", completes=["n"]))
    return "TEN-1055", f"{path}.completes[0]"


def into_a_loop(document: Document) -> Expected:
    step, path = _step(document, "y")
    step["transitions"] = {"default": "body"}
    return "TEN-1050", f"{path}.transitions.default"


def loops_too_deep(document: Document) -> Expected:
    loops: list[Document] = [
        {
            "stepId": f"deep{number}",
            "type": "LOOP",
            "source": [],
            "transitions": {"loop": f"deep{number + 1}", "done": f"deep{number - 1}"},
        }
        for number in range(1, 18)
    ]
    del loops[0]["transitions"]["done"]
    _reached(document, loops[0])
    document["steps"] += [*loops[1:], _task("deep18", transitions={"default": "deep17"})]
    return "TEN-1054", f"$.steps[{len(document['steps']) - 2}]"


def end_in_a_loop(document: Document) -> Expected:
    body, _ = _step(document, "body")
    body["transitions"]["default"] = ["each", "inner_end"]
    document["steps"].append({"stepId": "inner_end", "type": "END"})
    return "TEN-1051", f"$.steps[{len(document['steps']) - 1}]"


def no_effect(document: Document) -> Expected:
    step, path = _step(document, "after")
    step["cancelRest"] = True
    return "TEN-1053", f"{path}.cancelRest"


def bad_retry(document: Document) -> Expected:
    step, path = _step(document, "d")
    step["retry"]["multiplier"] = 0
    return "TEN-1014", f"{path}.retry.multiplier"


def bad_duration(document: Document) -> Expected:
    step, path = _step(document, "wait")
    step["eventTimeout"]["duration"] = "three days"
    return "TEN-1015", f"{path}.eventTimeout.duration"


def bad_calendar(document: Document) -> Expected:
    step, path = _step(document, "wait")
    step["eventTimeout"]["calendar"] = 7
    return "TEN-1010", f"{path}.eventTimeout.calendar"


def late_warning(document: Document) -> Expected:
    step, path = _step(document, "wait")
    step["sla"] = {"warnAfter": "P2D", "breachAfter": "P1D", "calendar": "office"}
    return "TEN-1026", f"{path}.sla.warnAfter"


def empty_sla(document: Document) -> Expected:
    document["options"]["sla"] = {"calendar": "office"}
    return "TEN-1018", "$.options.sla"


def bad_deadline(document: Document) -> Expected:
    document["options"]["deadline"] = "tomorrow"
    return "TEN-1016", "$.options.deadline"


def empty_text(document: Document) -> Expected:
    step, path = _step(document, "late")
    step["taskId"] = ""
    return "TEN-1017", f"{path}.taskId"


def exclusive_fields(document: Document) -> Expected:
    step, path = _step(document, "each")
    step["while"] = "true"
    return "TEN-1018", f"{path}.while"


def unknown_choice(document: Document) -> Expected:
    step, path = _step(document, "decide")
    step["select"] = "best"
    return "TEN-1013", f"{path}.select"


def compensation_of_nothing(document: Document) -> Expected:
    document["compensationSteps"][0]["compensationFor"] = "nothing"
    return "TEN-1062", "$.compensationSteps[0].compensationFor"


def compensation_without_task(document: Document) -> Expected:
    document["compensationSteps"].append({"stepId": "undo_b", "compensationFor": "b"})
    return "TEN-1011", f"$.compensationSteps[{len(document['compensationSteps']) - 1}]"


def bad_cancellation_trigger(document: Document) -> Expected:
    document["cancellationTriggers"][0]["shouldCompensate"] = "yes"
    return "TEN-1010", "$.cancellationTriggers[0].shouldCompensate"


def trigger_that_sees_an_instance(document: Document) -> Expected:
    document["triggers"][0]["eventCondition"] = "event.payload.id === ctx.input.id"
    return "TEN-1032", "$.triggers[0].eventCondition"


def bad_concurrency(document: Document) -> Expected:
    document["options"]["concurrency"]["limit"] = 0
    return "TEN-1014", "$.options.concurrency.limit"


def unknown_policy_of_a_limit(document: Document) -> Expected:
    document["options"]["concurrency"]["onFull"] = "rejected"
    return "TEN-1013", "$.options.concurrency.onFull"


def debounce_without_a_period(document: Document) -> Expected:
    document["options"]["debounce"] = {"key": "{{ctx.input.k}}"}
    return "TEN-1011", "$.options.debounce"


def rate_of_nothing(document: Document) -> Expected:
    document["options"]["rate"] = {"limit": 0, "per": "PT1M"}
    return "TEN-1014", "$.options.rate.limit"


def unfit_text(document: Document) -> Expected:
    document["description"] = "a\0b"
    return "TEN-1003", "$.description"


FAULTS: tuple[Fault, ...] = (
    unknown_top_field,
    bad_definition_id,
    wrong_type,
    two_spellings,
    bad_schema,
    unknown_field,
    missing_field,
    unknown_type,
    bad_id,
    duplicate_id,
    refused_variable,
    reserved_branch,
    broken_expression,
    broken_template,
    event_where_there_is_none,
    item_outside_a_loop,
    secret_in_an_operator,
    secret_where_there_is_none,
    unknown_step_in_an_expression,
    quoted_unknown_step,
    body_seen_from_outside,
    context_item_outside_a_loop,
    compensation_that_names_no_step,
    text_that_is_meant_as_a_template,
    variable_that_is_never_set,
    later_step,
    item_of_a_while,
    field_that_events_do_not_have,
    loop_without_a_body,
    more_than_there_are_items,
    bad_payload_path,
    bad_pattern,
    reserved_event,
    reserved_task,
    built_in_task,
    url_as_a_host,
    memory_in_bytes,
    url_without_a_scheme,
    url_with_a_password,
    small_method,
    form_of_a_list,
    auth_without_a_value,
    too_many_events,
    counted_and_mapped,
    no_values,
    reserved_value,
    long_pattern,
    long_task_id,
    costly_condition,
    long_lookback,
    unknown_target,
    unreachable,
    cycle,
    edge_twice,
    foreign_handle,
    late_start,
    failing_and_handling,
    join_too_large,
    join_of_exclusive_handles,
    join_of_none,
    cancels_itself,
    completes_no_loop,
    into_a_loop,
    end_in_a_loop,
    loops_too_deep,
    no_effect,
    bad_retry,
    bad_duration,
    bad_calendar,
    late_warning,
    empty_sla,
    bad_deadline,
    empty_text,
    exclusive_fields,
    unknown_choice,
    compensation_of_nothing,
    compensation_without_task,
    bad_cancellation_trigger,
    trigger_that_sees_an_instance,
    bad_concurrency,
    unknown_policy_of_a_limit,
    debounce_without_a_period,
    rate_of_nothing,
    unfit_text,
)

WARNINGS = frozenset(
    {
        costly_condition,
        long_lookback,
        no_effect,
        body_seen_from_outside,
        context_item_outside_a_loop,
        text_that_is_meant_as_a_template,
        variable_that_is_never_set,
        later_step,
        item_of_a_while,
        field_that_events_do_not_have,
        more_than_there_are_items,
    }
)
