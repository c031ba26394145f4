"""The body of a loop keeps to itself."""

from __future__ import annotations

from typing import Any

from tenuto.definition import check, compile_definition, to_graph_form, to_steps_form
from tenuto.model.json import JSON
from tests.definition.values import Value


def task(name: str, to: Value = None, **fields: Value) -> dict[str, Any]:
    transitions = {} if to is None else {"transitions": {"default": to}}
    return {"stepId": name, "type": "TASK", "taskId": "t", **transitions, **fields}


def loop(name: str, body: Value, done: Value, **fields: Value) -> dict[str, Any]:
    transitions = {"loop": body, "done": done}
    return {"stepId": name, "type": "LOOP", "source": [], "transitions": transitions, **fields}


def found(*steps: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in check({"steps": list(steps)}).problems]


def test_a_body_may_lead_back_to_its_loop_or_just_end() -> None:
    assert found(loop("l", ["a", "b"], "z"), task("a", "l"), task("b"), task("z")) == []


def test_loops_may_stand_in_loops() -> None:
    assert (
        found(
            loop("outer", "first", "z"),
            task("first", "inner"),
            loop("inner", "a", "last"),
            task("a", "inner"),
            task("last", "outer"),
            task("z"),
        )
        == []
    )


def test_the_body_of_an_inner_loop_cannot_end_an_iteration_of_the_outer() -> None:
    problems = found(loop("outer", "inner", []), loop("inner", "a", []), task("a", "outer"))
    assert problems == [("TEN-1050", "$.steps[2].transitions.default")]


def test_an_edge_out_of_the_body_is_refused() -> None:
    problems = found(loop("l", "a", "z"), task("a", "z"), task("z"))
    assert problems == [("TEN-1050", "$.steps[0].transitions.done")]


def test_done_leading_back_to_the_loop_is_a_cycle() -> None:
    problems = found(loop("l", "a", "z"), task("a"), task("z", "l"))
    assert problems == [("TEN-1042", "$.steps[2].transitions.default")]


def test_a_cycle_inside_the_body_is_a_cycle() -> None:
    problems = found(loop("l", "a", []), task("a", "b"), task("b", "a"))
    assert problems == [("TEN-1042", "$.steps[2].transitions.default")]


def test_edges_that_end_an_iteration_are_no_edges_of_a_join() -> None:
    problems = found(
        task("s", ["x", "l"]),
        task("x", "l"),
        loop("l", "a", [], joinMode={"atLeast": 3}),
        task("a", "l"),
    )
    assert problems == [("TEN-1047", "$.steps[2].joinMode")]


def test_a_loop_over_arrivals_needs_an_edge_to_it() -> None:
    """`joinMode`, `more` and `mode: "sequential"` are refused beside it, and so is a loop to which
    no edge leads.
    """
    problems = found(loop("l", "a", [], source="arrivals"), task("a", "l"))
    assert problems == [("TEN-1047", "$.steps[0].source")]
    refused: dict[str, Value] = {
        "joinMode": "any",
        "more": {"eventPattern": "e"},
        "mode": "sequential",
    }
    problems = found(task("s", "l"), loop("l", "a", [], source="arrivals", **refused), task("a"))
    assert problems == [("TEN-1018", f"$.steps[1].{name}") for name in ("mode", "joinMode", "more")]


def test_the_nearest_source_is_named() -> None:
    [problem] = check({"steps": [loop("l", "a", [], source="arrival"), task("a")]}).problems
    assert problem.code == "TEN-1010"
    assert problem.advice.startswith("Did you mean `arrivals`?")


def test_a_loop_over_arrivals_is_written_as_it_was_read() -> None:
    settings: dict[str, Value] = {"source": "arrivals", "concurrency": 3, "enough": 2}
    steps: list[JSON] = [task("s", "l"), loop("l", "a", "z", **settings), task("a"), task("z")]
    definition = compile_definition({"steps": steps})
    for written in (to_graph_form(definition), to_steps_form(definition)):
        assert compile_definition(written).graph == definition.graph


def test_item_and_index_exist_in_bodies_only() -> None:
    steps = [
        loop("l", "a", "z", result="{{item}}"),
        task("a", "b", when="index > 0", input="{{item.id}}"),
        {"stepId": "b", "type": "TASK", "taskId": "t"},
        task("z", input={"x": "{{index}}"}),
    ]
    steps[2]["transitions"] = {"conditions": [{"when": "item.last", "to": "l"}]}
    assert found(*steps) == [("TEN-1032", "$.steps[3].input.x")]


def test_end_has_no_place_in_a_body_and_terminate_has() -> None:
    steps = [
        loop("l", ["e", "t"], []),
        {"stepId": "e", "type": "END"},
        {"stepId": "t", "type": "TERMINATE"},
    ]
    assert found(*steps) == [("TEN-1051", "$.steps[1]")]


def test_settings_that_would_do_nothing_are_refused() -> None:
    def loop_of(**fields: Value) -> list[tuple[str, str]]:
        step = {"stepId": "l", "type": "LOOP", "transitions": {"loop": "a"}, **fields}
        return found(step, task("a"))

    assert loop_of(source=[1], mode="parallel", concurrency=3) == []
    assert loop_of(**{"while": "true"}, maxIterations=3) == []
    assert loop_of(source=[1], concurrency=3) == [("TEN-1018", "$.steps[0].concurrency")]
    assert loop_of(source=[1], mode="sequential", concurrency=3) == [
        ("TEN-1018", "$.steps[0].concurrency")
    ]
    assert loop_of(**{"while": "true"}, concurrency=3) == [("TEN-1018", "$.steps[0].concurrency")]
    assert loop_of(source=[1], maxIterations=3) == [("TEN-1018", "$.steps[0].maxIterations")]
    routed = {"loop": "a", "conditions": [{"when": "true", "to": "z"}]}
    step: dict[str, Any] = {"stepId": "l", "type": "LOOP", "source": [], "transitions": routed}
    assert [code for code, _ in found(step, task("a"), task("z"))] == ["TEN-1018"]


def test_a_number_that_is_too_large_is_told_its_bounds() -> None:
    step: Value = {"stepId": "l", "type": "LOOP", "while": "true", "maxIterations": 10**15}
    problem = check({"steps": [step]}).problems[0]
    assert (problem.code, problem.advice) == ("TEN-1014", "It must be from 1 to 2147483647.")


def test_a_loop_whose_body_leads_to_the_loop_around_it_is_told_so() -> None:
    steps: Value = [
        {"stepId": "a", "type": "LOOP", "source": [], "transitions": {"loop": "b"}},
        {"stepId": "b", "type": "LOOP", "source": [], "transitions": {"loop": "a"}},
    ]
    problem = check({"steps": steps}).problems[0]
    assert problem.message == "the body of `b` leads out of it to `a`"
