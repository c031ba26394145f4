"""Where in the user's code something is said, and in which words."""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

_OURS = ("tenuto.python_form", "tenuto.tasks")


class Place(NamedTuple):
    """A line of the user's code."""

    file: str
    line: int

    def __str__(self) -> str:
        file = os.path.relpath(self.file) if Path(self.file).exists() else self.file
        return f"{file}:{self.line}"

    @property
    def source(self) -> str:
        """The line itself; empty where it cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def quoted_behind(self, message: str) -> str:
        """A message with the line it is about."""
        return f"{message}: `{self.source}`" if self.source else message


def callers() -> Iterator[FrameType]:
    """The frames of the user's code, from the inside."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the documented way to callers
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith(_OURS):
            yield frame
        frame = frame.f_back


def place_of(frame: FrameType) -> Place:
    return Place(frame.f_code.co_filename, frame.f_lineno)


def is_inside(code: CodeType, outer: CodeType) -> bool:
    """Whether `code` is `outer`, or a lambda or comprehension written in it."""
    if code is outer:
        return True
    return any(is_inside(code, each) for each in outer.co_consts if isinstance(each, CodeType))


class Usage(NamedTuple):
    """What a line of code does with a value."""

    word: str
    """The keyword or function that needs the value: `if`, `and`, `len`."""
    text: str
    """The expression that it needs."""


def usage(frame: FrameType) -> Usage | None:
    """What the instruction that is running does, in the words of its source; None if unknown."""
    positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    tree = _tree(frame.f_code.co_filename)
    if positions is None or tree is None or None in positions:
        return None
    line, end_line, column, end_column = positions
    spot = (line, column, end_line, end_column)
    path = list(_path_to(tree, spot))
    if isinstance(path[-1], ast.If | ast.While):
        # The jump of a plain test has the place of its whole statement.
        return Usage("if" if isinstance(path[-1], ast.If) else "while", _shown(path[-1].test))
    for child, parent in zip(path[:0:-1], path[-2::-1], strict=True):
        found = _word(child) or _word_of_parent(child, parent)
        if found is not None:
            word, node = found
            return Usage(word, _shown(node))
        if isinstance(parent, ast.stmt):
            break
    return None


def _word(node: ast.AST) -> tuple[str, ast.AST] | None:
    """The word of an operation that is itself what asks for a value."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return "not", operand
        case ast.Compare(ops=[ast.In() | ast.NotIn(), *_]):
            return "in", node
        case ast.Compare(ops=[_, _, *_]):
            return "a chained comparison", node
        case ast.Call(func=ast.Name(id=name)):
            return f"{name}()", node
        case ast.Call(func=ast.Attribute(attr=name)):
            return f"{name}()", node
        case ast.JoinedStr() | ast.FormattedValue():
            return "an f-string", node
        case ast.Dict() | ast.Set():
            return "a key", node
        case _:
            return None


def _word_of_parent(node: ast.AST, parent: ast.AST) -> tuple[str, ast.AST] | None:
    """The word of whatever the value stands in."""
    match parent:
        case ast.BoolOp(op=ast.And()):
            return "and", parent
        case ast.BoolOp(op=ast.Or()):
            return "or", parent
        case ast.If(test=test) | ast.IfExp(test=test) if test is node:
            return "if", test
        case ast.While(test=test) if test is node:
            return "while", test
        case ast.Assert(test=test) if test is node:
            return "assert", test
        case ast.comprehension(iter=each) | ast.For(iter=each) if each is node:
            return "for", each
        case ast.comprehension(ifs=tests) if node in tests:
            return "if", node
        case ast.Match(subject=subject) if subject is node:
            return "match", subject
        case ast.Starred():
            return "*", parent
        case ast.Assign(value=value, targets=[ast.Tuple() | ast.List(), *_]) if value is node:
            return "unpacking", node
        case _:
            return None


def _path_to(tree: ast.AST, spot: tuple[int | None, ...]) -> Iterator[ast.AST]:
    """The nodes around a spot, from the outside, down to the smallest that covers it."""
    node: ast.AST | None = tree
    while node is not None:
        yield node
        node = next((each for each in ast.iter_child_nodes(node) if _covers(each, spot)), None)


def _covers(node: ast.AST, spot: tuple[int | None, ...]) -> bool:
    line, column, end_line, end_column = spot
    assert line is not None
    assert column is not None
    assert end_line is not None
    assert end_column is not None
    if isinstance(node, ast.comprehension):
        return any(_covers(each, spot) for each in ast.iter_child_nodes(node))
    if not isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.withitem | ast.match_case):
        return False
    if isinstance(node, ast.withitem | ast.match_case):
        return any(_covers(each, spot) for each in ast.iter_child_nodes(node))
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    begins = (node.lineno, node.col_offset) <= (line, column)
    return begins and (end_line, end_column) <= (node.end_lineno, node.end_col_offset)


def _shown(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "..."


@lru_cache(maxsize=64)
def _tree(file: str) -> ast.Module | None:
    lines = linecache.getlines(file)
    try:
        return ast.parse("".join(lines)) if lines else None
    except SyntaxError:
        return None
