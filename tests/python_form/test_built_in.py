"""`javascript`, `http` and `query` in a workflow function: the same as in the other spellings."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto import InvalidDefinition, TenutoError, http, javascript, query, workflow
from tenuto.definition import compile_definition
from tenuto.model.json import JSON, Object
from tenuto.python_form.json_values import Code
from tenuto.python_form.references import paths_in
from tenuto.tasks import Registry
from tenuto.testing import Engine

CODE = "return {total: ctx.rows[0].price * input.n}"
URL = "https://ship.example/parcels"
AUTH: Object = {"type": "bearer", "value": "t"}
SETTINGS: dict[str, Object] = {
    "rows": {"dataQueryID": "stock", "args": {"sku": "{{ctx.input.sku}}"}},
    "price": {"code": CODE, "input": {"n": "{{ctx.input.n}}"}, "memoryLimit": 32},
    "sent": {
        "url": URL,
        "method": "POST",
        "body": "{{ctx.price}}",
        "auth": AUTH,
        "retryOn": [503],
        "timeout": "PT5S",
    },
}
TYPES = {"rows": "dataQuery", "price": "javascript", "sent": "http"}
WORDS = {"rows": "DATA_QUERY", "price": "JAVASCRIPT", "sent": "HTTP"}
BEFORE: dict[str, list[JSON]] = {"rows": [], "price": ["rows"], "sent": ["price"]}


@workflow("desk")
def in_python(order: dict[str, Any]) -> None:
    rows = query("stock", sku=order["sku"])  # noqa: F841 - its name is its id
    price = javascript(CODE, input={"n": order["n"]}, memory_limit=32)
    sent = http.options(timeout="PT5S")(  # noqa: F841
        URL, method="POST", body=price, auth=AUTH, retry_on=[503]
    )


def in_graph() -> Object:
    return {
        "id": "desk",
        "nodes": [
            {"id": id, "type": TYPES[id], "config": {**fields, "outputVariable": id}}
            for id, fields in SETTINGS.items()
        ],
        "edges": [
            {"source": str(source), "target": id}
            for id, sources in BEFORE.items()
            for source in sources
        ],
    }


def in_dependencies() -> Object:
    return {
        "id": "desk",
        "steps": [
            {
                "stepId": id,
                "type": WORDS[id],
                **fields,
                "outputVariable": id,
                "dependsOn": BEFORE[id],
            }
            for id, fields in SETTINGS.items()
        ],
    }


def in_steps() -> Object:
    following: dict[str, Object] = {"rows": {"default": "price"}, "price": {"default": "sent"}}
    return {
        "id": "desk",
        "steps": [
            {
                "stepId": id,
                "type": WORDS[id],
                **fields,
                "outputVariable": id,
                "transitions": following.get(id, {}),
            }
            for id, fields in SETTINGS.items()
        ],
    }


def log_of(definition: Object) -> list[Object]:
    """The log of a run in virtual time, whose times are the same in every run."""
    with Engine() as engine:
        engine.stub_step("rows", [{"price": 7}])
        engine.stub_step("price", {"total": 21})
        engine.stub_step("sent", ConnectionError("away"), {"status": 201})
        instance = engine.start(definition, {"sku": "a", "n": 3})
        instance.finished()
        return list(instance.history)


def test_four_spellings_of_built_in_steps_have_equal_logs() -> None:
    steps = log_of(in_steps())
    assert len(steps) > 8
    assert log_of(in_graph()) == steps
    assert log_of(in_dependencies()) == steps
    assert log_of(in_python.definition()) == steps


def test_the_nodes_of_all_spellings_are_the_same() -> None:
    made = {node.id: node.config for node in compile_definition(in_steps()).graph.nodes}
    for other in (in_graph(), in_dependencies(), in_python.definition()):
        assert {node.id: node.config for node in compile_definition(other).graph.nodes} == made


# In a registry of its own: engines of other tests would know this task, and run it.
@Registry().task
def work(given: Any = None) -> Any:  # noqa: ANN401
    return given


def test_options_stand_before_the_call_and_text_makes_edges() -> None:
    @workflow
    def flow(order: dict[str, Any]) -> None:
        first = work(order)
        second = work(order)
        third = javascript.after(second).named("three")("return 1")
        http.on_error(work).after_any(first, third)("https://a.example")
        javascript("return steps?.['first'].status + ctx . three")

    definition: Any = flow.definition()
    edges = {
        (edge["upstreamNodeID"], edge["downstreamNodeID"], edge.get("sourceHandle"))
        for edge in definition["edges"]
    }
    assert {("second", "three", None), ("first", "javascript", None)} <= edges
    assert ("three", "javascript", None) in edges
    assert ("http", "work", "error") in edges


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ctx.a + steps.b.output", [("ctx", "a"), ("steps", "b")]),
        ("ctx?.a; steps[ 'b-c' ]", [("ctx", "a"), ("steps", "b-c")]),
        ('ctx["a"] + my.ctx.b + xctx.c', [("ctx", "a")]),
        ("ctx[name]", []),
    ],
)
def test_code_names_the_steps_that_it_reads(text: str, found: list[tuple[str, str]]) -> None:
    assert list(paths_in({"code": Code(text)})) == found


def test_options_without_a_call_are_refused() -> None:
    def flow(order: dict[str, Any]) -> None:
        http.named("x")

    with pytest.raises(InvalidDefinition, match="`http` is not called here"):
        workflow(flow)


def test_outside_a_workflow_they_mean_nothing() -> None:
    for made in (javascript, http, query):
        with pytest.raises(TenutoError) as refused:
            made("https://a.example")
        assert refused.value.code == "TEN-1113"
