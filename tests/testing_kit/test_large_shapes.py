"""Loops, sub-workflows and retries by hand are tested as single steps are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest

from tenuto import Status, TenutoError
from tenuto.testing import Engine, Instance, crash_test
from tests.testing_kit.shop import ORDER, Json, a_delay, a_task, charge, in_a_row, ship

PACK: Json = {
    "id": "pack-all",
    "steps": [
        {
            "stepId": "each",
            "type": "LOOP",
            "source": "{{ workflow.input.items }}",
            "mode": "parallel",
            "transitions": {"loop": "pack", "done": "label"},
        },
        a_task("pack"),
        a_task("label"),
    ],
}

CHILD: Json = in_a_row(a_task("charge", "shop.charge"), a_delay("nap", "P1D"), id="child")
PARENT: Json = {
    "id": "parent",
    "steps": [
        {
            "stepId": "sub",
            "type": "SUB_WORKFLOW",
            "workflowId": "child",
            "input": "{{ workflow.input }}",
            "transitions": {"default": "after"},
        },
        a_task("after"),
    ],
}


def test_the_path_of_a_loop_names_its_iterations(engine: Engine) -> None:
    run = engine.start(PACK, {"items": ["a", "b"]}).finished()
    assert run.path == ["pack[0]", "pack[1]", "each", "label"]
    assert "pack[1]" in run.timeline


def test_iterations_arrive_in_every_order(engine: Engine) -> None:
    orders = set()
    for run in engine.orders(PACK, {"items": [1, 2, 3]}):
        assert run.arrivals == [step for step in run.path if step != "each"]
        orders.add(tuple(run.arrivals[:3]))
    assert orders == set(permutations(["pack[0]", "pack[1]", "pack[2]"]))


def test_a_call_names_its_iteration(engine: Engine) -> None:
    run = engine.start(PACK, {"items": [1, 2]}).finished()
    assert [(call.step, call.iteration) for call in run.calls()] == [
        ("pack", "0"),
        ("pack", "1"),
        ("label", ""),
    ]


def test_a_loop_outlives_every_mishap() -> None:
    def packed_once_each(run: Instance) -> None:
        if run.status == "COMPLETED":
            assert sorted(run.path) == ["each", "label", "pack[0]", "pack[1]", "pack[2]"]

    crash_test(PACK, packed_once_each, input={"items": [1, 2, 3]}, runs=20)


def test_a_large_loop_is_read_as_it_is_written(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = engine.lives.reader
    loads: list[Sequence[str]] = []
    load = reader._loader.load

    async def counted(ids: Sequence[str]) -> object:
        loads.append(ids)
        return await load(ids)

    monkeypatch.setattr(reader._loader, "load", counted)
    run = engine.start(PACK, {"items": list(range(300))}).finished()
    assert len(run.calls(ship)) == 301
    assert len(loads) < 5


def test_a_child_is_an_instance_of_the_same_engine(engine: Engine) -> None:
    engine.deploy(CHILD)
    run = engine.start(PARENT, ORDER)
    assert [each.workflow for each in engine.instances] == ["parent", "child"]
    assert run.finished().path == ["sub", "after"]
    assert len(engine.calls(charge)) == 1


def test_a_family_outlives_every_mishap(engine: Engine) -> None:
    engine.deploy(CHILD)

    def ends_together(run: Instance) -> None:
        statuses = [each.status for each in run.engine.instances]
        # A cancellation may also come when the child has completed and its parent has not.
        assert statuses[:1] == [run.status]
        assert set(statuses) <= {run.status, Status.COMPLETED}

    crash_test(PARENT, ends_together, input=ORDER, engine=engine, runs=20)


def test_an_instance_is_rerun_from_a_step(engine: Engine) -> None:
    definition = in_a_row(a_task("held", "shop.reserve"), a_task("charge", "shop.charge"))
    run = engine.start(definition, ORDER).finished()
    again = run.rerun("charge").finished()
    assert again.id != run.id
    assert len(again.calls()) == 1
    engine.crash_once(1, "before")
    with pytest.raises(TenutoError, match="crashed"):
        run.rerun()
    engine.recover()
    assert len(engine.instances) == 2


def test_a_failed_instance_is_retried_by_hand(engine: Engine) -> None:
    engine.stub(charge, *[ConnectionError("down")] * 3, {"paymentId": "p"})
    run = engine.start(in_a_row(a_task("charge", "shop.charge")), ORDER).finished()
    assert run.status == "FAILED"
    run.retry()
    assert run.finished().output == {"paymentId": "p"}
