"""Turning a syntax tree into nested closures, each of which evaluates one node.

Compiling looks up every operator, function and method once; an evaluation only calls these
closures. Nodes pay no fuel one by one: a whole expression has a known number of them and pays for
that when it starts, an arrow function pays for its body each time it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tenuto.expr.arithmetic import negate
from tenuto.expr.bounds import NODES_PER_STEP
from tenuto.expr.capture import captured_in
from tenuto.expr.coerce import description, to_number, to_text, truthy, type_of
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.library import FUNCTIONS, Callback
from tenuto.expr.library.objects import properties
from tenuto.expr.links import Apply, Evaluator, apply_member, apply_method, apply_subscript, path
from tenuto.expr.operators import binary, equals_constant
from tenuto.expr.syntax import (
    Argument,
    ArrayLiteral,
    Arrow,
    Binary,
    Call,
    Captured,
    Chain,
    Conditional,
    Literal,
    Local,
    Logical,
    Member,
    Method,
    Node,
    ObjectLiteral,
    Path,
    Spread,
    Subscript,
    Unary,
)
from tenuto.expr.values import UNDEFINED, Operand, Undefined

_SKIPPED: Final[Any] = object()
"""What a `?.` that met nothing hands to the rest of its chain. Never leaves the chain."""


def evaluator(node: Node) -> Evaluator:
    """The closure that evaluates `node`."""
    return EVALUATORS[type(node)](node)


def _literal(node: Literal) -> Evaluator:
    value = node.value
    return lambda _: value


def _path(node: Path) -> Evaluator:
    return path(node.root, node.names)


def _local(node: Local) -> Evaluator:
    slot = node.slot
    return lambda frame: frame.slots[slot]


def _captured(node: Captured) -> Evaluator:
    index = node.index
    return lambda frame: captured_in(frame, index)


# Links


def _link(node: Member | Subscript | Method) -> Evaluator:
    base, apply = evaluator(node.value), _application(node)
    return lambda frame: apply(frame, base(frame))


def _application(node: Member | Subscript | Method) -> Apply:
    """What the link does to the value before it."""
    if isinstance(node, Member):
        return apply_member(node.name)
    if isinstance(node, Subscript):
        return apply_subscript(evaluator(node.key))
    first = node.arguments[0] if node.arguments else None
    if isinstance(first, Arrow):
        return apply_method(
            node.name, _arguments(node.arguments[1:]), node.start, callback=_arrow(first)
        )
    return apply_method(node.name, _arguments(node.arguments), node.start)


def _chain(node: Chain) -> Evaluator:
    links = _chained(node.links)

    def evaluate(frame: Frame) -> Operand:
        value = links(frame)
        return UNDEFINED if value is _SKIPPED else value

    return evaluate


def _chained(node: Node) -> Evaluator:
    if not isinstance(node, Member | Subscript | Method):
        return evaluator(node)
    base, apply, optional = _chained(node.value), _application(node), node.optional

    def evaluate(frame: Frame) -> Operand:
        value = base(frame)
        if value is _SKIPPED or (optional and (value is None or value is UNDEFINED)):
            skipped: Operand = _SKIPPED
            return skipped
        return apply(frame, value)

    return evaluate


# Calls


def _arguments(nodes: tuple[Argument, ...]) -> Callable[[Frame], list[Operand]]:
    if not any(isinstance(node, Spread) for node in nodes):
        plain = [evaluator(node) for node in nodes if not isinstance(node, Spread | Arrow)]
        return lambda frame: [evaluate(frame) for evaluate in plain]
    parts = [_part(node) for node in nodes if not isinstance(node, Arrow)]

    def evaluate_all(frame: Frame) -> list[Operand]:
        values: list[Operand] = []
        for part in parts:
            part(frame, values)
        return values

    return evaluate_all


def _part(node: Node | Spread) -> Callable[[Frame, list[Operand]], None]:
    """An element of a list: one value, or those of an array that is spread."""
    if not isinstance(node, Spread):
        evaluate = evaluator(node)
        return lambda frame, values: values.append(evaluate(frame))
    spread = evaluator(node.value)

    def extend(frame: Frame, values: list[Operand]) -> None:
        added = spread(frame)
        if type(added) is str:
            frame.pay(len(added))
            values.extend(added)
            return
        if type(added) is not list:
            raise ExpressionError(f"`...` takes an array here, not {description(added)}")
        frame.pay(len(added))
        values.extend(added)

    return extend


def _call(node: Call) -> Evaluator:
    function, arguments, position = FUNCTIONS[node.function], _arguments(node.arguments), node.start

    def evaluate(frame: Frame) -> Operand:
        try:
            return function(frame, arguments(frame))
        except ExpressionError as error:
            error.at(position)
            raise

    return evaluate


def _arrow(node: Arrow) -> Callback:
    body, cost = evaluator(node.body), 1 + node.body.size // NODES_PER_STEP
    parameters = node.parameters
    if len(parameters) == 1 and isinstance(parameters[0], int):
        slot = parameters[0]

        def call_with_one(frame: Frame, value: Operand, *_rest: Operand) -> Operand:
            frame.pay(cost)
            frame.slots[slot] = value
            return body(frame)

        return call_with_one

    def call(frame: Frame, *values: Operand) -> Operand:
        frame.pay(cost)
        for i, parameter in enumerate(parameters):
            value = values[i] if i < len(values) else UNDEFINED
            if isinstance(parameter, int):
                frame.slots[parameter] = value
            else:
                _take_apart(frame, value, parameter)
        return body(frame)

    return call


def _take_apart(frame: Frame, value: Operand, slots: tuple[int, ...]) -> None:
    if type(value) is not list:
        raise ExpressionError(f"only an array can be taken apart, not {description(value)}")
    for i, slot in enumerate(slots):
        frame.slots[slot] = value[i] if i < len(value) else UNDEFINED


# Operators


def _unary(node: Unary) -> Evaluator:
    operand = evaluator(node.operand)
    match node.operator:
        case "!":
            return lambda frame: not truthy(operand(frame))
        case "-":
            return lambda frame: negate(frame, operand(frame))
        case "+":
            return lambda frame: to_number(frame, operand(frame))
        case _:
            return lambda frame: type_of(operand(frame))


def _binary(node: Binary) -> Evaluator:
    left = evaluator(node.left)
    if isinstance(node.right, Literal) and node.operator in ("===", "!=="):
        return equals_constant(left, node.right.value, negated=node.operator == "!==")
    return binary(node.operator, left, evaluator(node.right))


def _logical(node: Logical) -> Evaluator:
    *firsts, last = [evaluator(operand) for operand in node.operands]
    stops: Callable[[Operand], bool] = {"&&": _is_falsy, "||": truthy, "??": _is_there}[
        node.operator
    ]

    def evaluate(frame: Frame) -> Operand:
        for first in firsts:
            value = first(frame)
            if stops(value):
                return value
        return last(frame)

    return evaluate


def _is_falsy(value: Operand) -> bool:
    return not truthy(value)


def _is_there(value: Operand) -> bool:
    return value is not None and type(value) is not Undefined


def _conditional(node: Conditional) -> Evaluator:
    test, yes, no = evaluator(node.test), evaluator(node.yes), evaluator(node.no)
    return lambda frame: yes(frame) if truthy(test(frame)) else no(frame)


# Literals of arrays and objects


def _array(node: ArrayLiteral) -> Evaluator:
    return _arguments(node.elements)


def _object(node: ObjectLiteral) -> Evaluator:
    parts: list[tuple[Evaluator | None, Evaluator]] = [
        (None, evaluator(entry.value))
        if isinstance(entry, Spread)
        else (evaluator(entry.key), evaluator(entry.value))
        for entry in node.entries
    ]

    def evaluate(frame: Frame) -> Operand:
        result: dict[str, Operand] = {}
        for key, value in parts:
            if key is not None:
                result[to_text(frame, key(frame))] = value(frame)
                continue
            spread = value(frame)
            if spread is not None and spread is not UNDEFINED:
                result.update(properties(frame, spread))
        return result

    return evaluate


EVALUATORS: Final[dict[type, Callable[[Any], Evaluator]]] = {
    ArrayLiteral: _array,
    Binary: _binary,
    Call: _call,
    Captured: _captured,
    Chain: _chain,
    Conditional: _conditional,
    Literal: _literal,
    Local: _local,
    Logical: _logical,
    Member: _link,
    Method: _link,
    ObjectLiteral: _object,
    Path: _path,
    Subscript: _link,
    Unary: _unary,
}
"""The allow-list: a node that is not here cannot be evaluated."""
