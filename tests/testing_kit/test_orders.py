"""Every order in which parallel results can arrive: all up to five, drawn ones above."""

from __future__ import annotations

from itertools import islice, permutations

import pytest

from tenuto import TenutoError
from tenuto.testing import Engine
from tests.testing_kit.shop import (
    APPROVED,
    ORDER,
    Json,
    a_task,
    a_wait,
    charge,
    fan_out,
    in_a_row,
    ship,
)


def branches(run_arrivals: list[str]) -> tuple[str, ...]:
    return tuple(step for step in run_arrivals if step.startswith("branch"))


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_up_to_five_all_orders_are_had_once(engine: Engine, width: int) -> None:
    seen = []
    for run in engine.orders(fan_out(width)):
        assert run.path.count("join") == 1
        assert run.arrivals == run.path
        seen.append(branches(run.arrivals))
    names = [f"branch_{number}" for number in range(width)]
    assert sorted(seen) == sorted(permutations(names))


def test_above_five_a_thousand_are_drawn(engine: Engine) -> None:
    runs = engine.orders(fan_out(6), most=40)
    seen = [branches(run.arrivals) for run in runs]
    assert len(seen) == 40
    assert len(set(seen)) > 30
    assert len(list(islice(engine.orders(fan_out(6)), 3))) == 3


def test_all_orders_are_had_however_many_there_are(engine: Engine) -> None:
    """Two groups of three, one after the other: more orders than would be drawn."""
    definition = fan_out(3)
    definition["steps"][-1]["transitions"] = {"default": ["one", "two", "three"]}
    definition["steps"] += [a_task("one"), a_task("two"), a_task("three")]
    seen = {tuple(run.arrivals) for run in engine.orders(definition, most=4)}
    assert len(seen) == 6 * 6


def test_where_one_order_has_more_than_five_at_once_orders_are_drawn(engine: Engine) -> None:
    """In the first order there are never more than four; if `wide` comes first there are six."""
    narrow = ["narrow_0", "narrow_1", "narrow_2"]
    wide = ["wide_0", "wide_1", "wide_2"]
    definition: Json = {
        "id": "sometimes-wide",
        "steps": [
            a_task("first", transitions={"default": [*narrow, "wide"]}),
            *map(a_task, narrow),
            a_task("wide", transitions={"default": wide}),
            *map(a_task, wide),
        ],
    }
    runs = list(engine.orders(definition, most=30))
    assert runs[0].arrivals == ["first", *narrow, "wide", *wide]
    drawn = [tuple(run.arrivals) for run in runs[-30:]]
    assert len(set(drawn)) > 20


def test_an_order_that_does_not_end_is_told_with_its_timeline(engine: Engine) -> None:
    definition = in_a_row(a_task("first"), a_wait("answer", "mail.came"))
    with pytest.raises(AssertionError) as caught:
        list(engine.orders(definition))
    said = str(caught.value)
    assert "it does not end when results arrive as first: it waits for mail.came" in said
    assert "events=" in said
    assert "answer  waits for mail.came" in said


def test_what_is_drawn_follows_from_the_seed(engine: Engine) -> None:
    def drawn(seed: int) -> list[list[str]]:
        return [run.arrivals for run in engine.orders(fan_out(6), most=5, seed=seed)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_a_thousand_is_the_default(engine: Engine) -> None:
    engine.stub(ship, 1)
    generator = engine.orders(fan_out(6))
    assert generator.gi_frame.f_locals["most"] == 1_000  # type: ignore[attr-defined]


def test_each_order_is_a_world_of_its_own_with_the_same_stubs(engine: Engine) -> None:
    engine.stub(ship, "first", "then")
    for run in engine.orders(fan_out(2)):
        assert run.state["steps"]["first"]["output"] == "first"  # type: ignore[index,call-overload]
        assert [each.id for each in run.engine.instances] == [run.id]
    assert engine.instances == []


def test_the_first_to_arrive_wins_a_race(engine: Engine) -> None:
    race: Json = {
        "id": "race",
        "steps": [
            a_task("first", transitions={"default": ["slow", "fast"]}),
            a_task("slow", transitions={"default": "winner"}),
            a_task("fast", transitions={"default": "winner"}),
            a_task("winner", joinMode="any", input={"by": "{{ steps.fast.output ?? 'slow' }}"}),
        ],
    }
    winners = [run.arrivals[1] for run in engine.orders(race)]
    assert sorted(set(winners)) == ["fast", "slow"]


def test_events_are_published_when_they_are_waited_for(engine: Engine) -> None:
    engine.stub(charge, {"paymentId": "p"})
    [run] = engine.orders(APPROVED, ORDER, events=["approval.given"])
    assert run.path == ["reserve", "charge", "approval", "ship"]


def test_failures_arrive_in_every_order_too(engine: Engine) -> None:
    definition = fan_out(2)
    definition["steps"][1] |= {"taskId": "shop.charge", "retry": {"maxAttempts": 1}}
    engine.stub(charge, ConnectionError("down"))
    ends = {tuple(run.arrivals[1:]): run.status for run in engine.orders(definition, ORDER)}
    # What fails first takes the other with it, which is told to stop.
    assert ends == {("branch_0",): "FAILED", ("branch_1", "branch_0"): "FAILED"}


def test_a_run_that_is_over_can_be_looked_at_alone(engine: Engine) -> None:
    [run] = engine.orders(fan_out(1))
    assert run.status == "COMPLETED"
    with pytest.raises(TenutoError, match="this run is over"):
        run.engine.start(fan_out(1))
