"""Written back and read again, a definition means the same."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from tenuto.definition import compile_definition, to_graph_form, to_steps_form
from tenuto.definition.time_kinds import iso_duration
from tenuto.model.durations import parse_duration
from tenuto.model.errors import InvalidDefinition
from tenuto.model.graph import Definition
from tests.definition.documents import Document, dependency_documents, steps_documents
from tests.definition.faults import steps_document
from tests.definition.node_examples import EVERY, Settings, as_graph, as_steps, settings
from tests.definition.values import Value


def spelled(definition: Definition, spelling: Value) -> Definition:
    return msgspec.structs.replace(definition, spelling=spelling)


@pytest.mark.slow
@given(steps_documents())
def test_steps_become_a_graph_and_steps_again(document: Document) -> None:
    definition = compile_definition(document)
    as_nodes = compile_definition(to_graph_form(definition))
    assert as_nodes == spelled(definition, "graph")
    assert compile_definition(to_steps_form(as_nodes)) == definition


@pytest.mark.slow
@given(dependency_documents())
def test_dependencies_become_a_graph(document: Document) -> None:
    definition = compile_definition(document)
    assert compile_definition(to_graph_form(definition)) == spelled(definition, "graph")


@pytest.mark.parametrize(("kind", "own"), EVERY)
def test_every_setting_survives(kind: str, own: Settings) -> None:
    as_nodes = compile_definition(as_graph(kind, settings(kind, own)))
    assert compile_definition(to_graph_form(as_nodes)) == as_nodes
    steps = compile_definition(as_steps(kind, settings(kind, own)))
    assert compile_definition(to_steps_form(steps)) == steps


def test_loops_survive() -> None:
    definition = compile_definition(steps_document())
    as_nodes = compile_definition(to_graph_form(definition))
    assert as_nodes == spelled(definition, "graph")
    assert compile_definition(to_steps_form(as_nodes)) == definition


def test_handles_named_by_hand_get_the_names_of_the_steps_form() -> None:
    config = {"taskId": "t", "conditions": [{"when": "ctx.a", "handle": "left"}]}
    nodes: Value = [
        {"id": "b", "type": "task", "config": {"taskId": "t"}},
        {"id": "a", "type": "task", "config": config},
    ]
    edges: Value = [{"source": "a", "target": "b", "sourceHandle": "left"}]
    steps = to_steps_form(compile_definition({"nodes": nodes, "edges": edges}))
    graph = compile_definition(steps).graph
    assert graph.starts == ("a",)
    assert [edge.handle for edge in graph.edges] == ["when_1"]


def test_a_graph_with_several_starts_is_no_list_of_steps() -> None:
    nodes: Value = [{"id": name, "type": "task", "config": {"taskId": "t"}} for name in "ab"]
    with pytest.raises(InvalidDefinition) as raised:
        to_steps_form(compile_definition({"nodes": nodes, "edges": []}))
    assert [each.code for each in raised.value.problems] == ["TEN-1070"]


@pytest.mark.parametrize(
    "text", ["PT0S", "P3D", "PT1H2M3.25S", "P14M2DT0.000001S", "P1W", 86400001]
)
def test_lengths_of_time_survive(text: str | int) -> None:
    length = parse_duration(text)
    assert parse_duration(iso_duration(length)) == length
