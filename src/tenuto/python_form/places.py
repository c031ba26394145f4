"""Places in the user's code, and their syntax trees."""

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

Spot = tuple[int, int, int, int]
"""First line and column, last line and column."""

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


def path_at(frame: FrameType) -> list[ast.AST]:
    """The syntax nodes around the running instruction, from the outside."""
    code = frame.f_code
    positions = next(islice(code.co_positions(), frame.f_lasti // 2, None), None)
    tree = tree_of(code.co_filename)
    if positions is None or tree is None:
        return []
    line, end_line, column, end_column = positions
    if line is None or end_line is None or column is None or end_column is None:
        return []
    return list(_path_to(tree, (line, column, end_line, end_column)))


def _path_to(tree: ast.AST, spot: Spot) -> Iterator[ast.AST]:
    """The nodes around a spot, down to the smallest that covers it."""
    node: ast.AST | None = tree
    while node is not None:
        yield node
        node = next((each for each in ast.iter_child_nodes(node) if _covers(each, spot)), None)


def _covers(node: ast.AST, spot: Spot) -> bool:
    line, column, end_line, end_column = spot
    if isinstance(node, ast.comprehension | ast.withitem | ast.match_case | ast.ExceptHandler):
        return any(_covers(each, spot) for each in ast.iter_child_nodes(node))
    if not isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.pattern):
        return False
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    begins = (node.lineno, node.col_offset) <= (line, column)
    return begins and (end_line, end_column) <= (node.end_lineno, node.end_col_offset)


@lru_cache(maxsize=64)
def tree_of(file: str) -> ast.Module | None:
    """The syntax tree of a file; None if it cannot be read."""
    lines = linecache.getlines(file)
    try:
        return ast.parse("".join(lines)) if lines else None
    except SyntaxError:
        return None
