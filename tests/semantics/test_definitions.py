"""Definitions: their fields, forms and problems."""

from __future__ import annotations

import re

import pytest

from tenuto.definition import check, compile_definition, parse_document, to_graph_form
from tenuto.definition.compiler import TOP
from tenuto.definition.nodes import TYPES
from tenuto.definition.options import OPTIONS
from tenuto.definition.settings import shared_fields
from tenuto.model.errors import InvalidDefinition
from tenuto.model.graph import EventWait
from tenuto.model.json import JSON, Object
from tests.core.drawing import box, condition, draw, every, start, step, steps, task, wait
from tests.core.play import play
from tests.semantics.sentences import sentences


def problems(document: JSON) -> list[tuple[str, str]]:
    return [(problem.code, problem.path) for problem in check(document).problems]


def decorated(document: Object, part: str, **fields: JSON) -> Object:
    """The document with further fields in each of its nodes, or edges."""
    items = document[part]
    assert isinstance(items, list)
    marked: list[JSON] = [{**item, **fields} for item in items if isinstance(item, dict)]
    return document | {part: marked}


def fields_of(row: str) -> set[str]:
    """The names that the page lists in a row, without those of a nested object."""
    [text] = [each.text for each in sentences() if each.text.startswith(f"{row} |")]
    plain = re.sub(r"\([^()]*\)", "", text.removeprefix(row))
    told = " ".join(re.findall(r"`([^`]*)`", plain))
    return set(re.findall(r"\w+", re.sub(r"\{[^{}]*\}|\[.*?\]", "", told)))


def test_every_type_has_exactly_the_fields_of_the_page() -> None:
    """all | `name, description, outputVariable, timeout, sla {warnAfter, breachAfter, calendar},
    errorHandling, joinMode, cancelRest, cancels, completes, when, conditions, onError` (the last
    two in the graph form; in the steps form they are in `transitions`)
    those that execute (task, http, dataQuery, javascript, subWorkflow) | `retry {maxAttempts,
    initialDelay, multiplier, maxDelay, nonRetryable, onLost, calendar}, mutex`
    start | –
    end | `outputParameters`
    task | `taskId, input, handles, heartbeatTimeout`
    eventWait | `eventPattern, eventCondition, eventPayloadMapping, eventTimeout {duration,
    calendar, timeoutHandlerStepId (steps form)}, lookback, correlationId, arms, count`
    condition | `branches [{id, when}], select`
    delay | `duration` or `until`, `calendar`
    loop | `source` or `while`, `mode, concurrency, onItemError, maxIterations, result, enough,
    more {eventPattern, eventCondition, item}`
    javascript | `code, input, memoryLimit, allowHosts` (`input` is a template, in the code as
    `input`)
    dataQuery | `dataQueryID, args`
    http | `method, url, headers, query, body, bodyType (json, form, text), successCodes,
    responseType (json, text, none), maxBytes, retryOn [codes], auth {type: bearer, basic, header;
    value}`
    subWorkflow | `workflowId, version, input`
    emit | `pattern, payload, correlationId`
    set | `values` (names, each with a template)
    terminate | `status, output, reason`
    approval | `assignees, formSchema, deadline, reminders, escalate {after, assignees, calendar},
    calendar`
    """  # noqa: RUF002 - the words of the contract
    common = fields_of("all")
    executing = fields_of("those that execute (task, http, dataQuery, javascript, subWorkflow)")
    routes = {"conditions", "onError"}
    executes = {row.tag for row in TYPES if row.executes}
    assert executes == {"task", "http", "dataQuery", "javascript", "subWorkflow"}
    for row in TYPES:
        assert set(row.fields.by_name) == fields_of(row.tag), row.tag
        shared = common | (executing if row.executes else set())
        assert set(shared_fields(row).by_name) | routes == shared, row.tag


def listed(text: str) -> set[str]:
    told = re.sub(r"\{[^{}]*\}", "", text)
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", told))))


def test_the_top_level_and_the_options_have_exactly_the_fields_of_the_page() -> None:
    """Top level: `id, name | title, description, inputSchema, steps | nodes + edges,
    compensationSteps {stepId, compensationFor, type, taskId, input, condition, retry,
    timeout}, cancellationTriggers {eventPattern, eventCondition, reason, shouldCompensate},
    triggers {eventPattern, eventCondition, inputMapping}, options | workflowOptions`.
    `options`: `compensateOnFailure, timeout, sla {warnAfter, breachAfter, calendar}, deadline,
    cancelGrace, retry, concurrency {limit, key, holdWhileWaiting, onFull}, debounce {period, key,
    max}, rate {limit, per, key}, retention, searchable, encrypt`.
    """
    texts = {each.text.partition(":")[0]: each.text.partition(":")[2] for each in sentences()}
    assert set(TOP.by_name) - {"$schema"} == listed(texts["Top level"])
    assert set(OPTIONS._fields.by_name) == listed(texts["`options`"])


@pytest.mark.parametrize("place", ["top", "node", "step", "options", "retry"])
def test_unknown_fields_are_refused(place: str) -> None:
    documents: dict[str, Object] = {
        "top": draw("a") | {"colour": 1},
        "node": draw("a", a=task(colour=1)),
        "step": steps(step("a", colour=1)),
        "options": draw("a", options={"colour": 1}),
        "retry": draw("a", a=task(retry={"colour": 1})),
    }
    [(code, path)] = problems(documents[place])
    assert code == "TEN-1012"
    assert path.endswith("colour")


@pytest.mark.parametrize(
    "good", ["a", "_", "A-1_b", "x" * 64, "1", "1b2e6f0a-0d6e-4a3c-9c5e-6b1f0d9f7a11"]
)
@pytest.mark.parametrize("bad", ["", "-a", "a b", "a.b", "ä", "x" * 65, "a\n"])
def test_ids_are_plain_words(good: str, bad: str) -> None:
    """Node, step, branch and arm ids match `[A-Za-z0-9_][A-Za-z0-9_-]{0,63}`: UUIDs and numbers, as
    canvases make them, are ids too; in expressions such a step is `steps["1b2e-…"]`, and as default
    `outputVariable` nothing is made of it.
    """
    after = task(input={"x": f'{{{{steps["{good}"].output}}}}'})
    assert problems(draw("", **{good: task(), "then": after})) == []
    assert [code for code, _ in problems(draw("", **{bad: task()}))] == ["TEN-1020"]
    branches: list[JSON] = [{"id": bad, "when": "true"}]
    assert problems(draw("a", a=box("condition", branches=branches)))[0][0] == "TEN-1020"


def test_in_the_dependency_form_error_targets_do_not_start_by_themselves() -> None:
    """In the dependency form a step that is only an `error`/`onError` target does not start by
    itself, and types that answer with a handle of their own (condition, loop, approval,
    arms) are refused.
    In the dependency form only `error` and `onError` are allowed.
    """
    run = play(steps(step("a", transitions={"error": "c"}), step("b", dependsOn=["a"]), step("c")))
    assert run.start().running == ["a"]
    assert run.succeed("a").step("c") == "SKIPPED"
    own_handles: Object = {"branches": [{"id": "x", "when": "true"}]}
    refused = steps(step("a", "CONDITION", **own_handles), step("b", dependsOn=["a"]))
    assert problems(refused)
    default = steps(step("a", transitions={"default": "b"}), step("b", dependsOn=["a"]))
    assert problems(default)
    only_errors = steps(
        step("a", transitions={"onError": [{"codes": ["X"], "to": "c"}]}),
        step("b", dependsOn=["a"]),
        step("c"),
    )
    assert problems(only_errors) == []


def test_routes_stand_in_the_config_and_have_reserved_names_in_steps() -> None:
    """In the graph form `conditions: [{when, handle}]` and `onError: [{codes, handle}]` stand
    in `config`; the steps compiler names these handles `when_1 …`, `onError_1 …` (reserved
    names).
    """
    transitions: Object = {
        "default": "b",
        "conditions": [{"when": "ctx.x", "to": "b"}, {"when": "ctx.y", "to": "c"}],
        "onError": [{"codes": ["X"], "to": "c"}],
    }
    definition = compile_definition(steps(step("a", transitions=transitions), step("b"), step("c")))
    node = definition.graph.nodes[0]
    assert [route.handle for route in node.conditions] == ["when_1", "when_2"]
    assert [route.handle for route in node.on_error] == ["onError_1"]
    config: Object = {
        "conditions": [{"when": "ctx.input.x", "handle": "p"}],
        "onError": [{"codes": ["X"], "handle": "q"}],
    }
    assert problems(draw("a:p>b a:q>c", a=task(**config))) == []
    assert problems(steps(step("a", conditions=[{"when": "true", "to": "b"}]), step("b")))


def test_settings_stand_in_config_or_in_the_step() -> None:
    """In the graph form a node's settings (`joinMode, cancelRest, retry, timeout,
    errorHandling, when, mutex, outputVariable, input, …`) are in its `config`; in the steps
    form they are fields of the step.
    Steps form: the same names as fields of the step, beside `stepId`, `type`, `transitions`,
    `dependsOn`; a loop's body starts at `transitions.loop`.
    """
    settings: Object = {
        "joinMode": "any",
        "cancelRest": True,
        "retry": {"maxAttempts": 5},
        "timeout": "PT5S",
        "errorHandling": "fail_workflow",
        "when": "ctx.input",
        "outputVariable": "v",
        "input": {"n": 1},
    }
    drawn = compile_definition(draw("s>a s>b a>j b>j", s=task(), j=task(**settings)))
    told = compile_definition(
        steps(
            step("s", transitions={"default": ["a", "b"]}),
            step("a", transitions={"default": "j"}),
            step("b", transitions={"default": "j"}),
            step("j", **settings),
        )
    )
    by_name = {node.id: node for node in told.graph.nodes}
    assert all(node == by_name[node.id] for node in drawn.graph.nodes)
    beside_config = draw("a")
    assert problems(decorated(beside_config, "nodes", when="true"))


def test_transitions_name_handles_and_lead_to_one_or_several_steps() -> None:
    """`transitions`: keys are handle names (`default, error, timeout, loop, done, else,
    approved, rejected`, branch and arm ids), values a target or a list; plus `conditions`
    and `onError`.
    """
    branches: list[JSON] = [{"id": "x", "when": "ctx.input"}]
    document = steps(
        step("c", "CONDITION", branches=branches, transitions={"x": ["p", "q"], "else": "r"}),
        step("p", transitions={"error": ["r"]}),
        step("q"),
        step("r", joinMode="any"),
    )
    assert play(document).start(True).running == ["p", "q"]
    assert play(document).start(False).running == ["r"]
    unknown = steps(step("a", transitions={"sideways": "b"}), step("b"))
    assert ("TEN-1044", "$.steps[0].transitions.sideways") in problems(unknown)


@pytest.mark.parametrize(
    "name",
    ["default", "error", "timeout", "loop", "done", "else", "approved", "rejected"],
)
def test_names_of_handles_are_refused_as_branches(name: str) -> None:
    """Handle names are refused as branch or arm ids."""
    assert problems(draw("c", c=condition(**{name: "true"})))
    arms: list[JSON] = [{"id": name, "eventPattern": "x"}]
    assert problems(draw("w", w=box("eventWait", arms=arms)))


def test_drawing_fields_are_kept_unread() -> None:
    """React Flow's drawing fields of nodes and edges are accepted, kept unread and given back."""
    document = draw("a>b")
    place: JSON = {"x": 1, "y": 2}
    shown = decorated(document, "nodes", position=place, selected=True, data={"label": "A"})
    shown = decorated(shown, "edges", animated=True, id="e1")
    assert problems(shown) == []
    assert compile_definition(shown).graph == compile_definition(document).graph
    react: list[JSON] = [{"source": "a", "target": "b", "sourceHandle": "error", "id": "x"}]
    definition = compile_definition(document | {"edges": react})
    assert to_graph_form(definition)["edges"] == [
        {"upstreamNodeID": "a", "downstreamNodeID": "b", "sourceHandle": "error"}
    ]


@pytest.mark.parametrize(
    ("node", "may_fire"),
    [(condition(p="true", q="true"), False), (every(p="true", q="true"), True)],
)
def test_a_join_that_can_never_fire_is_refused(node: Object, may_fire: bool) -> None:
    """A join "can never fire" when fewer than n of its edges can be taken together (exclusive
    handles of one node count once).
    """
    document = draw("c:p>j c:q>j", c=node, j=task(joinMode={"atLeast": 2}))
    assert (problems(document) == []) is may_fire


@pytest.mark.parametrize("least", [0, -1, 1.5, "2", True])
def test_at_least_is_a_whole_number_from_one(least: JSON) -> None:
    """`atLeast: 0` is refused."""
    assert problems(draw("a>j b>j", j=task(joinMode={"atLeast": least})))


def test_problems_have_the_place_of_the_fault() -> None:
    """Paths in problems are JSONPath (`$.steps[1].taskId`); severities are `error` and
    `warning`; a duplicate id is reported at its second place.
    """
    document = steps(
        step("a", "TASK", taskId=5, transitions={"default": "b"}),
        step("b", transitions={"default": "nowhere"}),
        step("b"),
    )
    found = check(document).problems
    assert {problem.path for problem in found} >= {
        "$.steps[0].taskId",
        "$.steps[1].transitions.default",
        "$.steps[2].stepId",
    }
    assert {problem.severity for problem in found} <= {"error", "warning"}
    assert all(problem.advice for problem in found)


@pytest.mark.parametrize(
    "text",
    [b'{"id": "a", "id": "b"}', b'{"n": NaN}', b'{"n": 1e999}', b'{"id": "\xff"}', b'{"a": }'],
)
def test_text_that_is_not_strict_json_is_refused(text: bytes) -> None:
    """Bodies with duplicate keys, non-finite numbers or malformed UTF-8: 400."""
    with pytest.raises(InvalidDefinition):
        parse_document(text, "order.json")


def test_a_wait_is_read_with_all_its_fields() -> None:
    node = wait(
        "a.*",
        eventCondition="event.payload.n > 1",
        eventPayloadMapping={"n": "n"},
        eventTimeout={"duration": "P3D"},
        lookback="PT1H",
        correlationId="{{ctx.input.id}}",
    )
    config = compile_definition(draw("s>w", s=start(), w=node)).graph.nodes[1].config
    assert isinstance(config, EventWait)
    assert config.event_pattern == "a.*"
    assert config.correlation_id == "{{ctx.input.id}}"


def test_a_python_node_is_none() -> None:
    """There is no `python` node: Python is a task."""
    [(code, path)] = problems(draw("a", a={"type": "python", "config": {"code": "1"}}))
    assert (code, path) == ("TEN-1022", "$.nodes[0].type")
