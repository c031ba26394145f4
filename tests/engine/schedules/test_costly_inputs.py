"""Tests that long expressions in the inputs of schedules hold nothing up, and are compiled once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from tenuto import Tenuto
from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.engine.schedules import documents
from tenuto.engine.schedules.documents import ROOTS, TickInput, schedule_of
from tenuto.engine.settings import Settings
from tenuto.expr import compile_template
from tenuto.expr.segments import segments
from tenuto.model.json import Object
from tenuto.schedules import Schedule
from tenuto.store.parts.schedules import Fire, ScheduleKey, Schedules as StoredSchedules
from tests.engine.schedules.clockwork import Clockwork

LONG = "{{[" + ",".join(["schedule.id"] * 300) + "].length}}"


def input(mark: str = "") -> Object:
    """One whose expressions take some hundred milliseconds to compile."""
    return {f"k{number}": LONG + f"{mark}{number}" for number in range(10)}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads in which inputs of schedules are compiled, one for each time."""
    threads: list[threading.Thread] = []

    def noted(*given: Any, **more: Any) -> object:  # noqa: ANN401
        threads.append(threading.current_thread())
        return compile_template(*given, **more)

    monkeypatch.setattr("tenuto.engine.schedules.documents.compile_template", noted)
    return threads


def test_an_input_is_compiled_once_when_it_is_saved_and_once_for_all_its_ticks(
    compiled: list[threading.Thread],
) -> None:
    with Clockwork() as world:
        world.save(input=input())
        assert len(compiled) == 1
        world.skip(minutes=31)
        assert world.started() == [5, 10, 15, 20, 25, 30]
        assert len(compiled) == 2


def test_an_input_is_compiled_again_where_it_has_changed(
    compiled: list[threading.Thread],
) -> None:
    with Clockwork() as world:
        world.save(input=input())
        world.skip(minutes=6)
        world.save(input=input("x"))
        world.skip(minutes=10)
        assert world.started() == [5, 10, 15]
        assert len(compiled) == 4


def test_a_schedule_that_is_shown_is_not_compiled(compiled: list[threading.Thread]) -> None:
    with Clockwork() as world:
        row = world.save(input=input())
        compiled.clear()
        schedule = schedule_of(row)
        assert schedule is not None
        assert schedule.input == input()
        assert compiled == []


def test_a_process_that_begins_compiles_nothing_before_a_tick(
    compiled: list[threading.Thread],
) -> None:
    with Clockwork() as world:
        world.save(input=input())
        compiled.clear()
        world.down_for(minutes=1)
        assert compiled == []
        world.skip(minutes=6)
        assert world.started() == [5]
        assert len(compiled) == 1


def test_inputs_beyond_the_bound_of_bytes_are_forgotten_and_fire_all_the_same(
    monkeypatch: pytest.MonkeyPatch, compiled: list[threading.Thread]
) -> None:
    monkeypatch.setattr(documents, "_KEPT_BYTES", 2_500_000)
    with Clockwork() as world:
        world.save("a", input=input("a"))
        world.save("b", input=input("b"))
        compiled.clear()
        world.skip(minutes=11)
        assert world.started("a") == world.started("b") == [5, 10]
        assert len(compiled) == 3, "the last one is kept"


def test_large_inputs_with_short_expressions_count_with_all_their_bytes(
    monkeypatch: pytest.MonkeyPatch, compiled: list[threading.Thread]
) -> None:
    monkeypatch.setattr(documents, "_KEPT_BYTES", 50_000)
    with Clockwork() as world:
        for id in ("a", "b", "c"):
            world.save(id, input={"id": "{{schedule.id}}", "text": "x" * 20_000})
        compiled.clear()
        world.skip(minutes=6)
        assert len(compiled) == 3
        world.skip(minutes=5)
        assert len(compiled) == 4, "two of the three are kept, and fire before the other one"
        for id in ("a", "b", "c"):
            assert world.started(id) == [5, 10]


@pytest.mark.asyncio
async def test_long_expressions_are_compiled_and_filled_in_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch, compiled: list[threading.Thread]
) -> None:
    filled: list[threading.Thread] = []
    at = TickInput.at

    def noted(self: TickInput, nominal: Any) -> object:  # noqa: ANN401
        filled.append(threading.current_thread())
        return at(self, nominal)

    monkeypatch.setattr(TickInput, "at", noted)
    async with Tenuto(settings=Settings(bounds=DEFAULT_BOUNDS)) as app:

        @app.task
        def work() -> int:
            return 1

        step: Object = {"stepId": "a", "type": "TASK", "taskId": "work"}
        await app.deploy({"id": "report", "steps": [step]})
        document: Object = {
            "id": "s",
            "cron": "0 0 1 1 *",
            "target": {"workflowId": "report"},
            "input": input(),
        }
        await app.schedules.save(document)
        tick = await app.schedules.trigger("s")
        assert tick.outcome == "started"
    assert len(compiled) == len(filled) == 2
    assert threading.current_thread() not in {*compiled, *filled}


def test_a_text_that_stands_in_several_places_is_cut_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut: list[str] = []

    def noted(text: str, roots: frozenset[str]) -> object:
        cut.append(text)
        return segments(text, roots)

    monkeypatch.setattr("tenuto.expr.template.segments", noted)
    found = compile_template({"a": "{{schedule.id}}", "b": ["{{schedule.id}}"]}, roots=ROOTS)
    assert found.render({"schedule": {"id": "x"}}) == {"a": "x", "b": ["x"]}
    assert cut == ["{{schedule.id}}"]


def test_those_at_hand_fire_before_those_that_are_to_be_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []
    compiled = documents.compiled

    def noted(schedule: Schedule) -> TickInput:
        order.append(schedule.id)
        return compiled(schedule)

    with Clockwork() as world:
        world.save("a", input=input())
        world.save("b", input={"x": "{{schedule.id}}"})
        monkeypatch.setattr(documents, "compiled", noted)
        world.skip(minutes=6)
        assert world.started("a") == world.started("b") == [5]
    assert order == ["b", "a"]


def test_thousands_that_are_to_be_compiled_hold_up_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Others come after one look at each page of those that are left, and not after all of them."""
    order: list[str] = []
    compiled = documents.compiled

    def noted(schedule: Schedule) -> TickInput:
        order.append(schedule.id)
        return compiled(schedule)

    monkeypatch.setattr("tenuto.engine.schedules.firing._COMPILED_FOR", 0.0)
    pages, most = 8, 4
    with Clockwork(settings=Settings(bounds=Bounds(schedules=most))) as world:
        slow = [f"a{number:02}" for number in range(pages * most)]
        for id in slow:
            world.save(id, input={"k": LONG})
        world.save("z", input={"x": "{{schedule.id}}"})
        monkeypatch.setattr(documents, "compiled", noted)
        world.skip(minutes=6)
        assert order.index("z") <= 2 * pages
        assert {*order} == {*slow, "z"}


def test_those_at_hand_are_written_before_the_first_of_the_others_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []
    compiled, fire = documents.compiled, StoredSchedules.fire

    def noted_compiled(schedule: Schedule) -> TickInput:
        order.append(f"compiled {schedule.id}")
        return compiled(schedule)

    async def noted_fire(self: StoredSchedules, fires: Sequence[Fire]) -> set[ScheduleKey]:
        order.extend(f"fired {each.row.id}" for each in fires)
        return await fire(self, fires)

    with Clockwork() as world:
        world.save("a", input=input())
        world.save("b")
        monkeypatch.setattr(documents, "compiled", noted_compiled)
        monkeypatch.setattr(StoredSchedules, "fire", noted_fire)
        world.skip(minutes=6)
    assert order[:3] == ["fired b", "compiled a", "fired a"]
