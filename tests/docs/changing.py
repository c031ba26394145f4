"""Puts a block into a file as a reader would: each thing in the place of its namesake."""

from __future__ import annotations

import ast


def changed(file: str, block: str) -> str:
    """`file` with every import, function, class and variable of `block` in it.

    What the file does not have comes before that which follows it in the block and is there, else
    at the end; an import at the top.
    """
    for index, (name, text) in enumerate(_parts(block)):
        there = _places(file)
        if name in there:
            first, last = there[name]
        elif name.startswith(("import ", "from ")):
            first = last = 0
        else:
            behind = [each for each, _ in _parts(block)[index:] if each in there]
            first = last = there[behind[0]][0] if behind else len(file.splitlines())
            text = f"{text}\n\n\n" if behind else f"\n\n{text}"  # noqa: PLW2901 - with room
        lines = file.splitlines()
        file = "\n".join([*lines[:first], *text.splitlines(), *lines[last:]]) + "\n"
    return file


def _parts(source: str) -> list[tuple[str, str]]:
    lines = source.splitlines()
    return [(name, "\n".join(lines[first:last])) for name, (first, last) in _places(source).items()]


def _places(source: str) -> dict[str, tuple[int, int]]:
    """Each thing by its name, with its first line and the one behind it."""
    found = {}
    for node in ast.parse(source).body:
        decorators = getattr(node, "decorator_list", [])
        first = min(each.lineno for each in (node, *decorators)) - 1
        assert node.end_lineno is not None
        found[_name(node)] = (first, node.end_lineno)
    return found


def _name(node: ast.stmt) -> str:
    match node:
        case ast.ImportFrom(module=module):
            return f"from {module}"
        case ast.Import(names=names):
            return f"import {names[0].name}"
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.AnnAssign(target=target) | ast.Assign(targets=[target]):
            return ast.unparse(target)
        case _:
            return ast.unparse(node)
