"""Future values: placeholders in a workflow function for values that exist when the workflow runs.

Reading from one and computing with one gives another: an expression. An operation that needs the
value now is reported to the trace, which advises what to write instead.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn, SupportsIndex, TypeVar

from tenuto.python_form import formula
from tenuto.python_form.formula import Formula
from tenuto.python_form.item_types import UNKNOWN, item_at, member_of, slice_of

if TYPE_CHECKING:
    from tenuto.python_form.step import Step
    from tenuto.python_form.trace import Trace

T = TypeVar("T")


class Misuse(enum.Enum):
    """Kinds of operations that need a value now."""

    DECIDED = "to decide on it"
    SEARCHED = "to look into it"
    REPEATED = "to go through it"
    MEASURED = "to measure it"
    CONVERTED = "to make a number of it"
    WRITTEN = "to write it into text"
    HASHED = "to use it as a key"
    CALLED = "to call it"
    CHANGED = "to change it"


def _operator(
    symbol: str, *, is_reversed: bool = False
) -> Callable[[FutureValue, object], FutureValue]:
    """A method that computes an expression of two operands."""

    def compute(value: FutureValue, other: object) -> FutureValue:
        return _computed(value, symbol, other, is_reversed=is_reversed)

    return compute


def _needing(misuse: Misuse, result: T) -> Callable[..., T]:
    """A method that reports a misuse; its result lets the function continue."""

    def refuse(value: FutureValue, *_: object) -> T:
        _refuse(value, misuse)
        return result

    return refuse


class FutureValue:
    """A value that exists only when the workflow runs.

    Every name without underscores is free: `paid.amount` is a property of the value, whatever it
    is called.
    """

    __slots__ = (
        "_tenuto_about",
        "_tenuto_formula",
        "_tenuto_kind",
        "_tenuto_step",
        "_tenuto_trace",
    )

    def __init__(
        self,
        trace: Trace,
        what: Formula,
        about: str,
        step: Step | None = None,
        kind: object = UNKNOWN,
    ) -> None:
        put = object.__setattr__
        put(self, "_tenuto_trace", trace)
        put(self, "_tenuto_formula", what)
        put(self, "_tenuto_about", about)
        put(self, "_tenuto_step", step)
        put(self, "_tenuto_kind", kind)

    def __repr__(self) -> str:
        return f"<future value: {about(self)}>"

    # Reading from it

    def __getattr__(self, name: str) -> FutureValue:
        if name.startswith("__"):
            raise AttributeError(name)
        return _read(self, formula.member(formula_of(self), name), member_of(kind_of(self), name))

    def __getitem__(self, key: object) -> FutureValue:
        own = formula_of(self)
        match key:
            case str():
                return _read(self, formula.member(own, key), member_of(kind_of(self), key))
            case int() if not isinstance(key, bool):
                link = f"[{key}]" if key >= 0 else f".at({key})"
                return _read(self, formula.followed(own, link), item_at(kind_of(self), key))
            case slice(start=start, stop=stop, step=None):
                bounds = [spell(0 if start is None else start, self)]
                bounds += [] if stop is None else [spell(stop, self)]
                pieces = [bounds[0]] if len(bounds) == 1 else [bounds[0], ", ", bounds[1]]
                kind = slice_of(kind_of(self))
                return _read(self, formula.followed(own, ".slice(", *pieces, ")"), kind)
            case _:
                return _read(self, formula.followed(own, "[", spell(key, self), "]"))

    # Computing with it

    def __eq__(self, other: object) -> FutureValue:  # type: ignore[override]
        return _computed(self, "==" if other is None else "===", other)

    def __ne__(self, other: object) -> FutureValue:  # type: ignore[override]
        return _computed(self, "!=" if other is None else "!==", other)

    __lt__ = _operator("<")
    __le__ = _operator("<=")
    __gt__ = _operator(">")
    __ge__ = _operator(">=")
    __add__, __radd__ = _operator("+"), _operator("+", is_reversed=True)
    __sub__, __rsub__ = _operator("-"), _operator("-", is_reversed=True)
    __mul__, __rmul__ = _operator("*"), _operator("*", is_reversed=True)
    __truediv__, __rtruediv__ = _operator("/"), _operator("/", is_reversed=True)
    __pow__, __rpow__ = _operator("**"), _operator("**", is_reversed=True)
    __and__, __rand__ = _operator("&&"), _operator("&&", is_reversed=True)
    __or__, __ror__ = _operator("||"), _operator("||", is_reversed=True)

    def __floordiv__(self, other: object) -> FutureValue:
        return _within(_computed(self, "/", other), "Math.floor")

    def __rfloordiv__(self, other: object) -> FutureValue:
        return _within(_computed(self, "/", other, is_reversed=True), "Math.floor")

    def __mod__(self, other: object) -> FutureValue:
        return _remainder(self, other)

    def __rmod__(self, other: object) -> FutureValue:
        return _remainder(self, other, is_reversed=True)

    def __invert__(self) -> FutureValue:
        return _prefixed(self, "!")

    def __neg__(self) -> FutureValue:
        return _prefixed(self, "-")

    def __pos__(self) -> FutureValue:
        return _prefixed(self, "+")

    def __abs__(self) -> FutureValue:
        return _within(self, "Math.abs")

    # Needing it now. The result lets the function continue, so that further problems are found.

    __bool__ = _needing(Misuse.DECIDED, result=False)
    __contains__ = _needing(Misuse.SEARCHED, result=False)
    __len__ = _needing(Misuse.MEASURED, 0)
    __int__ = __index__ = __round__ = _needing(Misuse.CONVERTED, 0)
    __trunc__ = __floor__ = __ceil__ = __int__
    __float__ = _needing(Misuse.CONVERTED, 0.0)
    __complex__ = _needing(Misuse.CONVERTED, 0j)
    __str__ = __format__ = _needing(Misuse.WRITTEN, "")
    __bytes__ = _needing(Misuse.WRITTEN, b"")
    __hash__ = _needing(Misuse.HASHED, 0)
    __setattr__ = __setitem__ = __delitem__ = __delattr__ = _needing(Misuse.CHANGED, None)

    def __iter__(self) -> Iterator[FutureValue]:
        _refuse(self, Misuse.REPEATED)
        return iter(())

    def __reversed__(self) -> Iterator[FutureValue]:
        return self.__iter__()

    def __call__(self, *_: object, **__: object) -> FutureValue:
        _refuse(self, Misuse.CALLED)
        return self

    def __copy__(self) -> FutureValue:
        return self

    def __deepcopy__(self, _: object) -> FutureValue:
        return self

    def __reduce_ex__(self, _: SupportsIndex) -> NoReturn:
        raise TypeError("a future value of a workflow cannot be pickled")


def formula_of(value: FutureValue) -> Formula:
    found: Formula = object.__getattribute__(value, "_tenuto_formula")
    return found


def step_of(value: FutureValue) -> Step | None:
    """The step whose whole result this is; None for a part of a result or a computed value."""
    found: Step | None = object.__getattribute__(value, "_tenuto_step")
    return found


def kind_of(value: FutureValue) -> object:
    """The annotated type of the value; UNKNOWN if there is none."""
    found: object = object.__getattribute__(value, "_tenuto_kind")
    return found


def trace_of(value: FutureValue) -> Trace:
    found: Trace = object.__getattribute__(value, "_tenuto_trace")
    return found


def about(value: FutureValue) -> str:
    """A description of the value."""
    found: str = object.__getattribute__(value, "_tenuto_about")
    return found


def spell(value: object, beside: FutureValue) -> Formula:
    """Any operand as a formula; one that is not JSON is reported to the trace of `beside`."""
    return trace_of(beside).spelled(value)


def _read(owner: FutureValue, what: Formula, kind: object = UNKNOWN) -> FutureValue:
    words = about(owner)
    words = words if words.startswith("part of ") else f"part of {words}"
    return FutureValue(trace_of(owner), what, words, None, kind)


def _computed(
    value: FutureValue, operator: str, other: object, *, is_reversed: bool = False
) -> FutureValue:
    left, right = _sides(value, operator, other, is_reversed=is_reversed)
    return _made(value, formula.binary(left, operator, right))


def _remainder(value: FutureValue, other: object, *, is_reversed: bool = False) -> FutureValue:
    """With the sign of the divisor, as in Python; in an expression it has that of the dividend."""
    left, right = _sides(value, "%", other, is_reversed=is_reversed)
    once = formula.binary(formula.binary(left, "%", right), "+", right)
    return _made(value, formula.binary(once, "%", right))


def _sides(
    value: FutureValue, operator: str, other: object, *, is_reversed: bool
) -> tuple[Formula, Formula]:
    trace_of(value).check_operand(value, operator, other, is_reversed=is_reversed)
    own, second = formula_of(value), spell(other, value)
    return (second, own) if is_reversed else (own, second)


def _prefixed(value: FutureValue, operator: str) -> FutureValue:
    return _made(value, formula.joined(operator, formula.bracketed(formula_of(value))))


def _within(value: FutureValue, function: str) -> FutureValue:
    return _made(value, formula.joined(f"{function}(", formula_of(value), ")", is_atom=True))


def _made(value: FutureValue, what: Formula) -> FutureValue:
    words = about(value)
    words = words if words.startswith("computed from ") else f"computed from {words}"
    return FutureValue(trace_of(value), what, words)


def _refuse(value: FutureValue, misuse: Misuse) -> None:
    trace_of(value).misused(about(value), misuse)
