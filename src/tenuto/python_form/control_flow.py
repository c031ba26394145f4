"""Python's own control flow around the blocks of a workflow, from the source.

The function is called once and enters every block, whichever block runs later in the workflow. Code
that would have another meaning then is found here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import CodeType, FrameType
from typing import NamedTuple

from tenuto.python_form.places import Place, tree_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Listing = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class WithBlock(NamedTuple):
    """A `with` statement, and the nodes around it, from the outside."""

    node: ast.With
    around: Sequence[ast.AST]

    def ways_out(self) -> Iterator[ast.stmt]:
        """The statements in it that would leave it."""
        yield from _ways_out(self.node.body, in_loop=False)

    def read_behind(self, *, is_repeated: bool) -> dict[str, int]:
        """The variables that are read behind it before they are set again: name → line.

        If the block `is_repeated`, its own beginning counts as behind it too.
        """
        function = next(
            (each for each in reversed(self.around) if isinstance(each, _Function)), None
        )
        if function is None:
            return {}
        body: Sequence[ast.AST] = (
            [function.body] if isinstance(function, ast.Lambda) else function.body
        )
        uses = [each for statement in body for each in _uses(statement)]
        begin, end = _span(uses, self.node)
        loop = next(
            (
                each
                for each in self.around[self.around.index(function) :]
                if isinstance(each, ast.For | ast.While)
            ),
            None,
        )
        behind = uses[end:]
        if loop is not None:
            first, last = _span(uses, loop)
            behind = [*uses[end:last], *uses[first:end], *uses[last:]]
        if is_repeated:
            behind = [*uses[begin:end], *behind]
        read: dict[str, int] = {}
        seen: set[str] = set()
        for each in behind:
            if each.is_read and each.node.id not in seen:
                read[each.node.id] = each.node.lineno
            seen.add(each.node.id)
        return read


def with_block(frame: FrameType) -> WithBlock | None:
    """The `with` statement that a frame is at; None where the source is not known."""
    return _with_blocks(frame.f_code.co_filename).get(frame.f_lineno)


@lru_cache(maxsize=64)
def _with_blocks(file: str) -> Mapping[int, WithBlock]:
    """The `with` statements of a file, by the lines before their bodies."""
    tree = tree_of(file)
    found: dict[int, WithBlock] = {}
    left: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [] if tree is None else [(tree, ())]
    while left:
        node, around = left.pop()
        if isinstance(node, ast.With):
            last = max(node.lineno + 1, node.body[0].lineno)
            found.update(dict.fromkeys(range(node.lineno, last), WithBlock(node, around)))
        left += [(each, (*around, node)) for each in ast.iter_child_nodes(node)]
    return found


def try_around(file: str, line: int) -> int | None:
    """The line of the `except` or `try` that a line of a function is guarded by."""
    found = [each for each in _tries(file) if each.guards(line)]
    return found[-1].told_at if found else None


class _Try(NamedTuple):
    """A `try` statement: the lines of its body, without the functions that it defines."""

    body: range
    functions: Sequence[range]
    told_at: int

    def guards(self, line: int) -> bool:
        return line in self.body and not any(line in each for each in self.functions)


@lru_cache(maxsize=64)
def _tries(file: str) -> Sequence[_Try]:
    """The `try` statements of a file, outer before inner."""
    tree = tree_of(file)
    return [
        _Try(
            _lines(node.body),
            [
                _lines(each.body)
                for statement in node.body
                for each in ast.walk(statement)
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            ],
            node.handlers[0].lineno if node.handlers else node.lineno,
        )
        for node in (() if tree is None else ast.walk(tree))
        if isinstance(node, ast.Try | ast.TryStar)
    ]


def last_return(code: CodeType) -> Place | None:
    """The last `return` of a function; None where its source is not known, or it has none."""
    function = _function(code)
    lines = [each.lineno for each in _within(function) if isinstance(each, ast.Return)]
    return Place(code.co_filename, max(lines)) if lines else None


def set_outside(code: CodeType) -> ast.Name | None:
    """The first variable that a function sets or deletes and that is not its own."""
    body = getattr(_function(code), "body", ())
    others = {name for each in body for name in _declared_outside(each)}
    return next(
        (use.node for use in _uses_in(body) if not use.is_read and use.node.id in others), None
    )


def _declared_outside(node: ast.AST) -> Iterator[str]:
    """The names of `global` and `nonlocal`, except in nested functions."""
    if isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    elif not isinstance(node, _Function | ast.ClassDef):
        for each in ast.iter_child_nodes(node):
            yield from _declared_outside(each)


class Look(NamedTuple):
    """A test of the object that a variable holds now, which the object cannot detect."""

    name: str
    """The variable."""
    word: str
    """`is`, or the name of the function that tests."""
    node: ast.expr


def looks(code: CodeType) -> Iterator[Look]:
    """The tests in a function of objects instead of their values.

    Variables that may be None while the workflow is described are left out: testing them is valid.
    """
    function = _function(code)
    unsure = set(_may_hold_nothing(function))
    for node in _within(function):
        match node:
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()]):
                name, word = _root(left), "is"
            case ast.Call(func=ast.Name(id=("isinstance" | "hasattr" | "type") as word), args=args):
                name = _root(args[0]) if args else None
            case _:
                continue
        if name is not None and name not in unsure:
            yield Look(name, word, node)


def _may_hold_nothing(function: ast.FunctionDef | None) -> Iterator[str]:
    for node in _within(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                given = targets if _has_none(value) else []
            case ast.AnnAssign(target=target, value=value) if value is not None:
                given = [target] if _has_none(value) else []
            case ast.For(target=target) | ast.comprehension(target=target):
                given = [target]
            case _:
                continue
        for each in given:
            yield from (part.id for part in ast.walk(each) if isinstance(part, ast.Name))


def _has_none(value: ast.expr) -> bool:
    return any(isinstance(each, ast.Constant) and each.value is None for each in ast.walk(value))


def _function(code: CodeType) -> ast.FunctionDef | None:
    tree = tree_of(code.co_filename)
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno and node.name == code.co_name:
                return node
    return None


def _within(function: ast.FunctionDef | None) -> Iterator[ast.AST]:
    return iter(()) if function is None else ast.walk(function)


def _root(node: ast.expr) -> str | None:
    """The variable at the root of an expression."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


class _Use(NamedTuple):
    node: ast.Name
    is_read: bool


def _uses(node: ast.AST) -> Iterator[_Use]:
    """The variables in a piece of code, in the order in which they are read and set."""
    match node:
        case ast.Name():
            yield _Use(node, isinstance(node.ctx, ast.Load))
        case ast.Assign(value=value, targets=targets):
            yield from _uses_in([value, *targets])
        case ast.AnnAssign(value=value, target=target):
            yield from _uses_in([*([value] if value else []), target])
        case ast.AugAssign(value=value, target=target):
            if isinstance(target, ast.Name):
                yield _Use(target, is_read=True)
            yield from _uses_in([value, target])
        case ast.NamedExpr(value=value, target=target):
            yield from _uses_in([value, target])
        case ast.For(iter=each, target=target, body=body, orelse=other):
            yield from _uses_in([each, target, *body, *other])
        case _ if isinstance(node, _Function | _Listing):
            own = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
            inner = [each for part in ast.iter_child_nodes(node) for each in _uses(part)]
            own |= {each.node.id for each in inner if not each.is_read}
            yield from (each for each in inner if each.node.id not in own)
        case _:
            yield from _uses_in(ast.iter_child_nodes(node))


def _uses_in(nodes: Iterator[ast.AST] | Sequence[ast.AST]) -> Iterator[_Use]:
    for each in nodes:
        yield from _uses(each)


def _span(uses: Sequence[_Use], node: ast.AST) -> tuple[int, int]:
    """The first and last position of a node's variables among all."""
    own = {id(each) for each in ast.walk(node)}
    places = [number for number, each in enumerate(uses) if id(each.node) in own]
    return (places[0], places[-1] + 1) if places else (len(uses), len(uses))


def _ways_out(body: Sequence[ast.AST], *, in_loop: bool) -> Iterator[ast.stmt]:
    for node in body:
        match node:
            case ast.Return() | ast.Raise():
                yield node
            case ast.Break() | ast.Continue() if not in_loop:
                yield node
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.expr():
                pass
            case _:
                within = in_loop or isinstance(node, ast.For | ast.While)
                yield from _ways_out(list(ast.iter_child_nodes(node)), in_loop=within)


def _lines(body: Sequence[ast.stmt]) -> range:
    return range(body[0].lineno, (body[-1].end_lineno or 0) + 1)
