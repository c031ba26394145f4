"""Three spellings compile to one graph."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenuto.definition import check, compile_definition
from tenuto.model.durations import Duration
from tenuto.model.graph import (
    Delay,
    Edge,
    ErrorRoute,
    EventWait,
    Graph,
    Route,
    Start,
    Task,
)
from tenuto.model.policy import RetryPolicy
from tests.definition.values import Value


def task(name: str, **fields: Value) -> dict[str, Any]:
    return {"stepId": name, "type": "TASK", "taskId": "t", **fields}


def node(name: str, kind: str = "task", **config: Value) -> dict[str, Any]:
    return {"id": name, "type": kind, "config": {"taskId": "t"} if kind == "task" else config}


def graph_of(*steps: dict[str, Any]) -> Graph:
    return compile_definition({"steps": list(steps)}).graph


def found(document: Value) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in check(document).problems]


def arrows(graph: Graph) -> list[tuple[str, str, str]]:
    return [(edge.source, edge.handle, edge.target) for edge in graph.edges]


class TestSteps:
    def test_the_first_step_starts(self) -> None:
        graph = graph_of(task("a", transitions={"default": "b"}), task("b"))
        assert graph.starts == ("a",)
        assert graph.edges == (Edge(source="a", target="b"),)

    def test_a_target_may_be_a_list(self) -> None:
        graph = graph_of(task("a", transitions={"default": ["b", "c"]}), task("b"), task("c"))
        assert arrows(graph) == [("a", "default", "b"), ("a", "default", "c")]

    def test_conditions_and_error_routes_get_handles_of_their_own(self) -> None:
        transitions = {
            "default": "b",
            "conditions": [{"when": "ctx.x", "to": "c"}, {"when": "ctx.y", "to": ["b", "c"]}],
            "onError": [{"codes": ["A", "B"], "to": "d"}],
        }
        graph = graph_of(task("a", transitions=transitions), task("b"), task("c"), task("d"))
        assert graph.nodes[0].conditions == (
            Route(when="ctx.x", handle="when_1"),
            Route(when="ctx.y", handle="when_2"),
        )
        assert graph.nodes[0].on_error == (ErrorRoute(codes=("A", "B"), handle="onError_1"),)
        assert arrows(graph) == [
            ("a", "default", "b"),
            ("a", "when_1", "c"),
            ("a", "when_2", "b"),
            ("a", "when_2", "c"),
            ("a", "onError_1", "d"),
        ]

    def test_a_timeout_handler_is_the_timeout_transition(self) -> None:
        wait = {"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "e"}
        timeout = {"duration": "P3D"}
        one = {**wait, "eventTimeout": {**timeout, "timeoutHandlerStepId": "late"}}
        other = {**wait, "eventTimeout": timeout, "transitions": {"timeout": "late"}}
        both = {**one, "transitions": {"timeout": "late"}}
        assert graph_of(one, task("late")) == graph_of(other, task("late"))
        assert graph_of(both, task("late")) == graph_of(other, task("late"))

    def test_two_different_timeout_handlers_are_refused(self) -> None:
        wait = {
            "stepId": "w",
            "type": "EVENT_WAIT",
            "eventPattern": "e",
            "eventTimeout": {"duration": "P3D", "timeoutHandlerStepId": "a"},
            "transitions": {"timeout": "b", "default": "a"},
        }
        assert found({"steps": [wait, task("a"), task("b")]}) == [
            ("TEN-1019", "$.steps[0].eventTimeout.timeoutHandlerStepId")
        ]

    def test_a_step_without_input_gets_the_workflows_input(self) -> None:
        assert graph_of(task("a")).nodes[0].config == Task(task_id="t", has_input=False)
        given = graph_of(task("a", input=None)).nodes[0].config
        assert given == Task(task_id="t", input=None, has_input=True)

    @pytest.mark.parametrize(("mode", "least"), [("all", None), ("any", 1), ({"atLeast": 2}, 2)])
    def test_join_modes_say_how_many_edges_are_needed(self, mode: Value, least: int | None) -> None:
        graph = graph_of(
            task("a", transitions={"default": ["b", "c"]}),
            task("b", transitions={"default": "d"}),
            task("c", transitions={"default": "d"}),
            task("d", joinMode=mode),
        )
        assert graph.nodes[3].at_least == least

    def test_values_are_read_into_the_model(self) -> None:
        step = task(
            "a",
            timeout="PT1.5S",
            retry={"maxAttempts": 7, "initialDelay": 250, "multiplier": 3, "onLost": "fail"},
            transitions={"default": ["w", "d"]},
        )
        wait = {"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "e", "lookback": "P1M"}
        graph = graph_of(step, wait, {"stepId": "d", "type": "delay", "duration": 1500})
        first, second, third = graph.nodes
        assert first.timeout == timedelta(milliseconds=1500)
        assert first.retry == RetryPolicy(
            max_attempts=7, initial_delay=timedelta(milliseconds=250), multiplier=3, on_lost="fail"
        )
        assert isinstance(second.config, EventWait)
        assert second.config.lookback == Duration(timedelta(0), 1)
        assert third.config == Delay(duration=Duration(timedelta(milliseconds=1500)))

    def test_every_step_of_no_steps_is_missing(self) -> None:
        assert found({"steps": []}) == [("TEN-1017", "$.steps")]

    @pytest.mark.parametrize("steps", [{}, "a", None, 5])
    def test_steps_are_a_list(self, steps: Value) -> None:
        assert found({"steps": steps}) == [("TEN-1010", "$.steps")]

    def test_steps_are_objects(self) -> None:
        assert ("TEN-1010", "$.steps[1]") in found({"steps": [task("a"), "b"]})

    def test_a_step_without_an_id_is_still_checked(self) -> None:
        document = {"steps": [{"type": "TASK"}, task("b")]}
        assert ("TEN-1011", "$.steps[0]") in found(document)
        assert len([each for each in found(document) if each[1] == "$.steps[0]"]) == 2


class TestDependencies:
    def test_steps_without_dependencies_start_and_every_edge_is_required(self) -> None:
        graph = graph_of(
            task("a"), task("b"), task("c", dependsOn=["a", "b"]), task("d", dependsOn="c")
        )
        assert graph.starts == ("a", "b")
        assert arrows(graph) == [
            ("a", "default", "c"),
            ("b", "default", "c"),
            ("c", "default", "d"),
        ]
        assert [node.at_least for node in graph.nodes] == [None, None, 2, 1]

    def test_a_step_that_is_only_an_error_target_does_not_start(self) -> None:
        graph = graph_of(
            task("a", transitions={"error": "h", "onError": [{"codes": ["X"], "to": "i"}]}),
            task("b", dependsOn=["a"]),
            task("h"),
            task("i"),
        )
        assert graph.starts == ("a",)
        assert ("a", "error", "h") in arrows(graph)
        assert ("a", "onError_1", "i") in arrows(graph)
        assert graph.nodes[2].at_least is None

    @pytest.mark.parametrize("mode", ["all", "any", {"atLeast": 1}])
    def test_a_join_mode_beside_dependencies_is_refused(self, mode: Value) -> None:
        """`joinMode` beside `dependsOn` is refused."""
        steps: Value = [task("a"), task("b"), task("c", dependsOn=["a", "b"], joinMode=mode)]
        assert found({"steps": steps}) == [("TEN-1056", "$.steps[2].joinMode")]

    def test_a_definition_that_was_saved_with_both_still_runs(self) -> None:
        steps: Value = [task("a"), task("b"), task("c", dependsOn=["a", "b"], joinMode="any")]
        graph = compile_definition({"steps": steps}, is_saved=True).graph
        assert graph.nodes[2].at_least == 1

    @pytest.mark.parametrize("name", ["default", "timeout", "conditions"])
    def test_other_transitions_are_refused(self, name: str) -> None:
        value = [] if name == "conditions" else "b"
        steps: Value = [task("a", transitions={name: value}), task("b", dependsOn=["a"])]
        assert found({"steps": steps}) == [("TEN-1052", f"$.steps[0].transitions.{name}")]

    @pytest.mark.parametrize(
        "step",
        [
            {"type": "CONDITION", "branches": [{"id": "x", "when": "1"}]},
            {"type": "LOOP", "source": []},
            {"type": "APPROVAL", "assignees": {"users": ["a"]}},
            {"type": "EVENT_WAIT", "arms": [{"id": "x", "eventPattern": "e"}]},
        ],
    )
    def test_types_with_handles_of_their_own_are_refused(self, step: dict[str, Any]) -> None:
        steps: Value = [{"stepId": "a", **step}, task("b", dependsOn=["a"])]
        assert ("TEN-1052", "$.steps[0].type") in found({"steps": steps})

    def test_a_timeout_handler_is_refused(self) -> None:
        timeout = {"duration": "P1D", "timeoutHandlerStepId": "b"}
        wait = {"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "e", "eventTimeout": timeout}
        assert found({"steps": [wait, task("b", dependsOn=["w"])]}) == [
            ("TEN-1052", "$.steps[0].eventTimeout.timeoutHandlerStepId")
        ]

    def test_an_unknown_dependency_is_reported_where_it_is_named(self) -> None:
        steps: Value = [task("a"), task("b", dependsOn=["a", "z"])]
        assert found({"steps": steps}) == [("TEN-1040", "$.steps[1].dependsOn[1]")]

    def test_a_dependency_on_itself_is_a_cycle(self) -> None:
        steps: Value = [task("a"), task("b", dependsOn=["b"])]
        assert found({"steps": steps}) == [("TEN-1042", "$.steps[1].dependsOn[0]")]

    def test_a_step_that_needs_success_and_failure_of_the_same_can_never_run(self) -> None:
        steps: Value = [
            task("a", transitions={"error": "c"}),
            task("b"),
            task("c", dependsOn=["a", "b"]),
        ]
        assert compile_definition({"steps": steps}).graph.nodes[2].at_least == 2


class TestGraph:
    def test_edges_in_both_spellings(self) -> None:
        nodes: Value = [node("s", "start"), node("a"), node("b")]
        ours: Value = [
            {"upstreamNodeID": "s", "downstreamNodeID": "a"},
            {"upstreamNodeID": "a", "downstreamNodeID": "b", "sourceHandle": "error"},
        ]
        drawn: Value = [
            {"id": "e1", "source": "s", "target": "a", "sourceHandle": None, "animated": True},
            {"id": "e2", "source": "a", "target": "b", "sourceHandle": "error", "style": {}},
        ]
        one = compile_definition({"title": "T", "nodes": nodes, "edges": ours})
        assert one == compile_definition({"title": "T", "nodes": nodes, "edges": drawn})
        assert one.name == "T"
        assert one.graph.starts == ("s",)
        assert one.graph.nodes[0].config == Start()

    def test_drawing_fields_are_accepted_unread(self) -> None:
        drawn = {
            **node("a"),
            "position": {"x": 1, "y": 2},
            "data": {"anything": ["{{not read"]},
            "measured": {"width": 10},
            "selected": True,
            "dragging": False,
            "zIndex": 3,
        }
        assert found({"nodes": [drawn], "edges": []}) == []

    def test_an_unknown_field_of_a_node_or_edge_is_refused(self) -> None:
        document = {
            "nodes": [{**node("a"), "timeout": 5}, node("b")],
            "edges": [{"source": "a", "target": "b", "handle": "x"}],
        }
        assert found(document) == [
            ("TEN-1012", "$.nodes[0].timeout"),
            ("TEN-1012", "$.edges[0].handle"),
        ]

    def test_without_a_start_node_whatever_nothing_leads_to_starts(self) -> None:
        edges: Value = [{"source": "a", "target": "c"}, {"source": "b", "target": "c"}]
        definition = compile_definition(
            {"nodes": [node("a"), node("b"), node("c")], "edges": edges}
        )
        assert definition.graph.starts == ("a", "b")

    def test_a_loop_that_only_its_body_leads_back_to_starts(self) -> None:
        nodes: Value = [
            node("m", "loop", source=[]),
            node("l", "loop", source=[]),
            node("b"),
            node("z"),
        ]
        edges: Value = [
            {"source": "l", "target": "m", "sourceHandle": "loop"},
            {"source": "m", "target": "b", "sourceHandle": "loop"},
            {"source": "b", "target": "m"},
            {"source": "m", "target": "l", "sourceHandle": "done"},
            {"source": "l", "target": "z", "sourceHandle": "done"},
        ]
        definition = compile_definition({"nodes": nodes, "edges": edges})
        assert definition.graph.starts == ("l",)

    def test_two_start_nodes_are_refused(self) -> None:
        document: Value = {"nodes": [node("a", "start"), node("b", "start")], "edges": []}
        assert ("TEN-1045", "$.nodes[1]") in found(document)

    def test_nothing_leads_to_the_start(self) -> None:
        edges: Value = [{"source": "a", "target": "s"}, {"source": "s", "target": "a"}]
        document: Value = {"nodes": [node("s", "start"), node("a")], "edges": edges}
        assert ("TEN-1045", "$.edges[0]") in found(document)

    def test_an_edge_names_both_its_ends(self) -> None:
        document = {
            "nodes": [node("a")],
            "edges": [{"source": "a"}, {}, {"source": 1, "target": ""}],
        }
        assert found(document) == [
            ("TEN-1011", "$.edges[0]"),
            ("TEN-1011", "$.edges[1]"),
            ("TEN-1011", "$.edges[1]"),
            ("TEN-1010", "$.edges[2].source"),
            ("TEN-1017", "$.edges[2].target"),
        ]

    def test_unknown_ends_are_reported_where_they_are_named(self) -> None:
        edges: Value = [
            {"upstreamNodeID": "x", "downstreamNodeID": "a"},
            {"source": "a", "target": "y"},
        ]
        assert found({"nodes": [node("a")], "edges": edges}) == [
            ("TEN-1040", "$.edges[0].upstreamNodeID"),
            ("TEN-1040", "$.edges[1].target"),
        ]

    def test_a_name_is_given_once(self) -> None:
        document = {
            "nodes": [{**node("a", "delay", duration=1, description="x"), "description": "y"}]
        }
        assert found(document) == [("TEN-1019", "$.nodes[0].description")]

    def test_routes_name_handles(self) -> None:
        config = {
            "taskId": "t",
            "conditions": [{"when": "ctx.input.x", "handle": "left"}],
            "onError": [{"codes": ["E"], "handle": "right"}],
        }
        nodes: Value = [{"id": "a", "type": "task", "config": config}, node("b"), node("c")]
        edges: Value = [
            {"source": "a", "target": "b", "sourceHandle": "left"},
            {"source": "a", "target": "c", "sourceHandle": "right"},
        ]
        assert found({"nodes": nodes, "edges": edges}) == []


class TestNeither:
    @pytest.mark.parametrize("document", [None, [], "x", 5, True])
    def test_a_document_is_an_object(self, document: Value) -> None:
        assert found(document) == [("TEN-1010", "$")]

    def test_steps_or_nodes_are_needed(self) -> None:
        assert found({"id": "x"}) == [("TEN-1006", "$")]

    def test_one_form_at_a_time(self) -> None:
        document = {"steps": [task("a")], "nodes": [], "edges": []}
        assert found(document) == [("TEN-1019", "$.nodes"), ("TEN-1019", "$.edges")]

    def test_a_document_without_an_id_takes_the_one_it_is_given(self) -> None:
        assert compile_definition({"steps": [task("a")]}, fallback_id="file").id == "file"
        assert compile_definition({"id": "x", "steps": [task("a")]}, fallback_id="file").id == "x"
