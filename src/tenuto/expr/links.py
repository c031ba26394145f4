"""Following a path, a property, a subscript or a method from a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tenuto.expr.coerce import description
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.library import ITERATIONS, METHOD_NAMES, METHODS, OBJECT_METHODS, Callback
from tenuto.expr.members import member, subscript
from tenuto.expr.values import UNDEFINED, Lazy, Operand
from tenuto.expr.words import nearest

Evaluator: TypeAlias = Callable[[Frame], Operand]
Apply: TypeAlias = Callable[[Frame, Operand], Operand]

_CHANGING = frozenset({"push", "pop", "shift", "unshift", "splice", "fill", "copyWithin"})


def path(root: str, names: tuple[str, ...]) -> Evaluator:
    """A root and the names after it, in one closure: nearly every expression starts with one."""

    def evaluate(frame: Frame) -> Operand:
        value: Operand = frame.scope.get(root, UNDEFINED)
        for name in names:
            # Plain objects first and inline: this loop is most of the cost of a condition.
            value = (
                value.get(name, UNDEFINED) if type(value) is dict else member(frame, value, name)
            )
        return value

    return evaluate


def apply_member(name: str) -> Apply:
    """`.name`."""
    return lambda frame, value: member(frame, value, name)


def apply_subscript(key: Evaluator) -> Apply:
    """`[key]`."""
    return lambda frame, value: subscript(frame, value, key(frame))


def apply_method(
    name: str,
    arguments: Callable[[Frame], list[Operand]],
    position: int,
    callback: Callback | None = None,
) -> Apply:
    """`.name(arguments)`, the method being chosen by the type of the value."""
    if callback is not None:
        return _apply_iteration(name, callback, arguments, position)
    by_type = {kind: methods[name] for kind, methods in METHODS.items() if name in methods}
    of_objects = OBJECT_METHODS.get(name)

    def apply(frame: Frame, value: Operand) -> Operand:
        method = by_type.get(type(value)) or (of_objects if isinstance(value, Lazy) else None)
        if method is None:
            raise _no_method(value, name).at(position)
        try:
            return method(frame, value, arguments(frame))
        except ExpressionError as error:
            error.at(position)
            raise

    return apply


def _apply_iteration(
    name: str, callback: Callback, arguments: Callable[[Frame], list[Operand]], position: int
) -> Apply:
    iterate = ITERATIONS[name]

    def apply(frame: Frame, value: Operand) -> Operand:
        if type(value) is not list:
            raise _no_method(value, name).at(position)
        try:
            return iterate(frame, value, callback, arguments(frame))
        except ExpressionError as error:
            error.at(position)
            raise

    return apply


def _no_method(value: Operand, name: str) -> ExpressionError:
    known = ITERATIONS.keys() | METHODS[list] if type(value) is list else METHODS.get(type(value))
    advice = nearest(name, known or ())
    if value is None or value is UNDEFINED:
        advice = f"Write `?.{name[:40]}(…)` if it may be missing."
    elif name in _CHANGING:
        advice = "Expressions change nothing; use `concat`, `slice` or `[...a, b]`."
    elif name not in METHOD_NAMES and not advice:
        advice = nearest(name, METHOD_NAMES)
    return ExpressionError(f"{description(value)} has no method `{name[:40]}`. {advice}".rstrip())
