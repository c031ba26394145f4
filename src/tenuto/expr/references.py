"""What an expression refers to: every chain of names from a root, as long as it is static."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tenuto.expr.expression import Expression
from tenuto.expr.parser import parse
from tenuto.expr.syntax import ALL_ROOTS, AnyNode, Literal, Member, Path, Subscript, children

_NEEDS_TREE: Final = re.compile(r"""\[\s*['"]|\?\.""")
"""A quoted key, or `?.`: the paths that an expression is known by do not tell them."""
_OPTIONAL_MEMBER: Final = re.compile(r"""\w+\s*(?:\.\s*[\w$]+|\[\s*(['"])[^'"]*\1\s*\])\s*\?\.""")
"""A root and a name of it before `?.`: `steps.pay?.`, which is read as a path like any other."""


class Reference(NamedTuple):
    """A chain of names; `is_optional`: `?.` follows the first of them, which may be missing."""

    path: tuple[str, ...]
    is_optional: bool = False


def references(expression: Expression) -> tuple[Reference, ...]:
    """The chains of names that it uses; `steps['a-b'].output` is one, as `steps.ab.output` is."""
    if _NEEDS_TREE.search(expression.source) is None:
        return tuple(map(Reference, expression.paths))
    tree, _ = parse(expression.source, ALL_ROOTS)
    return tuple(dict.fromkeys(_chains(tree, expression.source)))


def _chains(node: AnyNode, source: str) -> Iterator[Reference]:
    names: list[str] = []
    inner: AnyNode = node
    while isinstance(inner, Member | Subscript):
        if isinstance(inner, Member):
            names.append(inner.name)
        elif isinstance(inner.key, Literal) and isinstance(inner.key.value, str):
            names.append(inner.key.value)
        else:
            # What follows a computed key is not static, and the key may refer to something itself.
            names.clear()
            yield from _chains(inner.key, source)
        inner = inner.value
    if isinstance(inner, Path):
        is_optional = _OPTIONAL_MEMBER.match(source, inner.start) is not None
        yield Reference((inner.root, *inner.names, *reversed(names)), is_optional)
        return
    for child in children(inner):
        yield from _chains(child, source)
