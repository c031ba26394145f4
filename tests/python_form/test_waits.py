"""Waits for several events, for the first of several, and values that are set without a task."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto import (
    event,
    for_each,
    one_of,
    otherwise,
    set_values,
    wait_event,
    wait_first,
    when,
    workflow,
)
from tenuto.testing import Engine
from tests.python_form.graphs import described, from_nodes, node, traced
from tests.python_form.shop import Order, notify, pack, reserve, score, tidy

ONE: Any = {"atLeast": 1}


@workflow("waits.race")
def race(order: Order) -> object:
    first = wait_first(
        paid=event("payment.received").where("event.payload.id === ctx.input.id"),
        refused=event("payment.refused").giving(why="reason"),
        timeout="P1D",
        on_timeout=lambda: notify("late"),
    )
    with when(first.paid):
        paid = notify(first.payload)
    with otherwise(first.refused):
        refused = notify("{{ctx.why}}")
    with otherwise():
        late = notify(first)
    return one_of(paid, refused, late)


@pytest.mark.parametrize(
    ("happening", "payload", "output"),
    [
        ("payment.received", {"id": 7}, {"id": 7}),
        ("payment.refused", {"reason": "no money"}, "no money"),
        (None, None, "late"),
    ],
)
def test_the_first_of_several_events_goes_its_way(
    happening: str | None, payload: dict[str, object] | None, output: object
) -> None:
    with Engine() as engine:
        run = engine.start(race, {"id": 7})
        if happening is None:
            engine.skip(days=2)
        else:
            engine.publish(happening, payload)
        assert run.finished().output == output


def test_the_first_of_several_events_is_a_wait_with_arms() -> None:
    @workflow
    def flow(order: Order) -> None:
        first = wait_first(paid=event("a.paid"), refused=event("a.refused"))
        notify(first)

    arms: list[Any] = [
        {
            "id": name,
            "eventPattern": f"a.{name}",
            "eventPayloadMapping": {"first_arm": f"{{{{'{name}'}}}}"},
        }
        for name in ("paid", "refused")
    ]
    branches: list[Any] = [{"id": "go", "when": "true"}]
    assert described(flow) == from_nodes(
        [
            node("first", "eventWait", arms=arms, outputVariable="first"),
            node("first_came", "condition", branches=branches, joinMode="any"),
            traced("notify", "notify", "{{ctx.first}}", joinMode=ONE),
        ],
        "first.paid > first_came",
        "first.refused > first_came",
        "first_came.go > notify",
    )


def test_some_of_several_steps_are_enough() -> None:
    @workflow
    def flow(order: Order) -> None:
        held, risk, tidied = reserve(order), score(order), tidy()
        notify.after_any(held, risk, tidied, at_least=2, cancel_rest=True)(1)

    told = described(flow).nodes["notify"]
    assert (told.at_least, told.cancel_rest) == (2, True)


def test_an_event_may_end_a_loop() -> None:
    @workflow("waits.ending")
    def ending(items: list[str]) -> object:
        boxes = for_each(items)
        with boxes as item:
            with when(item == "last"):
                wait_event("enough", completes=boxes)
            with otherwise():
                boxes.gives(pack(item))
        return boxes.results

    with Engine() as engine:
        run = engine.start(ending, ["pen", "last"])
        engine.publish("enough")
        assert "box of pen" in run.finished().output  # type: ignore[operator]


def test_values_are_set_without_a_task_and_text_may_name_them() -> None:
    @workflow("waits.values")
    def flow(order: Order) -> object:
        total = set_values(total=order["net"] * 2, name="{{ctx.input.who}}")
        said = notify("{{ctx.name}}: {{ctx.total}}")
        return {"said": said, "total": total["total"]}

    assert described(flow) == from_nodes(
        [
            node(
                "set_values",
                "set",
                values={"total": "{{ctx.input.net * 2}}", "name": "{{ctx.input.who}}"},
                outputVariable="set_values",
            ),
            traced("said", "notify", "{{ctx.name}}: {{ctx.total}}", joinMode=ONE),
            node(
                "end",
                "end",
                outputParameters={"said": "{{ctx.said}}", "total": "{{ctx.set_values.total}}"},
                joinMode={"atLeast": 2},
            ),
        ],
        "set_values > said",
        "said > end",
        "set_values > end",
    )
    with Engine() as engine:
        run = engine.start(flow, {"net": 4, "who": "ada"}).finished()
        assert run.output == {"said": "ada: 8", "total": 8}


def test_a_wait_for_several_events_gives_their_list() -> None:
    @workflow("waits.several")
    def several() -> object:
        votes = wait_event("vote.cast", dict[str, str], count=2)
        more = wait_event("vote.cast", count=1, timeout="PT1H", on_timeout=lambda: [0])
        return {"by": [votes[0]["by"], votes[1]["by"]], "more": more}

    with Engine() as engine:
        run = engine.start(several)
        for name in ("ada", "eve"):
            engine.publish("vote.cast", {"by": name})
        run.until(waiting_for="vote.cast")
        assert run.finished().output == {"by": ["ada", "eve"], "more": [0]}
