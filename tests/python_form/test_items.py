"""Blocks that run for each item, in parallel and nested, describe loops that give their results."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tenuto import child, event, for_each, otherwise, repeat_while, sleep, task, when, workflow
from tenuto.python_form import item_types
from tenuto.tasks.registry import Registry
from tenuto.testing import Engine
from tests.python_form.graphs import described, from_nodes, node, traced
from tests.python_form.shop import Order, notify, pack, send, tidy

ONE: Any = {"atLeast": 1}


@dataclass
class Parcel:
    id: str
    items: list[str]


def test_the_body_of_for_each_may_have_several_steps() -> None:
    @workflow
    def flow(order: Order) -> object:
        boxes = for_each(order["items"], at_most=5, on_error="continue")
        with boxes as item:
            box = pack(item)
            sleep("PT1H")
            sent = send(box, boxes.index)
            boxes.gives({"of": item, "sent": sent})
        return boxes.results

    result: Any = {"of": "{{ctx.item}}", "sent": "{{ctx.sent}}"}
    index: Any = {"boxes": "{{ctx.box}}", "approval": "{{ctx.index}}"}
    assert described(flow) == from_nodes(
        [
            node(
                "boxes",
                "loop",
                source="{{ctx.input.items}}",
                mode="parallel",
                concurrency=5,
                onItemError="continue",
                result=result,
                outputVariable="boxes",
            ),
            traced("box", "pack", "{{ctx.item}}", joinMode=ONE),
            node("sleep", "delay", duration="PT1H", joinMode=ONE),
            traced("sent", "send", index, joinMode=ONE),
            node("end", "end", outputParameters="{{ctx.boxes}}", joinMode=ONE),
        ],
        "boxes.loop > box",
        "box > sleep",
        "sleep > sent",
        "boxes.done > end",
    )


class Size(IntEnum):
    SMALL = 1


FIXED = tuple[str, list[int]]


@pytest.mark.parametrize(
    ("kind", "index", "expected"),
    [
        (FIXED, 0, str),
        (FIXED, 1, list[int]),
        (FIXED, -1, list[int]),
        (FIXED | None, 1, list[int]),
        (FIXED, 2, item_types.UNKNOWN),
        (tuple[()], 0, item_types.UNKNOWN),
        (tuple[int, ...], 5, int),
        (list[int], 5, int),
    ],
)
def test_an_item_of_a_tuple_has_the_type_at_its_index(
    kind: object, index: int, expected: object
) -> None:
    assert item_types.item_at(kind, index) == expected


def test_the_items_of_a_tuple_with_several_types_have_no_type_together() -> None:
    assert item_types.item_of(FIXED) is item_types.UNKNOWN
    assert item_types.slice_of(FIXED) is item_types.UNKNOWN


def test_a_list_in_a_tuple_can_be_gone_through() -> None:
    @workflow
    def flow(pair: tuple[int, list[str]]) -> object:
        pack.map(pair[1])
        return pack.map(pair[1:][0])

    sources = [each["config"].get("source") for each in flow.definition()["nodes"]]  # type: ignore[call-overload,index,union-attr]
    assert sources[0] == "{{ctx.input[1]}}"


@pytest.mark.parametrize(
    ("kind", "wanted", "fits"),
    [
        (bool, int, True),
        (bool, float, True),
        (bool, int | None, True),
        (bool, str, False),
        (bool, Size, False),
        (int, float, True),
        (str, int, False),
        (int, str, False),
    ],
)
def test_an_item_fits_where_the_task_takes_it(kind: object, wanted: object, fits: bool) -> None:
    assert (item_types.misfit(kind, wanted) is None) == fits


def test_a_loop_in_a_loop_keeps_the_item_around_it() -> None:
    @workflow
    def flow(parcels: list[Any]) -> None:
        with for_each(parcels) as parcel, for_each(parcel["items"]) as item:
            send(item, parcel["id"])

    sent: Any = {"boxes": "{{ctx.item}}", "approval": "{{ctx.for_each_item.id}}"}
    values: Any = {"for_each_item": "{{ctx.item}}"}
    loop: Any = {"mode": "parallel"}
    assert described(flow) == from_nodes(
        [
            node("for_each", "loop", source="{{ctx.input}}", outputVariable="for_each", **loop),
            node(
                "for_each_2",
                "loop",
                source="{{ctx.item.items}}",
                outputVariable="for_each_2",
                joinMode=ONE,
                **loop,
            ),
            node("for_each_item", "set", values=values, joinMode=ONE),
            traced("send", "send", sent, joinMode=ONE),
        ],
        "for_each.loop > for_each_item",
        "for_each_item > for_each_2",
        "for_each_2.loop > send",
    )


def test_enough_and_more_are_as_in_json() -> None:
    @workflow
    def flow(order: Order) -> None:
        added = event("item.added").where("event.payload.id === ctx.input.id")
        with for_each(order["a"], enough=2, more=added.item("{{event.payload.item}}")) as item:
            pack(item)
        with for_each(order["b"], enough=lambda results: results.length >= order["n"]) as item:
            pack(item)
        with for_each(order["c"], enough="ctx.results.length > 3") as item:
            pack(item)

    first, second, third = (
        described(flow).nodes[name].config for name in ("for_each", "for_each_2", "for_each_3")
    )
    assert (first.enough, second.enough, third.enough) == (  # type: ignore[union-attr]
        2,
        "ctx.results.length >= ctx.input.n",
        "ctx.results.length > 3",
    )
    more = first.more  # type: ignore[union-attr]
    assert more is not None
    assert (more.event_pattern, more.item) == ("item.added", "{{event.payload.item}}")
    assert more.event_condition == "event.payload.id === ctx.input.id"


def test_a_child_for_each_item_is_a_loop_with_a_sub_workflow() -> None:
    @workflow("sorting")
    def sorting(item: str, colour: str) -> str:
        return pack(item)

    @workflow
    def flow(order: Order) -> None:
        done = child.map(sorting, order["items"], at_most=2, colour=order["colour"])
        child.after(done).options(version=3).map("other", order["items"])

    coloured: Any = {"item": "{{ctx.item}}", "colour": "{{ctx.input.colour}}"}
    items: Any = {"source": "{{ctx.input.items}}", "mode": "parallel"}
    assert described(flow) == from_nodes(
        [
            node("done", "loop", concurrency=2, outputVariable="done", **items),
            node(
                "sorting",
                "subWorkflow",
                workflowId="sorting",
                input=coloured,
                outputVariable="sorting",
                joinMode=ONE,
            ),
            node("other", "loop", outputVariable="other", joinMode=ONE, **items),
            node(
                "other_2",
                "subWorkflow",
                workflowId="other",
                version=3,
                input="{{ctx.item}}",
                outputVariable="other_2",
                joinMode=ONE,
            ),
        ],
        "done.loop > sorting",
        "done.done > other",
        "other.loop > other_2",
    )
    assert flow.children == (sorting,)


def test_children_of_items_run_and_keep_their_order() -> None:
    @workflow("packing")
    def packing(item: str) -> str:
        return pack(item)

    @workflow("parcels")
    def parcels(items: list[str]) -> list[str]:
        return child.map(packing, items, at_most=1)

    with Engine() as engine:
        run = engine.start(parcels, ["pen", "ink"]).finished()
        assert run.output == ["box of pen", "box of ink"]


def test_options_of_a_step_are_settings_of_its_node() -> None:
    @workflow
    def flow(order: Order) -> None:
        boxes = for_each(order["items"])
        with boxes as item:
            box = pack.options(timeout="PT5S", mutex=item["shelf"], title="Pack")(item)
            tidy.after(box).options(when=order["tidy"], completes=boxes, cancels=[box])()

            pack.options(timeout="PT9S").map(item["parts"])

    nodes = described(flow).nodes
    assert (nodes["pack"].timeout, nodes["pack_2"].timeout) == (None, timedelta(seconds=9))
    assert (nodes["box"].name, nodes["box"].mutex) == ("Pack", "{{ctx.item.shelf}}")
    assert nodes["box"].timeout is not None
    assert nodes["tidy"].when == "ctx.input.tidy"
    assert (nodes["tidy"].completes, nodes["tidy"].cancels) == (("boxes",), ("box",))


def test_the_test_of_a_loop_sees_the_number_of_the_item_around_it() -> None:
    @workflow
    def flow(order: Order) -> None:
        boxes = for_each(order["items"])
        with boxes as item, repeat_while(lambda last: last["size"] < boxes.index):
            pack(item)

    nodes = described(flow).nodes
    assert nodes["repeat_while"].config.while_ == "ctx.last.size < ctx.boxes_index"  # type: ignore[union-attr]
    assert nodes["boxes_index"].config.values == {"boxes_index": "{{ctx.index}}"}  # type: ignore[union-attr]


def test_a_loop_waits_for_what_its_result_uses() -> None:
    @workflow
    def flow(order: Order) -> None:
        held = notify(order)
        boxes = for_each(order["items"])
        with boxes as item:
            boxes.gives({"held": held, "box": pack(item)})

    edges = {(edge.source, edge.handle, edge.target) for edge in described(flow).edges}
    assert edges == {("held", "default", "boxes"), ("boxes", "loop", "pack")}


def test_items_of_a_known_type_are_known_to_a_task_that_takes_it() -> None:
    @task(name="items.parcel")
    def weigh(parcel: Parcel) -> int:
        return len(parcel.items)

    @workflow("weighing")
    def weighing(parcels: list[Parcel]) -> list[int]:
        return weigh.map(parcels)

    with Engine() as engine:
        run = engine.start(weighing, [{"id": "a", "items": ["x", "y"]}]).finished()
        assert run.output == [2]


# Any nesting gives what Python gives

Tree = list[Any]
"""Nested loops: for each, whether its body decides by the item, and the loops in its body."""

LOOPS: st.SearchStrategy[Tree] = st.recursive(
    st.just([]), lambda inner: st.lists(st.tuples(st.booleans(), inner), min_size=1, max_size=2)
)
TASKS = Registry()


@TASKS.task
def add(path: list[int]) -> int:
    return sum(path)


@TASKS.task
def gather(own: int, inner: list[Any]) -> list[Any]:
    return [own, *inner]


def in_python(tree: Tree, path: list[int]) -> list[Any]:
    """What the loops give."""
    results = []
    for item in (1, 2):
        own = sum([*path, item])
        inner = [
            [in_python(body, [*path, item])] if not decides or item > 1 else [None]
            for decides, body in tree
        ]
        results.append([own, *inner])
    return results


def in_workflow(tree: Tree, path: list[Any]) -> Any:  # noqa: ANN401 - known when it runs
    loop = for_each([1, 2])
    with loop as item:
        here = [*path, item]
        own = add(here)
        inner = []
        for decides, body in tree:
            inner.append([decided(body, here) if decides else in_workflow(body, here)])
        loop.gives(gather(own, inner))
    return loop.results


def decided(tree: Tree, path: list[Any]) -> Any:  # noqa: ANN401 - known when it runs
    rounds = for_each("{{ctx.item > 1 ? [0] : []}}")
    with rounds:
        rounds.gives(in_workflow(tree, path))
    return rounds.results[0]


@settings(max_examples=12, deadline=None, derandomize=True)
@given(LOOPS)
def test_nested_loops_give_what_nested_loops_of_python_give(tree: Tree) -> None:
    @workflow("nested")
    def nested() -> object:
        return in_workflow(tree, [])

    with Engine(tasks=TASKS) as engine:
        assert engine.start(nested).finished().output == in_python(tree, [])


@pytest.mark.parametrize("is_big", [True, False])
def test_a_block_for_each_item_may_decide_wait_and_repeat(is_big: bool) -> None:
    @workflow("mixed")
    def mixed(order: Order) -> object:
        boxes = for_each(order["items"], at_most=1)
        with boxes as item:
            with when(item == order["big"]):
                sleep("PT1H")
                pack(item)
            with otherwise():
                notify(item)
            with repeat_while("ctx.index < 2") as rounds:
                rounds.gives(notify({"item": item, "round": rounds.index, "number": boxes.index}))
            boxes.gives(rounds.results)
        return boxes.results

    with Engine() as engine:
        run = engine.start(mixed, {"items": ["a"], "big": "a" if is_big else "b"}).finished()
        assert ("pack[0]" in run.path, "notify[0]" in run.path) == (is_big, not is_big)
        assert run.output == [
            [{"item": "a", "round": 0, "number": 0}, {"item": "a", "round": 1, "number": 0}]
        ]
