"""What a running instruction does with a value, in the words of its source.

An instruction says what kind of thing is done, and where; the tree of the source says in which
words. Versions of Python give a test different places: that of the tested value, or that of the
statement around it. Both lead to the same words here.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Sequence
from types import FrameType
from typing import NamedTuple

from tenuto.python_form.places import path_at

_SPREADING = frozenset({"LIST_EXTEND", "SET_UPDATE", "LIST_TO_TUPLE", "CALL_FUNCTION_EX"})
_MERGING = frozenset({"DICT_UPDATE", "DICT_MERGE"})
_KEYED = frozenset({"BUILD_MAP", "MAP_ADD", "BUILD_SET", "SET_ADD", "STORE_SUBSCR"})
_TESTS = frozenset({"when", "otherwise", "repeat_while"})


class Usage(NamedTuple):
    """What a line of code does with a value."""

    word: str
    """The keyword or function that needs the value: `if`, `and`, `len()`, `an f-string`."""
    node: ast.AST | None
    """What it needs it in: the whole test, the call, the list; None if unknown."""
    is_test: bool = False
    """Whether it stands where a test may be written as text."""


def usage(frame: FrameType) -> Usage | None:
    """What the instruction that is running does; None if unknown."""
    path = path_at(frame)
    if not path:
        return None
    return _done_by(dis.opname[frame.f_code.co_code[frame.f_lasti]], path)


def _done_by(operation: str, path: Sequence[ast.AST]) -> Usage | None:
    node = path[-1]
    if operation in _SPREADING and (spread := _spread(node)) is not None:
        return Usage("*", spread)
    if operation in _MERGING:
        return Usage("**", node)
    if operation.startswith("CALL"):
        return _call(node)
    if operation.startswith("UNPACK"):
        return Usage("unpacking", _unpacked(path))
    if operation == "GET_ITER":
        return Usage("for", _gone_through(path))
    if operation.startswith(("FORMAT_", "CONVERT_")):
        return Usage("an f-string", _around(path, ast.JoinedStr))
    if operation == "BINARY_OP":
        return Usage("%", node)
    if operation in _KEYED or operation.startswith("BINARY_SUBSCR"):
        return Usage("a key", node)
    return _decision(path)


def _decision(path: Sequence[ast.AST]) -> Usage | None:
    """The largest test that the value is part of, and the word that asks for it."""
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
    """The word with which `node` asks whether `inner`, or some part of it, is true."""
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
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() if inner is None:
            return "if in a list", node
        case ast.match_case() | ast.pattern():
            return "match", node
        case ast.Match():
            return "match", node.subject
        case _:
            return None


def _is_test(path: Sequence[ast.AST], node: ast.AST) -> bool:
    """Whether `node` is all of what `when` and its like are given."""
    if node not in path:
        return False
    match path[path.index(node) - 1]:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *_]):
            return first is node and name in _TESTS
        case _:
            return False


def _call(node: ast.AST) -> Usage | None:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return Usage(f"{name}()", node)
        case _:
            return None


def _spread(node: ast.AST) -> ast.AST | None:
    items: list[ast.expr] = []
    match node:
        case ast.Call():
            items = node.args
        case ast.List() | ast.Tuple() | ast.Set():
            items = node.elts
        case _:
            pass
    return next((each.value for each in items if isinstance(each, ast.Starred)), None)


def _unpacked(path: Sequence[ast.AST]) -> ast.AST | None:
    """What is taken apart, where it is written beside its parts."""
    return next((each for each in reversed(path) if isinstance(each, ast.Assign)), None)


def _gone_through(path: Sequence[ast.AST]) -> ast.AST | None:
    for node in reversed(path):
        match node:
            case ast.For() | ast.comprehension():
                return node
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return node.generators[0]
            case _:
                pass
    return None


def _around(path: Sequence[ast.AST], kind: type[ast.AST]) -> ast.AST | None:
    return next((each for each in reversed(path) if isinstance(each, kind)), None)
