"""`one_of`: the value of whichever branch ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, overload

from tenuto.python_form import formula
from tenuto.python_form.formula import Formula
from tenuto.python_form.future import FutureValue, formula_of
from tenuto.python_form.recorder import Recording, current
from tenuto.python_form.step import Step

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


@overload
def one_of(first: A, second: B, /) -> A | B: ...


@overload
def one_of(first: A, second: B, third: C, /) -> A | B | C: ...


@overload
def one_of(*values: A) -> A: ...


def one_of(*values: object) -> Any:
    """The value that came first; of the branches of a `when` that is the one that ran."""
    trace = current("one_of")
    step = trace.joined_any(values, "one_of")
    if step is None:
        return FutureValue(trace, formula.plain("null"), "one of several values")
    return choice(trace, step, values, step)


def choice(trace: Recording, join: Step, values: Sequence[object], holder: Step) -> FutureValue:
    """The value of the source with which an `any` join continued; the join records its sources."""
    chosen: list[str | Formula] = []
    for number, value in enumerate(values[:-1], start=1):
        assert isinstance(value, FutureValue)
        noted = Formula(("steps", join, f".output.branches.includes('of_{number}') ? "))
        chosen += [noted, _apart(value), " : "]
    last = values[-1]
    assert isinstance(last, FutureValue)
    picked = formula.joined(*chosen, _apart(last))
    only_the_join = Formula(picked.parts, (join,), is_atom=len(values) == 1)
    return FutureValue(trace, only_the_join, "one of several values", holder)


def _apart(value: FutureValue) -> Formula:
    return formula.bracketed(formula_of(value))
