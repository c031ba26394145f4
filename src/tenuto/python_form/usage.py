"""The use of a future value in a line of source that needs the value now.

The kind of misuse and the place in the syntax tree say which word needs the value. Versions of
Python give a test different places: that of the tested value, or that of the statement around it.
Both lead to the same words here.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Mapping, Sequence
from types import FrameType, UnionType
from typing import NamedTuple

from tenuto.python_form.future import FutureValue, Misuse
from tenuto.python_form.places import path_at

_TESTS = frozenset({"when", "otherwise", "repeat_while"})
_Listing = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Usage(NamedTuple):
    """The use of a value in a line of code."""

    word: str
    """The keyword or function that needs the value: `if`, `and`, `len()`, `an f-string`."""
    node: ast.AST | None
    """The syntax node around the value: the whole test, the call, the list; None if unknown."""
    is_test: bool = False
    """Whether a test may be written as text there."""


def usage(frame: FrameType, misuse: Misuse) -> Usage | None:
    """The use of a value in the running line; None if unknown."""
    path = path_at(frame)
    match misuse, path[-1] if path else None:
        case _, None:
            return None
        case _, ast.Call() as node:
            called = _named(node.func, {**vars(builtins), **frame.f_globals, **frame.f_locals})
            # Functions in C need the value itself; of all others the result is tested.
            is_builtin = inspect.isbuiltin(called) or inspect.isclass(called)
            tested = _decision(path) if misuse is Misuse.DECIDED and not is_builtin else None
            return tested or _call(node, misuse, called)
        case Misuse.DECIDED | Misuse.SEARCHED, _:
            return _decision(path)
        case Misuse.CALLED, ast.Dict() as node:
            return Usage("**", node)
        case Misuse.REPEATED, ast.Tuple(ctx=ast.Store()) | ast.List(ctx=ast.Store()):
            return Usage("unpacking", _around(path, ast.Assign))
        case Misuse.REPEATED, (ast.Tuple() | ast.List() | ast.Set()) as node if _spread(node.elts):
            return Usage("*", _spread(node.elts))
        case Misuse.REPEATED, _:
            each = _around(path, ast.For | ast.comprehension | _Listing)
            return Usage("for", each.generators[0] if isinstance(each, _Listing) else each)
        case Misuse.WRITTEN | Misuse.CONVERTED, ast.BinOp() as node:
            return Usage("%", node)
        case Misuse.WRITTEN, _:
            return Usage("an f-string", _around(path, ast.JoinedStr))
        case Misuse.HASHED | Misuse.CONVERTED, node:
            return Usage("a key", node)
        case _:
            return None


def _named(node: ast.expr, names: Mapping[str, object]) -> object:
    """The object that an expression names; None if unknown."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(value=owner, attr=name):
            return getattr(_named(owner, names), name, None)
        case ast.List() | ast.Tuple():
            return []  # for its methods
        case _:
            return None


def _call(node: ast.Call, misuse: Misuse, called: object) -> Usage | None:
    if misuse is Misuse.REPEATED and (spread := _spread(node.args)) is not None:
        return Usage("*", spread)
    is_merged = any(each.arg is None for each in node.keywords)
    if misuse is Misuse.CALLED and is_merged and not isinstance(called, FutureValue):
        return Usage("**", node)
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return Usage(f"{name}()", node)
        case _:
            return None


def _spread(items: Sequence[ast.expr]) -> ast.expr | None:
    """The value behind a `*` among items."""
    return next((each.value for each in items if isinstance(each, ast.Starred)), None)


def _decision(path: Sequence[ast.AST]) -> Usage | None:
    """The largest test that the value is part of, and its keyword."""
    found: Usage | None = None
    inner: ast.AST | None = None
    for node, outer in zip(reversed(path), [*reversed(path[:-1]), None], strict=True):
        asked = _asked(node, inner, outer)
        if asked is None and (found is not None or inner is not None):
            break
        if asked is not None:
            word, test = asked
            found = Usage(word, test, is_test=_is_test(path, test))
        inner = node
    return found


def _asked(  # noqa: C901 - one for each word
    node: ast.AST, inner: ast.AST | None, outer: ast.AST | None
) -> tuple[str, ast.AST] | None:
    """The keyword with which `node` tests whether `inner`, or a part of it, is true."""
    match node:
        case ast.BoolOp(op=ast.And()):
            return "and", node
        case ast.BoolOp():
            return "or", node
        case ast.UnaryOp(op=ast.Not()):
            return "not", node
        case ast.Compare(ops=[ast.In() | ast.NotIn()]) if inner is None:
            return "in", node
        case ast.Compare(ops=[_, _, *_]) if inner is None:
            return "a chained comparison", node
        case ast.IfExp(test=test) if inner in {None, test}:
            return "if … else", node
        case ast.If(test=test) if inner in {None, test}:
            is_second = isinstance(outer, ast.If) and outer.orelse == [node]
            return "elif" if is_second else "if", test
        case ast.While(test=test) if inner in {None, test}:
            return "while", test
        case ast.Assert(test=test) if inner in {None, test}:
            return "assert", test
        case ast.comprehension(ifs=tests) if inner in tests:
            return "if in a list", node
        case _ if isinstance(node, _Listing) and inner is None:
            return "if in a list", node
        case ast.match_case() | ast.pattern():
            return "match", node
        case ast.Match():
            return "match", node.subject
        case _:
            return None


def _is_test(path: Sequence[ast.AST], node: ast.AST) -> bool:
    """Whether `node` is the whole condition of `when`, `otherwise` or `repeat_while`."""
    if node not in path:
        return False
    match path[path.index(node) - 1]:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *_]):
            return first is node and name in _TESTS
        case _:
            return False


def _around(path: Sequence[ast.AST], kind: type[ast.AST] | UnionType) -> ast.AST | None:
    return next((each for each in reversed(path) if isinstance(each, kind)), None)
