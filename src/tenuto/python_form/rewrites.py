"""Rewrites Python tests on future values with the operators `&`, `|`, `~`, or as text.

`a > 1 and not b` is `(a > 1) & ~b`; `"vip" in order["tags"]` is `ctx.input.tags.includes('vip')`.
It is used for advice: a test that it cannot rewrite exactly gets none.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import cast

from tenuto.python_form.formula import bracketed
from tenuto.python_form.future import FutureValue, formula_of, step_of
from tenuto.python_form.step import Step

_PLAIN_TEXT = re.compile(r"[^'\"\\{}]*\Z")
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")
_COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "===",
    ast.NotEq: "!==",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_COMPUTED: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}

Names = Mapping[str, object]
"""Variables in scope → their values."""


def with_operators(test: ast.expr, names: Names) -> str | None:
    """A test with `&`, `|` and `~`; None if these would have another meaning."""
    try:
        return ast.unparse(_operators(test, names))
    except _Unspoken:
        return None


def as_text(node: ast.expr, names: Names) -> str | None:
    """Python code as the text of an expression; None if there is no equivalent."""
    try:
        return _text(node, names)
    except _Unspoken:
        return None


def as_template(node: ast.expr, names: Names) -> str | None:
    """An expression or an f-string as a template."""
    try:
        if not isinstance(node, ast.JoinedStr):
            return f"{{{{{_text(node, names)}}}}}"
        return "".join(_piece(each, names) for each in node.values)
    except _Unspoken:
        return None


def expected_text(value: FutureValue, names: Names) -> str:
    """The expression of a future value, with the present variables as names of its steps."""
    held = {
        id(step_of(each)): name for name, each in names.items() if isinstance(each, FutureValue)
    }

    def name(step: Step) -> str:
        return step.given_name or held.get(id(step), step.base)

    return bracketed(formula_of(value)).text(name)


def known_text(value: object) -> str | None:
    """A value that is known now, as an expression."""
    try:
        return _held(value, {})
    except _Unspoken:
        return None


class _Unspoken(Exception):
    """The code has no equivalent."""


def _operators(node: ast.expr, names: Names) -> ast.expr:
    match node:
        case ast.BoolOp(op=op, values=values):
            sign: ast.operator = ast.BitAnd() if isinstance(op, ast.And) else ast.BitOr()
            return _chain(sign, [_operand(each, names) for each in values])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ast.UnaryOp(ast.Invert(), _operand(operand, names))
        case ast.Compare(ops=[ast.In() | ast.NotIn() | ast.Is() | ast.IsNot(), *_]):
            raise _Unspoken
        case ast.Compare(left=left, ops=[_, _, *_] as ops, comparators=others):
            pairs = zip([left, *others[:-1]], ops, others, strict=True)
            return _chain(ast.BitAnd(), [ast.Compare(a, [op], [b]) for a, op, b in pairs])
        case ast.IfExp():
            raise _Unspoken
        case _:
            return node


def _operand(node: ast.expr, names: Names) -> ast.expr:
    """An operand of `&` or `|`, for which these operators have no other meaning in Python."""
    known: object = None
    match node:
        case ast.Constant(value=known):
            pass
        case ast.Name(id=name):
            known = names.get(name)
        case ast.Dict() | ast.List() | ast.Tuple() | ast.Set():
            raise _Unspoken
        case _:
            pass
    if isinstance(known, int | dict | list | tuple | set) and not isinstance(known, bool):
        raise _Unspoken
    return _operators(node, names)


def _chain(sign: ast.operator, values: list[ast.expr]) -> ast.expr:
    first, *rest = values
    for each in rest:
        first = ast.BinOp(first, sign, each)
    return first


def _text(node: ast.expr, names: Names) -> str:  # noqa: C901 - one for each kind
    match node:
        case ast.Constant(value=str() as value):
            return _quoted(value)
        case ast.Constant(value=None | bool() | int() | float() as value):
            return json.dumps(value)
        case ast.Name(id=name):
            return _held(names.get(name, _Unspoken), names)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return f"[{', '.join(_text(each, names) for each in items)}]"
        case ast.Dict(keys=keys, values=values):
            parts = zip(keys, (_text(each, names) for each in values), strict=True)
            return f"({{{', '.join(_part(key, text) for key, text in parts)}}})"
        case ast.Attribute(value=owner, attr=name):
            return f"{_text(owner, names)}.{name}"
        case ast.Subscript(value=owner, slice=ast.Constant(value=key)):
            return _text(owner, names) + _link(key)
        case ast.Call(func=ast.Name(id="len"), args=[of], keywords=[]):
            return f"{_text(of, names)}.length"
        case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[ast.Constant(value=key)]):
            return _text(owner, names) + _link(key)
        case ast.Call(
            func=ast.Attribute(value=owner, attr="get"), args=[ast.Constant(value=key), other]
        ):
            return f"({_text(owner, names)}{_link(key)} ?? {_text(other, names)})"
        case ast.BoolOp(op=op, values=values):
            sign = " && " if isinstance(op, ast.And) else " || "
            return sign.join(_side(each, names) for each in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"!{_side(operand, names)}"
        case ast.Compare(left=left, ops=ops, comparators=others):
            pairs = zip([left, *others[:-1]], ops, others, strict=True)
            return " && ".join(_compared(a, op, b, names) for a, op, b in pairs)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED:
            return f"{_side(left, names)} {_COMPUTED[type(op)]} {_side(right, names)}"
        case ast.IfExp(test=test, body=body, orelse=other):
            return " ".join((_side(test, names), "?", _side(body, names), ":", _side(other, names)))
        case _:
            raise _Unspoken


def _side(node: ast.expr, names: Names) -> str:
    text = _text(node, names)
    return f"({text})" if isinstance(node, ast.BoolOp | ast.BinOp | ast.IfExp) else text


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr, names: Names) -> str:
    first, second = _side(left, names), _side(right, names)
    match op:
        case ast.In():
            return f"{second}.includes({first})"
        case ast.NotIn():
            return f"!{second}.includes({first})"
        case ast.Is() if second == "null":
            return f"{first} == null"
        case ast.IsNot() if second == "null":
            return f"{first} != null"
        case _ if type(op) in _COMPARED:
            return f"{first} {_COMPARED[type(op)]} {second}"
        case _:
            raise _Unspoken


def _piece(node: ast.expr, names: Names) -> str:
    match node:
        case ast.Constant(value=str() as text) if not {"{", '"', "\\"} & set(text):
            return text
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return f"{{{{{_text(value, names)}}}}}"
        case _:
            raise _Unspoken


def _held(value: object, names: Names) -> str:
    match value:
        case FutureValue():
            return expected_text(value, names)
        case str():
            return _quoted(value)
        case None | bool() | int() | float():
            return json.dumps(value)
        case list() | tuple():
            items = cast("list[object]", value)
            return f"[{', '.join(_held(each, names) for each in items)}]"
        case dict():
            pairs = cast("dict[object, object]", value).items()
            return f"({{{', '.join(_pair(key, _held(each, names)) for key, each in pairs)}}})"
        case _:
            raise _Unspoken


def _part(key: ast.expr | None, text: str) -> str:
    match key:
        case None:
            return f"...{text}"
        case ast.Constant(value=name):
            return _pair(name, text)
        case _:
            raise _Unspoken


def _pair(key: object, text: str) -> str:
    if not isinstance(key, str) or not _NAME.match(key):
        raise _Unspoken
    return f"{key}: {text}"


def _link(key: object) -> str:
    match key:
        case str() if _NAME.match(key):
            return f".{key}"
        case str():
            return f"[{_quoted(key)}]"
        case int() if not isinstance(key, bool):
            return f"[{key}]" if key >= 0 else f".at({key})"
        case _:
            raise _Unspoken


def _quoted(text: str) -> str:
    if not _PLAIN_TEXT.match(text):
        raise _Unspoken
    return f"'{text}'"
