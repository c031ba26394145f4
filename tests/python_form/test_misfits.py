"""A result that cannot fit the parameter that takes it is a warning before anything runs."""

from __future__ import annotations

from typing import Any

from tenuto import Problem, task, workflow


@task
def book_room(city: str) -> dict[str, Any]:
    return {"city": city}


@book_room.undo
def drop(hotel: str) -> None: ...


@task
def hold_room(x: int) -> float:
    return x


@hold_room.undo
def release(held: int) -> None: ...


@task
def keep_room(value: dict[str, Any] | None) -> object:
    return value


def warnings_of(fn: Any) -> list[Problem]:  # noqa: ANN401 - a workflow function
    checked = workflow(fn).check()
    assert checked.definition is not None
    return [each for each in checked.problems if each.severity == "warning"]


def test_a_result_that_its_only_parameter_or_its_undo_never_takes_is_told() -> None:
    def trip(city: str) -> object:
        hotel: Any = book_room(city)
        return hold_room(hotel)

    undo, step = warnings_of(trip)
    assert (undo.code, step.code) == ("TEN-1123", "TEN-1110")
    assert "`book_room` returns does not fit `hotel`" in undo.message
    assert "it is an object, and text is needed" in undo.message
    assert (
        "does not fit `x` of task `hold_room`: it is an object, and a whole number" in step.message
    )


def test_a_result_that_may_fit_is_not_told() -> None:
    def trip(x: int, other: Any) -> object:  # noqa: ANN401 - not known
        hold_room(other)
        kept: Any = keep_room(other)
        keep_room(kept)
        held: Any = hold_room(x)
        return hold_room(held)

    assert warnings_of(trip) == []
